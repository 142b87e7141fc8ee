/* SPDX-License-Identifier: BSD-2-Clause */
/* proc_looks.h: a task that is looked at now and then. How long it ran, and how long it was kept from it, the kernel sums up to the nanosecond
 * (schedstat), so that only where in between two looks it slept is a guess: in equal parts. */
#pragma once

#include "proc_tasks.h"
#include "proc_wait.h"
#include "stalls.h"
#include "watch.h"

struct looked {
	struct proc_task id;
	int fd;               /* its schedstat, or -1: opened each time */
	uint64_t at;          /* the last look */
	struct proc_sched sched; /* then */
	int64_t carried_ns;   /* time in which it seems to have slept, or run too long, since it was first found running: of a task on a CPU
	                       * the kernel's sum ends at its last tick, so that this is settled when it is found asleep */
	uint64_t carried_since; /* 0: nothing is */
	uint64_t faults;      /* major ones, then */
	bool waits;           /* it did, then */
	uint64_t told;        /* up to here GST_WAIT_LAST is written of it; 0 not */
	uint64_t out;         /* since */
	struct gst_wait_for what;
	struct stalls stalls;
};

/* From its first look on. begin: of what is known of it. */
void looked_begin(struct watch *w, struct looked *t, const struct proc_task *id, uint64_t begin);
/* Another look. False: it has ended. */
bool looked_again(struct watch *w, struct looked *t);
/* Its end, which was after the last look; and what is left is written. */
void looked_end(struct watch *w, struct looked *t, uint64_t at);
/* A wait that goes on is written. */
void looked_last(struct watch *w, struct looked *t, uint64_t now);
/* Frees what it holds, writes sums. */
void looked_finish(struct watch *w, struct looked *t);
