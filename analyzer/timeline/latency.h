/* SPDX-License-Identifier: BSD-2-Clause */
/* latency.h: what a start takes, as seen in the run itself: an edge put into a stream known to be empty fires when the device gets to it.
 * Where others use the device too, some starts are late for that reason: the lower quartile is the device's own doing. */
#pragma once

#include "facts.h"

/* Fills out->starts and out->latency_ns. False: no memory. */
bool latency_find(struct facts *out, const struct trace *t, const struct firing *firings);

/* Of one device, of any number of processes. The owner frees ns. */
struct latencies {
	int64_t *ns;
	size_t n, cap;
};
/* What the trace's starts on the device with this ordinal took. False: no memory. */
bool latencies_add(struct latencies *out, const struct facts *f, const struct trace *t, uint32_t ordinal);

#define LATENCY_FEW 4 /* fewer starts say nothing of a device's latency */

/* The lower quartile, 0 of too few. Sorts. */
int64_t latency_quartile(int64_t *seen, size_t n);

/* What the device itself takes: the lower quartile. Where even that is LATENCY_TIMES the shortest start, or the least that an edge tells, others held up
 * more than three starts in four: then it is that. Sorts. */
#define LATENCY_TIMES 10
int64_t latency_own(int64_t *seen, size_t n);
