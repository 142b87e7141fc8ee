/* SPDX-License-Identifier: BSD-2-Clause */
#include "stack_budget.h"

#include <stdbool.h>

#include "clock.h"
#include "stack.h"

#define LONG_NS 100000000000ull /* for so long at most something is saved up */

static struct {
	int64_t credit;    /* ticks */
	uint64_t credited; /* up to this moment */
} account;

static int64_t most(void)
{
	return (int64_t)clock_ticks_in(STACK_CREDIT_NS);
}

/* In the time since then, which moves to where it is paid for: a share of less than a tick is still to come. None where another thread has
 * come further. */
static int64_t share(uint64_t *since, uint64_t ticks, uint64_t ppm)
{
	uint64_t elapsed = ticks - *since, long_enough = clock_ticks_in(LONG_NS), parts;

	if ((int64_t)elapsed <= 0)
		return 0;
	parts = (elapsed < long_enough ? elapsed : long_enough) * ppm;
	*since = ppm ? ticks - parts % 1000000 / ppm : ticks;
	return (int64_t)(parts / 1000000);
}

void stack_budget_begin(uint64_t ticks)
{
	account.credit = most();
	account.credited = ticks;
}

static void account_add(int64_t n)
{
	int64_t there = __atomic_load_n(&account.credit, __ATOMIC_RELAXED), sum;

	do
		sum = there + n < most() ? there + n : most();
	while (!__atomic_compare_exchange_n(&account.credit, &there, sum, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

static void account_fill(uint64_t ticks, uint64_t ppm)
{
	uint64_t since = __atomic_load_n(&account.credited, __ATOMIC_RELAXED), until = since;
	int64_t n = share(&until, ticks, ppm);

	if (n &&
	    __atomic_compare_exchange_n(&account.credited, &since, until, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		account_add(n);
}

static int64_t account_take(void)
{
	int64_t there = __atomic_load_n(&account.credit, __ATOMIC_RELAXED);

	while (there > 0 && !__atomic_compare_exchange_n(&account.credit, &there, there - there / 2, false,
							 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return there > 0 ? there / 2 : 0;
}

void stack_budget_thread_begins(struct thread_stacks *s, uint64_t ticks, uint64_t ppm)
{
	account_fill(ticks, ppm);
	s->credit = account_take();
	s->credited = ticks;
}

void stack_budget_thread_ended(struct thread_stacks *s, uint64_t ticks, uint64_t ppm)
{
	stack_budget_update(s, ticks, ppm);
	account_add(s->credit);
	s->credit = 0;
}

void stack_budget_update(struct thread_stacks *s, uint64_t ticks, uint64_t ppm)
{
	/* None where the call of a stack that was taken already ended before that was. */
	int64_t n = share(&s->credited, ticks, ppm);

	s->credit = s->credit + n < most() ? s->credit + n : most();
}
