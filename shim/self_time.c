/* SPDX-License-Identifier: BSD-2-Clause */
#include "self_time.h"

#include "call.h"
#include "file.h"
#include "random.h"

#define LONG_NS 100000 /* nothing that a call of ours does regularly takes that long */

/* 1 … 2 × SELF_TIME_EVERY - 1 */
static uint32_t distance(struct thread *t)
{
	return 1 + (random_next(&t->random) >> 8) % (2 * SELF_TIME_EVERY - 1);
}

void self_time_begin(struct call *c)
{
	struct thread *t = c->thread;

	c->timed |= t->timed_after;
	t->until_timed = t->timed_after = distance(t);
	t->until_timed--;
	c->own_ticks = 0;
	c->own_begin = c->record.begin;
	c->own_injected = t->injected_ticks;
}

void self_time_into_driver(struct call *c)
{
	c->own_ticks = clock_ticks() - c->own_begin;
}

void self_time_from_driver(struct call *c)
{
	c->own_begin = clock_ticks();
}

/* A call in which the thread lost its CPU, or waited for a disk, stands for itself alone: with what the others usually take. */
static uint64_t all_of(uint64_t own, uint32_t calls)
{
	static uint64_t usual;
	uint64_t before = __atomic_load_n(&usual, __ATOMIC_RELAXED);

	if (own > clock_ticks_in(LONG_NS))
		return own + before * (calls - 1);
	__atomic_store_n(&usual, before ? (before * 7 + own) / 8 : own, __ATOMIC_RELAXED);
	return own * calls;
}

static void account(struct call *c, uint32_t calls)
{
	uint64_t own = c->own_ticks + clock_ticks() - c->own_begin,
		 injected = c->thread->injected_ticks - c->own_injected;
	struct gst_counters *counters = file_counters();

	if (own > injected)
		__atomic_fetch_add(&counters->own_ticks, all_of(own - injected, calls), __ATOMIC_RELAXED);
	__atomic_fetch_add(&counters->own_calls, calls, __ATOMIC_RELAXED);
	__atomic_fetch_add(&counters->own_timed, 1, __ATOMIC_RELAXED);
}

void self_time_end(struct call *c)
{
	uint32_t calls = c->timed & ~CALL_ENDS_SILENCE;

	if (calls)
		account(c, calls);
	if (c->timed & CALL_ENDS_SILENCE)
		stacks_silence_ended(c);
	if (calls)
		stacks_drawn(c, calls);
}

void self_time_injected(struct thread *t, uint64_t ticks)
{
	t->injected_ticks += ticks;
	__atomic_fetch_add(&file_counters()->injected_ticks, ticks, __ATOMIC_RELAXED);
}
