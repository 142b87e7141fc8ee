/* SPDX-License-Identifier: BSD-2-Clause */
/* threads.h: the records of a run by the thread they are about, each list in time order. */
#pragma once

#include "op_pieces.h"
#include "run/run.h"

struct thread_records {
	uint32_t tid;
	const struct call **calls;     size_t n_calls, cap_calls; /* some may be folded (launches.h) */
	const struct call **rare;      size_t n_rare, cap_rare; /* of them: all but plain launches (trace_rare.h) */
	const struct sample **samples; size_t n_samples;
	const struct usage **usages;   size_t n_usages;
	const struct nccl_call **nccl; size_t n_nccl; /* that it made itself: none within another, none of the recorder's */
	/* What a submission costs this thread: the median time its calls of that family take, of those that wait for nothing and
	 * succeed. 0: fewer than COST_CALLS of them. */
	int64_t cost_ns[GST_FAMILY_COUNT];
	struct tally *costs; /* while it is built: by family */
	struct op_pieces ops, overhead; /* what it was at, where another tool saw it; a profiler's own work in it. Of threads that make calls */
};

#define COST_CALLS 4

struct process_records {
	const struct trace *trace;
	struct thread_records *threads;   size_t n_threads; /* by tid */
	const struct call **first_launch; /* by kernel: its first launch, NULL none */
	uint64_t *hook_calls; /* by hook: how often it was called; last: a hook out of range */
	const void **pool; /* what all lists but those of calls point into */
	struct op_labels op_labels;
	struct op_pieces overhead; /* of no thread that is known */
};

struct memory;

struct threads {
	struct process_records *processes; size_t n_processes; /* by address of trace */
	const struct run *run;       /* borrowed */
	const struct memory *memory; /* of the same run, for who explains gaps; NULL not known */
};

enum err_kind threads_build(struct threads *out, const struct run *run, struct error *e);
void threads_free(struct threads *t);

/* One of a thread's calls by itself: of a folded one which launch. */
struct call_place {
	size_t at;
	uint32_t in;
};

/* The one before. False: there is none. */
bool call_place_back(const struct thread_records *r, struct call_place *p);
/* room: for one that is folded; else it is the trace's own. */
const struct call *call_at_place(const struct trace *t, const struct thread_records *r, struct call_place p, struct call *room);

/* The thread's first account taken after that; an index, n_usages if there is none. */
size_t threads_usage_after(const struct thread_records *r, int64_t ns);

const struct process_records *threads_process(const struct threads *t, const struct trace *trace); /* NULL unknown */
const struct thread_records *threads_find(const struct process_records *p, uint32_t tid);          /* NULL unknown */
