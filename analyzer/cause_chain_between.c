/* SPDX-License-Identifier: BSD-2-Clause */
#include "cause_chain_leaf.h"

/* A fault costs tens of microseconds of CPU; what is longer than this is the thread's own work on what it has got. */
#define FAULTS_APART_NS 200000
#define SKIPPED 4 /* segments in which the thread had no CPU, on either side */

static bool is_queued(const struct chain_segment *s)
{
	enum chain_state state = chain_leaf(s)->state;

	return state == CHAIN_QUEUED || state == CHAIN_THROTTLED;
}

/* The nearest one before (by -1) or behind (by 1) that tells what the same thread waited for; NULL none. */
static const struct chain_segment *beside(const struct chain_segment *s, const struct chain *whole, int by)
{
	size_t at = (size_t)(s - whole->at);

	for (int skipped = 0; skipped <= SKIPPED; skipped++) {
		if (by < 0 ? at == 0 : at + 1 == whole->n)
			return NULL;
		at += (size_t)by;
		if (whole->at[at].n_steps != s->n_steps || chain_leaf(&whole->at[at])->task != chain_leaf(s)->task)
			return NULL;
		if (!is_queued(&whole->at[at]))
			return &whole->at[at];
	}
	return NULL;
}

#define LOOK_AHEAD 64 /* segments: one flush waits many times */

/* How long the thread waits for flushes from that segment on. */
static int64_t flushed_ns(const struct chain_segment *from, const struct chain *whole)
{
	size_t at = (size_t)(from - whole->at);
	int64_t ns = 0;

	for (size_t end = at + LOOK_AHEAD < whole->n ? at + LOOK_AHEAD : whole->n; at < end; at++)
		if (whole->at[at].n_steps == from->n_steps && chain_leaf(&whole->at[at])->state == CHAIN_FLUSH &&
		    chain_leaf(&whole->at[at])->task == chain_leaf(from)->task)
			ns += whole->at[at].end_ns - whole->at[at].begin_ns;
	return ns;
}

/* Right before it forces something to the disk, for no longer than that takes: it wrote it, which mostly is copying. */
static bool writes_what_it_flushes(const struct chain_segment *s, const struct chain_segment *behind,
				   const struct chain *whole)
{
	return behind && s->n_steps == 1 && chain_leaf(behind)->state == CHAIN_FLUSH &&
	       s->end_ns - s->begin_ns <= flushed_ns(behind, whole);
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
	if (writes_what_it_flushes(s, behind, about->whole))
		return CAUSE_checkpoint;
	if (!before || !behind || chain_leaf(before)->state == CHAIN_ON_CPU ||
	    chain_leaf(behind)->state == CHAIN_ON_CPU)
		return CAUSE_unexplained;
	cause = chain_cause(before, about);
	waited_ns = before->end_ns - before->begin_ns + behind->end_ns - behind->begin_ns;
	if (cause != chain_cause(behind, about))
		return CAUSE_unexplained;
	if (cause == CAUSE_memory_stall)
		return ns <= FAULTS_APART_NS ? cause : CAUSE_unexplained;
	return (cause == CAUSE_checkpoint || cause == CAUSE_output_io) && ns <= waited_ns ? cause : CAUSE_unexplained;
}
