/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_tasks.h: the tasks that perf_event_open follows, each on a CPU or off it. */
#pragma once

#include "perf_usual.h"
#include "proc_tasks.h"
#include "stalls.h"

struct perf_look { /* at what a task waited for */
	uint64_t begin, end; /* begin 0: none was taken of this wait */
	unsigned tries;          /* that did not find whom a socket is connected to */
	struct proc_sched sched; /* slices 0: not known */
	struct gst_wait_for what;
};

struct perf_task {
	struct proc_task id;
	uint64_t begin;      /* of its GST_TASK */
	uint64_t out;        /* it left its CPU; 0: it is on one, for all we know */
	bool preempted;
	uint64_t told;       /* up to here GST_WAIT_LAST is written of this wait; 0 not */
	struct perf_look look;
	struct {             /* the wait before, which a major fault may yet be told of; in 0: none */
		uint64_t out, in;
		bool preempted, fault;
		struct perf_look look;
	} done;
	struct perf_usual usual;
	struct stalls stalls;
	struct perf_task *next; /* in its bucket */
	size_t index;
};

struct perf_tasks {
	struct perf_task **at; size_t n, cap;
	struct perf_task *bucket[1024];
};

/* NULL: not known. */
struct perf_task *perf_tasks_find(const struct perf_tasks *t, uint32_t tid);
/* NULL: no memory. There must be none of that number. */
struct perf_task *perf_tasks_add(struct perf_tasks *t, const struct proc_task *id);
void perf_tasks_remove(struct perf_tasks *t, struct perf_task *task);
void perf_tasks_free(struct perf_tasks *t);
