/* SPDX-License-Identifier: BSD-2-Clause */
#include "cause_chain_leaf.h"
#include "cause_chain_requests.h"

/* A fault costs tens of microseconds of CPU; what is longer than this is the thread's own work on what it has got. */
#define FAULTS_APART_NS 200000
#define SKIPPED 4 /* segments in which the thread had no CPU, on either side */

static bool is_queued(const struct chain_segment *s)
{
	enum chain_state state = chain_leaf(s)->state;

	return state == CHAIN_QUEUED || state == CHAIN_THROTTLED;
}

/* What the thread that s ends at was at in another segment, which may go on to those it waited for; NULL: it is not on that way. */
static const struct chain_step *own_step(const struct chain_segment *at, const struct chain_segment *s)
{
	const struct chain_step *own = at->n_steps < s->n_steps ? NULL : &at->steps[s->n_steps - 1];

	return own && own->task == chain_leaf(s)->task ? own : NULL;
}

/* How long it was in that, ns. */
static int64_t own_ns(const struct chain_segment *at, const struct chain_segment *s)
{
	const struct chain_step *own = own_step(at, s);

	return own == chain_leaf(at) ? at->end_ns - at->begin_ns : own->end_ns - own->begin_ns;
}

/* The nearest one before (by -1) or behind (by 1) that tells what the same thread waited for; NULL none. */
static const struct chain_segment *beside(const struct chain_segment *s, const struct chain *whole, int by)
{
	size_t at = (size_t)(s - whole->at);

	for (int skipped = 0; skipped <= SKIPPED; skipped++) {
		if (by < 0 ? at == 0 : at + 1 == whole->n)
			return NULL;
		at += (size_t)by;
		if (!own_step(&whole->at[at], s))
			return NULL;
		if (!is_queued(&whole->at[at]))
			return &whole->at[at];
	}
	return NULL;
}

#define LOOK_AHEAD 64 /* segments: one flush waits many times */

struct flushes { /* of the thread, from a segment on */
	int64_t ns;
	uint64_t bytes; /* written to disks meanwhile, of those files or by that thread */
	bool bytes_known;
};

static struct flushes flushes_from(const struct chain_segment *from, const struct chain_about *about)
{
	const struct chain *whole = about->whole;
	size_t at = (size_t)(from - whole->at);
	struct flushes all = { 0 };

	for (size_t end = at + LOOK_AHEAD < whole->n ? at + LOOK_AHEAD : whole->n; at < end; at++) {
		const struct chain_segment *s = &whole->at[at];
		const struct chain_step *leaf = chain_leaf(s);
		struct requests_sum requests;

		if (s->n_steps != from->n_steps || leaf->state != CHAIN_FLUSH || leaf->task != chain_leaf(from)->task)
			continue;
		requests = requests_of(about->host, leaf, s->begin_ns, s->end_ns);
		all.ns += s->end_ns - s->begin_ns;
		all.bytes += requests.bytes;
		all.bytes_known |= requests.n > 0;
	}
	return all;
}

#define NS_PER_BYTE 2 /* no program writes more slowly than that without computing something else */

/* Right before it forces something to the disk, for no longer than that takes: it wrote it, which mostly is copying and waits for nothing.
 * But no longer than so much takes: a line of a log is no reason for all that was computed before. Where nobody knows how much it was (no block
 * requests, as of a network's files) the thread must have copied something from the device, to be saved. */
static bool writes_what_it_flushes(const struct chain_segment *s, const struct chain_segment *behind,
				   const struct chain_about *about)
{
	int64_t ns = s->end_ns - s->begin_ns;
	struct flushes next;

	if (!behind || s->n_steps != 1 || behind->n_steps != 1 || chain_leaf(behind)->state != CHAIN_FLUSH)
		return false;
	next = flushes_from(behind, about);
	if (ns > next.ns)
		return false;
	return next.bytes_known ? (uint64_t)ns / NS_PER_BYTE <= next.bytes : s->begin_ns >= about->copied_out_ns;
}

enum cause_id chain_between(const struct chain_segment *s, const struct chain_about *about)
{
	const struct chain_segment *before, *behind;
	int64_t ns = s->end_ns - s->begin_ns, waited_ns;
	enum cause_id cause;

	if (!about->whole || chain_leaf(s)->state != CHAIN_ON_CPU)
		return CAUSE_unexplained;
	before = beside(s, about->whole, -1);
	behind = beside(s, about->whole, 1);
	if (writes_what_it_flushes(s, behind, about))
		return CAUSE_checkpoint;
	if (!before || !behind || own_step(before, s)->state == CHAIN_ON_CPU ||
	    own_step(behind, s)->state == CHAIN_ON_CPU)
		return CAUSE_unexplained;
	cause = chain_cause(before, about);
	waited_ns = own_ns(before, s) + own_ns(behind, s);
	if (cause != chain_cause(behind, about))
		return CAUSE_unexplained;
	if (cause == CAUSE_memory_stall)
		return ns <= FAULTS_APART_NS ? cause : CAUSE_unexplained;
	return (cause == CAUSE_checkpoint || cause == CAUSE_output_io) && ns <= waited_ns ? cause : CAUSE_unexplained;
}
