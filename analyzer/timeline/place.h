/* SPDX-License-Identifier: BSD-2-Clause */
/* place.h: every piece of work gets a place on the timeline, and every busy nanosecond an owner.
 *
 * A place is no measurement: within what is known of its stream, work is laid end to end, kernels in equal shares, copies by
 * their bytes, none before its own call and none into a gap. */
#pragma once

#include "bounds.h"
#include "timeline.h"

/* Fills out->ops, operations, the gaps' neighbours and the partition. Needs the gaps. */
enum err_kind place_ops(struct device_timeline *out, const struct device_work *d, struct error *e);
