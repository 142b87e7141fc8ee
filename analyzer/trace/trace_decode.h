/* SPDX-License-Identifier: BSD-2-Clause */
/* trace_decode.h: what the two passes over a file share while a trace is made of it. */
#pragma once

#include "clock.h"
#include "names.h"
#include "read/reader.h"
#include "trace.h"
#include "trace_split.h"

/* Arrays of the trace grow by array_room; their capacities live here. */
struct decoder {
	struct trace *t;
	struct reader *reader;
	struct clock *clock;
	struct names *names;
	struct graphs *graphs;
	struct ranges_room *ranges;
	struct trace_split *split; /* NULL: the file is gone through twice, each launch is a call */
	size_t calls, measured, levels, edges, polls, samples, usages, streams, devices, threads, busy, busy_streams, bursts; /* capacities */
	struct comms_room comms;
	int64_t calls_end_ns; /* of all that were added, the latest */
};

/* First pass: what the others refer to: names, streams, devices, threads, graphs, anchors. */
enum err_kind trace_describe(struct decoder *d, struct error *e);
/* Second pass, from the start, or over what was kept (decoder.split): what happened. Needs the clock, the names and the streams.
 * Ranges and memory are in the order of time then. */
enum err_kind trace_events(struct decoder *d, struct error *e);

/* An id from the file becomes an index, GST_NONE where there is no such stream. */
uint32_t trace_stream(const struct trace *t, uint32_t id);

/* Calls in the order of their begins; of two at once the one that stands first in the file. For array_sort. */
int call_by_time(const void *a, const void *b);
/* Every array by its time, or as trace.h says, but for ranges, memory and measured work; then what began after trace.cut_ns is left out. */
void trace_sort(struct trace *t);
void trace_cut(struct trace *t);

static inline enum err_kind trace_no_memory(const struct trace *t, struct error *e)
{
	return err_set(e, ERR_SYSTEM, t->path, ERR_NO_BYTE, "out of memory");
}
