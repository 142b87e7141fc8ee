/* SPDX-License-Identifier: BSD-2-Clause */
/* threads.h: the records of a run by the thread they are about, each list in time order. */
#pragma once

#include "run.h"

struct thread_records {
	uint32_t tid;
	const struct call **calls;     size_t n_calls;
	const struct sample **samples; size_t n_samples;
	const struct usage **usages;   size_t n_usages;
	const struct nccl_call **nccl; size_t n_nccl; /* that it made itself: none within another, none of the recorder's */
	/* What a submission costs this thread: the median time its calls of that family take, of those that wait for nothing and
	 * succeed. 0: fewer than COST_CALLS of them. */
	int64_t cost_ns[GST_FAMILY_COUNT];
};

#define COST_CALLS 4

struct process_records {
	const struct trace *trace;
	struct thread_records *threads;   size_t n_threads; /* by tid */
	const struct call **first_launch; /* by kernel: its first launch, NULL none */
	const void **pool; /* what all lists point into */
};

struct memory;

struct threads {
	struct process_records *processes; size_t n_processes; /* by address of trace */
	const struct run *run;       /* borrowed */
	const struct memory *memory; /* of the same run, for who explains gaps; NULL not known */
};

enum err_kind threads_build(struct threads *out, const struct run *run, struct error *e);
void threads_free(struct threads *t);

/* The thread's first account taken after that; an index, n_usages if there is none. */
size_t threads_usage_after(const struct thread_records *r, int64_t ns);

const struct process_records *threads_process(const struct threads *t, const struct trace *trace); /* NULL unknown */
const struct thread_records *threads_find(const struct process_records *p, uint32_t tid);          /* NULL unknown */
