/* SPDX-License-Identifier: BSD-2-Clause */
/* device_clock.h: when each edge fired, on the host's clock, with its error.
 *
 * An edge fired at device_ns on a clock whose offset from the host's is unknown and drifts. Host time of the firing lies in
 * [begin_ns, done_ns], so each edge bounds the offset from both sides, for itself tightly or not at all. A bound holds for
 * the neighbours too, but for the drift between: carried forwards and backwards over all edges, every edge gets the window
 * that the best of them leave. Its middle is the answer, its half width the error. */
#pragma once

#include "trace.h"

struct firing { /* of trace.edges[i] */
	int64_t time_ns;
	int64_t error_ns;
	bool exact; /* from the device's clock; else only [begin, done] is known and time_ns is done_ns (INT64_MAX: never seen) */
};

/* *out: one per edge, the caller frees it. */
enum err_kind device_clock_map(struct firing **out, const struct trace *t, struct error *e);
