/* SPDX-License-Identifier: BSD-2-Clause */
/* What is usual of steps, and which are outliers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "steps/phases.h"

#define STEPS 64
#define MS 1000000

struct steps_made {
	struct step at[STEPS];
	struct step_idle idle[STEPS];
	size_t n;
};

/* One behind the other; so much of its length was idle, for this cause and another. */
static void add(struct steps_made *s, enum step_kind kind, int64_t length_ns, int64_t checkpoint_ns, int64_t sync_ns)
{
	int64_t begin = s->n ? s->at[s->n - 1].end_ns : 1000;

	s->at[s->n] = (struct step){ .begin_ns = begin, .end_ns = begin + length_ns, .kind = (uint8_t)kind };
	s->idle[s->n] = (struct step_idle){ .step = &s->at[s->n], .idle_ns = checkpoint_ns + sync_ns };
	s->idle[s->n].causes_ns[CAUSE_checkpoint] = checkpoint_ns;
	s->idle[s->n].causes_ns[CAUSE_sync_bubble] = sync_ns;
	s->n++;
}

static void assert_exact(const struct outlier *o)
{
	int64_t sum = o->busy_ns;

	for (int i = 0; i < CAUSE_COUNT; i++)
		sum += o->causes_ns[i];
	assert_int_equal(sum, o->excess_ns);
}

static void an_outlier_is_explained(void **state)
{
	struct steps_made s = { .n = 0 };
	struct steps_usual u;

	(void)state;
	for (int i = 0; i < 20; i++)
		add(&s, STEP, 10 * MS + i * 1000, 0, 2 * MS);
	add(&s, STEP_BETWEEN, 900 * MS, 0, 100 * MS); /* is none, and counts nowhere */
	add(&s, STEP, 17 * MS, 6 * MS, MS); /* less waiting than usual, and the device is at work for longer */
	assert_true(steps_usual_build(&u, s.idle, s.n));
	assert_int_equal(u.n, 21);
	assert_int_equal(u.median.length_ns, 10 * MS + 10 * 1000);
	assert_int_equal(u.median.causes_ns[CAUSE_sync_bubble], 2 * MS);
	assert_int_equal(u.median.causes_ns[CAUSE_checkpoint], 0);
	assert_int_equal(u.mean.causes_ns[CAUSE_checkpoint], 6 * MS / 21);
	assert_int_equal(u.mean.idle_ns, (20 * 2 * MS + 7 * MS) / 21);
	assert_int_equal(u.limit_ns, u.median.length_ns + u.median.length_ns / 10);
	assert_int_equal(u.n_outliers, 1);
	assert_int_equal(u.outliers[0].index, 21);
	assert_int_equal(u.outliers[0].excess_ns, 7 * MS - 10 * 1000);
	assert_int_equal(u.outliers[0].causes_ns[CAUSE_checkpoint], 6 * MS);
	assert_int_equal(u.outliers[0].causes_ns[CAUSE_sync_bubble], -MS);
	assert_int_equal(u.outliers[0].busy_ns, 2 * MS - 10 * 1000);
	assert_exact(&u.outliers[0]);
	steps_usual_free(&u);
}

/* Two shapes of batches: what lies within their spread is no outlier; nor is a tenth more where all are equal, nor 0.1 ms. */
static void what_varies_is_usual(void **state)
{
	struct steps_made s = { .n = 0 };
	struct steps_usual u;

	(void)state;
	for (int i = 0; i < 30; i++)
		add(&s, STEP, (i % 2 ? 10 : 14) * MS, 0, 0);
	add(&s, STEP, 29 * MS, 0, 0);
	assert_true(steps_usual_build(&u, s.idle, s.n));
	assert_int_equal(u.n_outliers, 0);
	steps_usual_free(&u);
	s.n = 0;
	for (int i = 0; i < 30; i++)
		add(&s, STEP, 10 * MS, 0, 0);
	add(&s, STEP, 11 * MS, 0, 0);
	assert_true(steps_usual_build(&u, s.idle, s.n));
	assert_int_equal(u.n_outliers, 0);
	s.at[30].end_ns++;
	assert_true(steps_usual_build(&u, s.idle, s.n));
	assert_int_equal(u.n_outliers, 1);
	steps_usual_free(&u);
	s.n = 0;
	for (int i = 0; i < 30; i++)
		add(&s, STEP, 20000, 0, 0);
	add(&s, STEP, 119000, 0, 0);
	assert_true(steps_usual_build(&u, s.idle, s.n));
	assert_int_equal(u.n_outliers, 0);
	steps_usual_free(&u);
}

static void few_steps_have_no_outliers(void **state)
{
	struct steps_made s = { .n = 0 };
	struct steps_usual u;

	(void)state;
	assert_true(steps_usual_build(&u, s.idle, 0));
	assert_int_equal(u.n, 0);
	for (int i = 0; i < LEAST_USUAL - 1; i++)
		add(&s, STEP, i == 3 ? 100 * MS : MS, 0, 0);
	assert_true(steps_usual_build(&u, s.idle, s.n));
	assert_int_equal(u.limit_ns, INT64_MAX);
	assert_int_equal(u.n_outliers, 0);
	add(&s, STEP, MS, 0, 0);
	assert_true(steps_usual_build(&u, s.idle, s.n));
	assert_int_equal(u.n_outliers, 1);
	steps_usual_free(&u);
}

/* A trace can say anything. */
static void lengths_without_end(void **state)
{
	struct steps_made s = { .n = 0 };
	struct steps_usual u;

	(void)state;
	for (int i = 0; i < 12; i++)
		add(&s, STEP, i % 2 ? INT64_C(1) << 58 : 0, 0, i % 2 ? INT64_C(1) << 57 : 0);
	assert_true(steps_usual_build(&u, s.idle, s.n));
	assert_int_equal(u.mean.length_ns, INT64_C(1) << 57);
	steps_usual_free(&u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_outlier_is_explained),
		cmocka_unit_test(what_varies_is_usual),
		cmocka_unit_test(few_steps_have_no_outliers),
		cmocka_unit_test(lengths_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
