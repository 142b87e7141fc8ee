/* SPDX-License-Identifier: BSD-2-Clause */
/* host_trace_decode.h: what the two passes over a file of host probes share. */
#pragma once

#include "host_trace.h"
#include "read/reader_types.h"
#include "trace/names.h"

struct host_task_end {
	int64_t at_ns;
	uint32_t tid;
};

/* Arrays of the trace grow by array_room; their capacities live here. */
struct host_decoder {
	struct host_trace *t;
	struct reader *reader;
	struct names *names;
	struct host_task_end *ends; size_t n_ends;
	int64_t until_ns; /* what came later is left out */
	bool ended;       /* regularly: tasks whose end is not on record lived until then */
	size_t tasks, ends_room, waits, stalls, reclaims, written, on_cpu, requests, pipe_ends, pressure; /* capacities */
};

/* First pass: tasks and their ends, names, what was watched; then who is whose creator. */
enum err_kind host_trace_describe(struct host_decoder *d, struct error *e);
/* As host_trace_task; a task also gives its memory back, and wakes who waits for it, after the kernel has told of its end. */
uint32_t host_trace_dying(const struct host_trace *t, uint32_t tid, int64_t at_ns);
/* Second pass, from the start: what the tasks did. Leaves tasks' end_ns where the last record proves them to have run. */
enum err_kind host_trace_events(struct host_decoder *d, struct error *e);
/* Sorts that; no wait overlaps another. */
void host_trace_settle(struct host_trace *t);

static inline enum err_kind host_no_memory(const struct host_trace *t, struct error *e)
{
	return err_set(e, ERR_SYSTEM, t->path, ERR_NO_BYTE, "out of memory");
}
