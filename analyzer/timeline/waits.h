/* SPDX-License-Identifier: BSD-2-Clause */
/* waits.h: what a stream may stand still for besides the device's own work: host functions, memory waits, events of other streams, which
 * may be those of another device. */
#pragma once

#include "bounds.h"

/* Marks which of the trace's streams stand still for memory or for the legacy stream. at: position + 1 in d->streams of each of its
 * streams, 0 none. */
void waits_mark(struct device_work *d, const struct trace *t, const size_t *at);

/* When host functions of the device ran, and when they held up what waits for them. Needs latest ends. False: no memory. */
bool waits_note_hostfns(struct device_work *d);

/* How many of the stream's waits for events were put in before time_ns. */
size_t waits_before(const struct stream_work *w, int64_t time_ns);

/* Until when this work may be held up by a host function of another stream, if it is ready at time_ns. */
int64_t waits_until(const struct device_work *d, const struct stream_work *w, const struct work *op, int64_t time_ns);

/* Until when work put into the stream before time_ns may wait for something that is not this device's; INT64_MIN: it does not. */
int64_t waits_away(const struct device_work *d, const struct stream_work *w, int64_t time_ns);

/* The host functions that this work, still pending at time_ns, may be standing still for; NULL none. */
const struct intervals *waits_hosts(const struct device_work *d, const struct stream_work *w, const struct work *op,
				    int64_t time_ns);

/* Did the stream get a wait between begin_ns and end_ns that may still have held it at at_ns? Then the work before the wait may have
 * ended long before. */
bool waits_between(const struct stream_work *w, int64_t begin_ns, int64_t end_ns, int64_t at_ns);
