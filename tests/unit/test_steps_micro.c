/* SPDX-License-Identifier: BSD-2-Clause */
/* Gradient accumulation: which iterations are parts of a step, and which are steps of their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "steps/steps_micro.h"
#include "tests/support/failing_alloc.h"
#include "tests/unit/tokens_made.h"

#define USUAL 20     /* kernels of each iteration: 0, 1, … */
#define EXTRA 40     /* and on: what only some have */
#define OPTIMIZER 60 /* … whose names say so */
#define READ 80      /* … a copy to the host */
#define ITERATIONS 24

static struct made *begin(void)
{
	struct made *m = made_begin(1);

	for (size_t i = OPTIMIZER; i < READ; i++)
		m->about[i].optimizer = true;
	m->about[READ] = (struct token_about){ .kind = TOKEN_D2H };
	return m;
}

/* Every `every`-th iteration has n tokens more, from `first` on, and so many copies to the host. */
static struct made *accumulate(size_t every, uint32_t first, uint32_t n, unsigned copies)
{
	struct made *m = begin();

	for (size_t i = 0; i < ITERATIONS; i++) {
		made_iteration(m, true);
		made_row(m, 0, USUAL);
		if (i % every == every - 1) {
			made_row(m, first, n);
			for (unsigned k = 0; k < copies; k++)
				made_token(m, READ);
		}
	}
	return m;
}

static struct micro find(struct made *m)
{
	struct micro got;

	assert_true(micro_find(&got, &m->s, m->at, m->is_step, m->n));
	return got;
}

/* Steps of `every` iterations, but for the last, of which nothing is behind. */
static void assert_joined(struct made *m, size_t every)
{
	struct micro got = find(m);

	assert_int_equal(got.n, ITERATIONS / every);
	for (size_t i = 0; i < got.n; i++)
		assert_int_equal(got.at[i], m->at[i * every]);
	assert_true(got.typical + 1 < got.n);
	micro_free(&got);
	free(m);
}

static void assert_apart(struct made *m)
{
	struct micro got = find(m);

	assert_int_equal(got.n, 0);
	assert_null(got.at);
	micro_free(&got);
	free(m);
}

static void by_the_optimizers_name(void **state)
{
	(void)state;
	for (size_t every = 2; every <= 8; every *= 2)
		assert_joined(accumulate(every, OPTIMIZER, 1, 0), every);
	assert_apart(accumulate(1, OPTIMIZER, 4, 0));  /* each has it */
	assert_apart(accumulate(12, OPTIMIZER, 4, 0)); /* twice is too seldom to tell */
}

static void by_many_kernels(void **state)
{
	(void)state;
	for (size_t every = 2; every <= 8; every *= 2)
		assert_joined(accumulate(every, EXTRA, 6, 0), every);
	assert_joined(accumulate(4, EXTRA, 8, 2), 4);
	assert_apart(accumulate(4, EXTRA, 2, 0)); /* too few kernels */
	assert_apart(accumulate(4, EXTRA, 7, 2)); /* a logged value */
	assert_apart(accumulate(4, READ, 1, 5));  /* or a checkpoint */
}

/* Of another shape, each fourth one: other kernels in place of the usual ones. */
static void another_shape_is_no_optimizer(void **state)
{
	struct made *m = begin();

	(void)state;
	for (size_t i = 0; i < ITERATIONS; i++) {
		made_iteration(m, true);
		made_row(m, 0, USUAL - 6);
		made_row(m, i % 4 == 3 ? EXTRA : USUAL - 6, 6);
	}
	assert_apart(m);
}

static void not_always_as_many(void **state)
{
	struct made *m = begin();
	size_t next = 2;

	(void)state;
	for (size_t i = 0; i < 48; i++) {
		made_iteration(m, true);
		made_row(m, 0, USUAL);
		if (i == next) {
			made_row(m, OPTIMIZER, 4);
			next += 2 + made_below(m, 7);
		}
	}
	assert_apart(m);
}

/* What is no step lies between two, and is left out. */
static void evaluations_lie_between(void **state)
{
	struct made *m = begin();
	struct micro got;

	(void)state;
	for (size_t i = 0; i < ITERATIONS; i++) {
		made_iteration(m, true);
		made_row(m, 0, USUAL);
		if (i % 4 != 3)
			continue;
		made_row(m, OPTIMIZER, 4);
		made_iteration(m, false);
		made_row(m, 0, USUAL / 2);
	}
	got = find(m);
	assert_int_equal(got.n, ITERATIONS / 4);
	for (size_t i = 0; i < got.n; i++)
		assert_int_equal(got.at[i], m->at[i * 5]);
	micro_free(&got);
	free(m);
}

static void too_few(void **state)
{
	struct made *m = begin();

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		made_iteration(m, true);
		made_row(m, 0, USUAL);
	}
	assert_apart(m);
}

static void no_memory(void **state)
{
	struct made *m = accumulate(4, OPTIMIZER, 4, 0);
	struct micro got;
	long n = 1;

	(void)state;
	for (bool ok = false; !ok; n++) {
		fail_at = n;
		ok = micro_find(&got, &m->s, m->at, m->is_step, m->n);
		fail_at = 0;
		assert_int_equal(got.n, ok ? ITERATIONS / 4 : 0);
		micro_free(&got);
	}
	assert_true(n > 5);
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_the_optimizers_name),
		cmocka_unit_test(by_many_kernels),
		cmocka_unit_test(another_shape_is_no_optimizer),
		cmocka_unit_test(not_always_as_many),
		cmocka_unit_test(evaluations_lie_between),
		cmocka_unit_test(too_few),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
