/* SPDX-License-Identifier: BSD-2-Clause */
/* exact_work.h: measured work among a device's streams (bounds.h): its times are its own, and what was not measured is narrowed by it. */
#pragma once

#include "bounds.h"

/* Adds the submission's measured pieces on this device to the stream; like: what is to be said of each besides. *missing: how many
 * operations were not measured but should have been. *any: something of it was measured, on whatever device. False: no memory. */
bool exact_add(struct stream_work *w, const struct exact *x, struct work like, int64_t slack_ns, uint32_t device, bool *any,
	       uint32_t *missing);

/* Adds what is in no stream's order: work without a call, and graphs' nodes on other devices than their stream's. False: no memory. */
bool exact_collect_loose(struct device_work *d, const struct trace *t, uint32_t device, const struct exact *x);

/* How many streams have work on the device: of work in no stream's order, those that its tool says it ran in. False: no memory. */
bool exact_count_streams(const struct device_work *d, uint32_t *n);

/* Sorted by number and time: each stream's work. Gives measured work its times. The rest must have its own bounds. */
void exact_bound(struct stream_work *w);

/* After all bounds: d->measured. False: no memory. */
bool exact_merge(struct device_work *d);
