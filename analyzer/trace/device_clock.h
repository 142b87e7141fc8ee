/* SPDX-License-Identifier: BSD-2-Clause */
/* device_clock.h: when each edge fired, on the host's clock, with its error.
 *
 * An edge fired at device_ns on a clock whose offset from the host's is unknown and drifts. Host time of the firing lies in
 * [begin_ns, done_ns], so each edge bounds the offset from both sides, for itself tightly or not at all. A bound holds for
 * the neighbours too, but for the drift between: carried forwards and backwards over all edges, every edge gets the window
 * that the best of them leave. Its middle is the answer, its half width the error (device_rate.h), to which the steps of events and floats
 * are added. Against CLOCK_MONOTONIC the trace's own clock_error_ns comes on top, which all times of a trace share. */
#pragma once

#include "trace.h"

struct firing { /* of trace.edges[i] */
	int64_t time_ns;
	int64_t error_ns;
	int64_t residual_ns; /* by how much the bounds contradict each other here, whatever drift within its limits; 0: not at all */
	bool exact; /* from the device's clock; else only [begin, done] is known and time_ns is done_ns (INT64_MAX: never seen) */
};

/* *out: one per edge, the caller frees it. */
enum err_kind device_clock_map(struct firing **out, const struct trace *t, struct error *e);

/* How well a device's clock is tied to the host's. */
struct device_fit {
	uint64_t edges; /* placed by its clock */
	int64_t error_ns, median_error_ns; /* of those: the worst, and of half of them at most */
	int64_t residual_ns; /* the worst */
	double drift;        /* of the device's clock against the host's, relative; over the longest chain */
	double drift_error;  /* it is off by no more; 0 if there are no two edges to tell */
};
/* False: no memory. */
bool device_clock_fit(struct device_fit *out, const struct trace *t, const struct firing *firings, uint32_t device);
