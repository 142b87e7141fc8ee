/* SPDX-License-Identifier: BSD-2-Clause */
/* carried.h: work from before a trace's records begin (front.h), as a device's: it may run, or not, from there until it is known to be over.
 * All of that is unresolved. */
#pragma once

#include "bounds.h"

/* Adds the trace's carried work that this device may be doing. False: no memory. */
bool carried_collect(struct device_work *d, const struct trace *t, uint32_t device);

/* When it is over at the latest; set by carried_collect's caller once the facts are there. */
void carried_bound(struct stream_work *w, const struct facts *f);

/* The device's time begins with the first work that is known: what was over by then is none of it. After all traces. */
void carried_clip(struct device_work *d);
