/* SPDX-License-Identifier: BSD-2-Clause */
/* estimate_cause.h: whose the idle time is that bursts estimate: the same rules as for gaps, asked about the places where the model is
 * idle. All of it is inferred. */
#pragma once

#include "cause.h"

/* Sums to d->estimate.unresolved.ns exactly. */
enum err_kind estimate_causes(int64_t out[CAUSE_COUNT], const struct device_timeline *d, const struct threads *threads,
			      struct error *e);
