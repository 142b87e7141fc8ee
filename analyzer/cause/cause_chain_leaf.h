/* SPDX-License-Identifier: BSD-2-Clause */
/* cause_chain_leaf.h: the end of a chain → the cause that it proves. */
#pragma once

#include "cause_chain_saved.h"
#include "cause_chain_seen.h"
#include "chain/chain.h"
#include "gap/findings.h"

struct chain_about { /* what must be known besides the segment itself */
	const struct host_trace *host;
	const struct chain *whole; /* the walk that it is of; NULL none */
	int64_t asked_begin_ns, asked_end_ns; /* … the part of it, without a hole, that the segment is of */
	const struct chain_seen *seen; /* … and what was seen in it; NULL nothing */
	const struct chain_saved *saved; /* … what was written in it after copied_out_ns; NULL nothing */
	int64_t copied_out_ns; /* when the thread had copied from the device, in this gap or just before; INT64_MAX it had not */
	bool communicates; /* the process has communicators: their sockets are no input, */
	const struct run *run; /* … and who has some as well is another rank; NULL not known */
};

/* CAUSE_unexplained: it proves none. s: one of about->whole, where there is one. */
enum cause_id chain_cause(const struct chain_segment *s, const struct chain_about *about);

/* s computed, between two waits of the same thread for one cause, and no longer than those: memory_stall where both were for memory (then it
 * was the kernel that worked on the faults), checkpoint where both saved, output_io where both wrote (then it was writing); or
 * checkpoint where it flushes a file next, and that is as much as it can have written meanwhile. An inference.
 * CAUSE_unexplained: neither. */
enum cause_id chain_between(const struct chain_segment *s, const struct chain_about *about);

/* Do the chain's own records prove it, or is a step of the reasoning a guess? */
bool chain_proves(const struct chain_segment *s, const struct chain_about *about, enum cause_id cause);

/* Bytes that one call asked for; of several short waits, on the average. */
uint64_t step_bytes(const struct chain_step *s);

/* Of several short waits those of all: from the first place to the last and one call's behind that, and no more than they asked for together (a
 * sum has the bytes of each of its waits). Of faults, pages. 0 not known. */
uint64_t step_bytes_all(const struct chain_step *s);
#define PAGE_BYTES 4096

/* It waited for data on a socket whose other end may be another machine's, or a service's that is none of the program's processes. */
bool step_may_ask_a_network(const struct chain_step *s);

/* On record as one of the processes that are watched. */
static inline bool task_is_of_the_tree(const struct host_task *task)
{
	return task && !(task->flags & (GST_TASK_STRANGER | GST_TASK_KERNEL));
}

static inline const struct chain_step *chain_leaf(const struct chain_segment *s)
{
	return &s->steps[s->n_steps - 1];
}

/* What the leaf waited for, of one wait or of many short ones, or wrote to on a CPU; NULL: nothing that is known. */
static inline const struct host_what *step_what(const struct chain_step *s)
{
	return s->wait ? &s->wait->what : s->stalls ? &s->stalls->what : s->written ? &s->written->what : NULL;
}
