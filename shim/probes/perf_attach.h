/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_attach.h: events of all tasks of a tree that is there already; what they make from then on inherits them. */
#pragma once

#include <stdbool.h>

#include "../format_host.h"
#include "perf_rings.h"
#include "perf_tasks.h"

/* probes: of the root's tree; tasks_lost counts those that could not be attached to. others: those that are not for us to look at, and so are not
 * followed. tree: as last looked at. False: why says so. */
bool perf_attach(struct perf_rings *rings, struct gst_probes *probes, struct proc_tasks *tree, struct perf_tasks *others, char why[256]);
