/* SPDX-License-Identifier: BSD-2-Clause */
/* chain.h: the way back from the end of a stretch of time: what did a thread wait for, and what did those do that it waited for?
 *
 * On a CPU: that is the answer. Runnable without one: the run queue, or a quota. Asleep: what woke it. From an interrupt or a timer, or in file
 * I/O, a fault, a flush: that is the answer. By another task: what that did until the wake, back to when the sleep began; a task that was
 * born meanwhile goes on in its creator. The segments tile the stretch exactly.
 *
 * Time limits. nanosleep, and a poll or select of no descriptors, are sleep. Any other wait that its time limit ended was for something
 * that did not come. Where the task at once waits for the same thing again (the GIL's waiters do so every 5 ms, queues every few seconds)
 * it is one wait, and whoever ended the last part of it is asked about all of it, the moments between its parts too; else it is the
 * answer itself. */
#pragma once

#include "host/host_trace.h"

enum chain_state { /* of a leaf, and of each link on the way to it */
	CHAIN_UNKNOWN,    /* nothing is on record */
	CHAIN_ON_CPU,
	CHAIN_QUEUED,     /* runnable, no CPU */
	CHAIN_THROTTLED,  /* runnable, its group's quota was used up */
	CHAIN_FILE_READ, CHAIN_FILE_WRITE, CHAIN_FLUSH, /* in file I/O; FILE_WRITE also on a CPU (written is set then) */
	CHAIN_FAULT,      /* page fault on a file's memory */
	CHAIN_SWAP,       /* … on anonymous memory */
	CHAIN_RECLAIM,    /* memory was looked for: asleep, or on a CPU (wait is NULL then) */
	CHAIN_SOCKET_READ, CHAIN_SOCKET_WRITE,
	CHAIN_PIPE_READ, CHAIN_PIPE_WRITE,
	CHAIN_POLL,
	CHAIN_LOCK,       /* futex, flock */
	CHAIN_SLEEP,      /* a time limit of its own */
	CHAIN_CHILD,      /* waitpid */
	CHAIN_OTHER,      /* another system call */
	CHAIN_UNBORN,     /* a link only: it was not there yet, and the next step is its creator */
	CHAIN_STATES
};

#define CHAIN_DEPTH 16 /* steps; beyond, the walk ends in CHAIN_UNKNOWN */

struct chain_step {
	const struct host_task *task;
	int64_t begin_ns, end_ns; /* the part of the stretch in which it was in this state: a link's holds those of the links behind it */
	enum chain_state state;
	const struct host_wait *wait; /* NULL: on a CPU, or not known. A link's, where a wait is in several parts: the last of them */
	const struct host_stalls *stalls; /* where the time is of several short waits; of a link, by looks alone: of one that none fell into */
	const struct host_written *written; /* it filled a file's pages, on a CPU; NULL else */
	uint8_t by;               /* enum gst_woken_by: what ended it. A link: TASK, the next step's. A leaf: TASK where that is no answer (a
	                           * kernel thread, a stranger of whom nothing was known yet, two that wait for each other): wait->waker */
};

struct chain_segment { /* one answer: [begin_ns, end_ns) belongs to the last step */
	int64_t begin_ns, end_ns;
	const struct chain_step *steps; size_t n_steps; /* [0]: the thread that was asked about; at least one, CHAIN_DEPTH at most */
	size_t first;  /* of the steps, in the chain's pool */
	bool inferred; /* a step rests on looks, or on who holds the other end of a pipe */
};

struct chain {
	struct chain_segment *at; size_t n, cap; /* by time; they tile [begin, end) of the walk */
	struct chain_step *pool; size_t n_pool, cap_pool;
	size_t *looked; /* how many tasks and ends of pipes were looked at for guesses, and waits ahead, in all walks that share it; NULL: in this one */
};

/* Walks that share `looked` guess no more, nor look ahead, when they have looked at so many. */
#define CHAIN_LOOKS ((size_t)1 << 27)

/* False: no memory. c is zeroed or was used before: what it held is gone. */
bool chain_walk(struct chain *c, const struct host_trace *h, const struct host_task *task, int64_t begin_ns, int64_t end_ns);
/* The same in several stretches, one behind the other: chain_clear, chain_walk_on for each, chain_settle; until then segments have no steps. */
void chain_clear(struct chain *c);
bool chain_walk_on(struct chain *c, const struct host_trace *h, const struct host_task *task, int64_t begin_ns, int64_t end_ns);
void chain_settle(struct chain *c);
void chain_free(struct chain *c);

/* In a word: "pipe-read". */
const char *chain_state_name(enum chain_state state);
/* In words: "pread64 /data/x", "futex", "page fault in /data/x". What does not fit loses the beginning of its path. The path is the
 * trace's own text, to be cleaned where it is printed. Returns buf. */
const char *chain_state_words(char *buf, size_t size, const struct host_trace *h, const struct chain_step *step);
