/* SPDX-License-Identifier: BSD-2-Clause */
/* burst_samples.h: what single submissions took on the device, from the edges that bursts put around them.
 *
 *        host    BEFORE   call            AFTER
 *                  |--latency-->|           |--latency-->|
 *      device                BEFORE  start ----- end   AFTER
 *
 * All distances are in the device's own clock, which needs no mapping. The work ended when AFTER fired, unless that came to the device
 * later still (`late`). It started when the edge before it had fired, or when it came to the device itself: on a starved stream BEFORE
 * fires early, by as long as the host took from our event to the call. What an edge itself takes on the device is subtracted. */
#pragma once

#include "device_clock.h"
#include "trace.h"

#define PLACE_NS 400.0 /* how well a start is known by when the host recorded an edge: once around a function call */

struct burst_sample {
	const struct call *call;
	const struct edge *before, *after; /* before: BURST_BEFORE, or the AFTER of the work before */
	int64_t entered_ns;                /* host: when the driver was about to be entered */
	double ns;                         /* what it took; late: at most */
	uint32_t stream;                   /* index; samples are by stream, then seq */
	uint64_t seq;
	double unsure_ns; /* the same for all: how far off the place of its start, or what an edge takes, may be */
	bool late;
	bool placed; /* its start is when the host submitted it, not when an edge fired */
};

struct burst_samples { /* of one trace */
	struct burst_sample *at;
	size_t n;
	double latency_ns; /* from an edge's record to its firing on an empty stream, median, on the host's clock as device_clock has it */
	double latency_error_ns; /* the mapping's, mean */
	size_t n_latencies;
	double edge_ns; /* what an edge takes on the device, 0 not seen */
	double edge_error_ns;
	size_t n_edge;
};

/* firings: of t's edges. False: no memory. */
bool burst_samples_find(struct burst_samples *out, const struct trace *t, const struct firing *firings);
void burst_samples_free(struct burst_samples *s);
/* The sample of this submission, NULL none. */
const struct burst_sample *burst_samples_get(const struct burst_samples *s, uint32_t stream, uint64_t seq);
