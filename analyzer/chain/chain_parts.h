/* SPDX-License-Identifier: BSD-2-Clause */
/* chain_parts.h: what the walk of chain.h asks about one task. */
#pragma once

#include "chain.h"

/* ---- chain_state.c ---- */

/* What a task that waits for this is in. kernel: it is a kernel thread. */
enum chain_state chain_state_of(const struct gst_file_header *header, const struct host_what *what, bool kernel);
/* No matter who ended it, the wait is the answer: the device's, a disk's, its own. */
bool chain_state_is_leaf(enum chain_state state);
/* Is b, the next one, a's wait again: at once, in the same system call, for the same thing? */
bool chain_same_wait(const struct host_wait *a, const struct host_wait *b, enum chain_state state);

/* ---- chain_stalls.c: time on a CPU, less short waits ---- */

#define CHAIN_STALLS 8 /* at one time; what is beyond counts as time on a CPU */
#define CHAIN_PARTS (1 + 3 * CHAIN_STALLS)

struct chain_part {
	int64_t ns;
	enum chain_state state;
	const struct host_stalls *stalls; /* NULL: the task's own time */
	const struct host_written *written; /* … in which it wrote this; NULL not so */
};

struct chain_cursor { /* a place in a task's stalls, reclaims and what it wrote, moved forwards only */
	size_t stall, reclaim, written; /* the first that begins later */
	size_t active[CHAIN_STALLS], n_active;
	int64_t reclaim_end_ns; /* of those that have begun */
	const struct host_written *writing; /* the last that has begun; NULL none */
	bool set;
};

/* The parts of [at_ns, what is returned), in which the task is in no long wait; end_ns at most is returned. They sum to it exactly. A stall's
 * time is spread evenly over what of its stretch is no long wait: which instants were its own is not on record. */
int64_t chain_parts(struct chain_cursor *c, const struct host_trace *h, const struct host_task *task, int64_t at_ns, int64_t end_ns,
		    struct chain_part parts[CHAIN_PARTS], size_t *n_parts);
/* By looks alone, most of a stretch of short waits for another task may be one wait that no two looks fell into: its length is what the
 * accounts say. Which part; n: none. */
size_t chain_parts_one(const struct chain_part *parts, size_t n, int64_t whole_ns);

/* ---- chain_guess.c: who may have woken it, where nobody saw that ---- */

/* An index of a task, HOST_NOBODY where none fits, or more than one. *woken_ns: when it was woken at the latest. *left: how many tasks may
 * still be looked at; counts down. For a lock's wait that its time limit ended: who had the lock then. */
uint32_t chain_guess(const struct host_trace *h, const struct host_task *task, const struct host_wait *wait, enum chain_state state,
		     size_t *left, int64_t *woken_ns);
