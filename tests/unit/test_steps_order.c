/* SPDX-License-Identifier: BSD-2-Clause */
/* Iterations that launch the same things in the same order, and some that launch the same things in any. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "steps/steps_order.h"
#include "tests/support/failing_alloc.h"
#include "tests/unit/tokens_made.h"

#define KERNELS 40
#define ITERATIONS 48

static bool repeats(struct made *m)
{
	bool got;

	assert_true(order_repeats(&got, &m->s, m->at, m->is_step, m->n));
	free(m);
	return got;
}

/* Fisher and Yates. */
static void shuffled(struct made *m, uint32_t first, uint32_t n)
{
	size_t from = m->s.n;

	made_row(m, first, n);
	for (size_t i = n; i > 1; i--) {
		size_t k = made_below(m, i);
		uint32_t id = m->ids[from + i - 1];

		m->ids[from + i - 1] = m->ids[from + k];
		m->ids[from + k] = id;
	}
}

static void the_same_order(void **state)
{
	struct made *m = made_begin(1);

	(void)state;
	for (size_t i = 0; i < ITERATIONS; i++) {
		made_iteration(m, true);
		made_row(m, 0, KERNELS);
	}
	assert_true(repeats(m));
}

static void any_order(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct made *m = made_begin(seed);

		for (size_t i = 0; i < ITERATIONS; i++) {
			made_iteration(m, true);
			shuffled(m, 0, KERNELS);
		}
		assert_false(repeats(m));
	}
}

/* More than half of each has an order. */
static void some_of_it(void **state)
{
	for (uint32_t ordered = 8; ordered <= 32; ordered += 24) {
		struct made *m = made_begin(3);

		(void)state;
		for (size_t i = 0; i < ITERATIONS; i++) {
			made_iteration(m, true);
			made_row(m, 0, ordered);
			shuffled(m, ordered, KERNELS - ordered);
		}
		assert_int_equal(repeats(m), ordered == 32);
	}
}

/* Two kinds in turn, and kernels again and again, not always as often. */
static void kinds_in_turn(void **state)
{
	struct made *m = made_begin(4);

	(void)state;
	for (size_t i = 0; i < ITERATIONS; i++) {
		made_iteration(m, true);
		made_row(m, i % 2 ? KERNELS : 0, KERNELS);
		for (uint64_t k = made_below(m, 5); k; k--)
			made_token(m, 3 * KERNELS);
	}
	assert_true(repeats(m));
}

/* What is no step is not asked. */
static void steps_alone(void **state)
{
	for (int steps = 0; steps < 2; steps++) {
		struct made *m = made_begin(5);

		(void)state;
		for (size_t i = 0; i < ITERATIONS; i++) {
			made_iteration(m, i % 3 == (steps ? 0 : 1));
			if (i % 3 == 0)
				made_row(m, 0, KERNELS);
			else
				shuffled(m, 0, KERNELS);
		}
		assert_int_equal(repeats(m), steps);
	}
}

static void one_says_nothing(void **state)
{
	struct made *m = made_begin(6);

	(void)state;
	made_iteration(m, true);
	made_row(m, 0, KERNELS);
	assert_false(repeats(m));
}

static void no_memory(void **state)
{
	struct made *m = made_begin(1);
	bool got = true, ok = false;
	long n = 1;

	(void)state;
	for (size_t i = 0; i < ITERATIONS; i++) {
		made_iteration(m, true);
		made_row(m, 0, KERNELS);
	}
	for (; !ok; n++) {
		fail_at = n;
		ok = order_repeats(&got, &m->s, m->at, m->is_step, m->n);
		fail_at = 0;
		assert_int_equal(got, ok);
	}
	assert_int_equal(n, 4); /* two allocations */
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_order), cmocka_unit_test(any_order),   cmocka_unit_test(some_of_it),
		cmocka_unit_test(kinds_in_turn),  cmocka_unit_test(steps_alone), cmocka_unit_test(one_says_nothing),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
