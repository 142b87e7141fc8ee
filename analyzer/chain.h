/* SPDX-License-Identifier: BSD-2-Clause */
/* chain.h: the way back from the end of a stretch of time: what did a thread wait for, and what did those do that it waited for?
 *
 * Walked from the end to the begin. On a CPU: that is the answer. Runnable without one: the run queue, or a quota. Asleep: what woke it.
 * From an interrupt or a timer, or in file I/O, a fault, a flush: that is the answer. By another task: what that did until the wake, back to
 * when the sleep began; a task that was born meanwhile goes on in its creator. The segments tile the stretch exactly. */
#pragma once

#include "host_match.h"

enum chain_state { /* of a leaf, and of each link on the way to it */
	CHAIN_UNKNOWN,    /* nothing is on record */
	CHAIN_ON_CPU,
	CHAIN_QUEUED,     /* runnable, no CPU */
	CHAIN_THROTTLED,  /* runnable, its group's quota was used up */
	CHAIN_FILE_READ, CHAIN_FILE_WRITE, CHAIN_FLUSH, /* in file I/O */
	CHAIN_FAULT,      /* page fault on a file's memory */
	CHAIN_SWAP,       /* … on anonymous memory */
	CHAIN_RECLAIM,
	CHAIN_SOCKET_READ, CHAIN_SOCKET_WRITE,
	CHAIN_PIPE_READ, CHAIN_PIPE_WRITE,
	CHAIN_POLL,
	CHAIN_LOCK,       /* futex */
	CHAIN_SLEEP,      /* a time limit of its own */
	CHAIN_CHILD,      /* waitpid */
	CHAIN_OTHER,      /* another system call */
};

#define CHAIN_DEPTH 16 /* links; beyond, the walk ends in CHAIN_UNKNOWN */

struct chain_step {
	const struct host_task *task;
	int64_t begin_ns, end_ns; /* the part of the stretch in which it was in this state: a link's holds those of the links behind it */
	enum chain_state state;
	const struct host_wait *wait; /* NULL: on a CPU, or not known */
	const struct host_stalls *stalls; /* a leaf's, where the time is of several short waits */
	uint8_t by;               /* enum gst_woken_by: what ended it */
};

struct chain_segment { /* one answer: [begin_ns, end_ns) belongs to the last step */
	int64_t begin_ns, end_ns;
	struct chain_step steps[CHAIN_DEPTH]; size_t n_steps; /* [0]: the thread that was asked about */
	bool inferred; /* a step rests on looks, or on who holds the other end of a pipe */
};

struct chain {
	struct chain_segment *at; size_t n, cap; /* by time; they tile [begin, end) of the walk */
};

/* False: no memory. c is zeroed or was used before. */
bool chain_walk(struct chain *c, const struct host_trace *h, const struct host_task *task, int64_t begin_ns, int64_t end_ns);
void chain_free(struct chain *c);
