/* SPDX-License-Identifier: BSD-2-Clause */
/* burst_arrival.h: when what the host recorded came to the device, by the edges of bursts: in the device's own clock, which a burst's edges
 * share. */
#pragma once

#include "device_clock.h"
#include "trace.h"

#define EVENT_TICK_NS 500.0 /* of a device's clock, as events show it */
#define EVENT_TICKS_VARIANCE \
	(2 * EVENT_TICK_NS * EVENT_TICK_NS / 12) /* of the distance of two: uniform errors of a tick each */
#define WAITED_NS 3000.0 /* an edge that fires so much later than its neighbours waited for something in its stream */

struct mark { /* an edge of a burst */
	const struct edge *edge;
	const struct firing *firing;
	bool starved; /* nothing stood before it in its stream when it came to the device */
};

struct arrivals { /* of one trace */
	const struct trace *t;
	struct arrival *at;
	size_t n;
	double latency_ns; /* from an edge's record to its firing on an empty stream, median, on the host's clock */
	double latency_error_ns; /* the mapping's, mean */
	size_t n_latencies;
};

/* marks: by stream, then in the order they were recorded; says which are starved. firings: of t's edges. False: no memory. */
bool arrivals_find(struct arrivals *a, const struct trace *t, struct mark *marks, size_t n,
		   const struct firing *firings);
void arrivals_free(struct arrivals *a);
/* Both stand in one stream and are measured from one base. */
bool same_row(const struct edge *a, const struct edge *b);
/* Host time since the trace's begin. */
double since_begin(const struct arrivals *a, int64_t host_ns);
/* How much later than it was recorded it fired: device time less host time. */
double delay_of(const struct arrivals *a, const struct edge *e);
/* Added to a host time in the mark's burst it gives the device's time at which what was recorded then arrived. NAN: nothing tells. */
double arrival_of(const struct arrivals *a, const struct mark *m);
