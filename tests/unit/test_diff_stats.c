/* SPDX-License-Identifier: BSD-2-Clause */
/* The statistics of a diff, against figures from elsewhere and against what must hold whatever the runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "diff/diff_blocks.h"
#include "diff/diff_student.h"
#include "diff/diff_verdict.h"
#include "tests/unit/diff_simulated.h"

static void assert_near(double value, double expected, double within)
{
	if (fabs(value - expected) > within)
		fail_msg("%.6g is not %.6g (± %g)", value, expected, within);
}

/* ---- Student's t ---- */

/* From the usual tables of critical values. */
static void quantiles_are_those_of_tables(void **state)
{
	static const struct {
		double p, df, t;
	} rows[] = { { 0.025, 1, 12.7062 },       { 0.025, 2, 4.3027 },        { 0.025, 8, 2.3060 },
		     { 0.05, 10, 1.8125 },        { 0.005, 30, 2.7500 },       { 0.001, 8, 4.5008 },
		     { 0.025, 1000000, 1.95997 }, { 0.025, INFINITY, 1.95996 } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_near(student_quantile(rows[i].p, rows[i].df), rows[i].t, 0.0001);
		assert_near(student_above(rows[i].t, rows[i].df), rows[i].p, 0.00001);
		assert_near(student_above(-rows[i].t, rows[i].df), 1 - rows[i].p, 0.00001);
	}
	assert_near(student_above(0, 4.5), 0.5, 1e-12);
}

/* ---- how long a block is ---- */

static double mean_length(double autocorrelation, size_t n)
{
	double *values = calloc(n, sizeof(*values)), sum = 0, last = 0;

	for (int round = 0; round < 20; round++) {
		for (size_t i = 0; i < n; i++)
			values[i] = simulated_follow(&last, autocorrelation);
		sum += (double)diff_block_length(values, n);
	}
	free(values);
	return sum / 20;
}

/* For an autoregressive series the best length is known: ((2 a / (1 - a^2))^2 * 3/2 * n)^(1/3). */
static void blocks_are_as_long_as_steps_depend_on_each_other(void **state)
{
	(void)state;
	assert_in_range((uintmax_t)mean_length(0, 1000), 1, 6);
	assert_near(mean_length(0.5, 1000), 14, 5);  /* 13.9 */
	assert_near(mean_length(0.8, 1000), 31, 11); /* 31.0 */
}

static void lengths_of_odd_series(void **state)
{
	double same[64] = { 0 }, turns[64];

	(void)state;
	assert_int_equal(diff_block_length(same, 64), 1);
	assert_int_equal(diff_block_length(same, 1), 1);
	for (size_t i = 0; i < 64; i++)
		turns[i] = i % 2 ? 1 : -1;
	assert_in_range(diff_block_length(turns, 64), 1, 16);
}

/* ---- the typical step ---- */

/* Of 8 steps the four in the middle count. */
static void typical_is_the_middle_half(void **state)
{
	int64_t compute[8] = { 100, 900, 110, 120, 90, 130, 5000, 80 }, idle[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct diff_series s = { .n = 8, .leaf = { [LEAF_COMPUTE] = compute, [LEAF_CAUSES + CAUSE_allocator] = idle } };
	struct diff_typical t;

	(void)state; /* by length: 88 95 101 113 | 124 136 902 5007: in the middle 101, 113, 124, 136 */
	assert_true(diff_typical_of(&t, &s, 1));
	assert_int_equal(t.row_ns[ROW_STEP], 118);                  /* 474 / 4, rounded down */
	assert_int_equal(t.row_ns[ROW_LEAVES + LEAF_COMPUTE], 115); /* 460 / 4 */
	assert_int_equal(t.row_ns[ROW_IDLE], 3);                    /* 14 / 4 */
	assert_int_equal(t.tail_ns, 6566 / 8 - 118);
	assert_int_equal(t.n, 8);
}

static void rows_sum_whatever_they_are(void **state)
{
	(void)state;
	for (int round = 0; round < 300; round++) {
		struct simulated_program p = { .variation = 0.3, .steps = 1 + (size_t)(simulated_uniform() * 40) };
		struct diff_typical runs[3], others[2];
		struct diff_device d;
		int64_t causes = 0, leaves = 0, deltas = 0;

		for (size_t i = 0; i < DIFF_LEAVES; i++)
			p.leaf_ns[i] = simulated_uniform() < 0.5 ? 1 + simulated_uniform() * 1000 : 0;
		for (size_t i = 0; i < 5; i++) {
			struct diff_series s;

			simulated_run(&s, &p);
			assert_true(diff_typical_of(i < 3 ? &runs[i] : &others[i - 3], &s, 1));
			diff_series_free(&s);
		}
		diff_compare(&d, &(struct diff_side){ .runs = runs, .n = 3 },
			     &(struct diff_side){ .runs = others, .n = 2 });
		for (size_t i = 0; i < DIFF_LEAVES; i++) {
			leaves += d.row[ROW_LEAVES + i].base_ns;
			deltas += d.row[ROW_LEAVES + i].delta_ns;
			causes += i >= LEAF_CAUSES ? d.row[ROW_LEAVES + i].delta_ns : 0;
			assert_int_equal(d.row[ROW_LEAVES + i].delta_ns,
					 d.row[ROW_LEAVES + i].new_ns - d.row[ROW_LEAVES + i].base_ns);
		}
		assert_int_equal(leaves, d.row[ROW_STEP].base_ns);
		assert_int_equal(deltas, d.row[ROW_STEP].delta_ns);
		assert_int_equal(causes, d.row[ROW_IDLE].delta_ns);
	}
}

static void the_same_seed_gives_the_same(void **state)
{
	struct simulated_program p = {
		.leaf_ns = { 1e6, 2e5 }, .variation = 0.1, .autocorrelation = 0.5, .steps = 100
	};
	struct diff_typical a, b, other;
	struct diff_series s;

	(void)state;
	simulated_run(&s, &p);
	assert_true(diff_typical_of(&a, &s, 7) && diff_typical_of(&b, &s, 7) && diff_typical_of(&other, &s, 8));
	assert_memory_equal(&a, &b, sizeof(a));
	assert_memory_equal(a.row_ns, other.row_ns, sizeof(a.row_ns));
	assert_true(a.error_ns[ROW_STEP] != other.error_ns[ROW_STEP]);
	diff_series_free(&s);
}

/* What the bootstrap says a run's typical step may be off by is what runs are off by: of independent steps sigma * sqrt(1.19 / n). */
static void errors_are_what_runs_differ_by(void **state)
{
	static const double autocorrelations[] = { 0, 0.5, 0.8 };

	(void)state;
	for (size_t k = 0; k < 3; k++) {
		struct simulated_program p = {
			.leaf_ns = { 1e9 }, .variation = 0.1, .autocorrelation = autocorrelations[k], .steps = 600
		};
		double sum = 0, squares = 0, said = 0;

		for (int i = 0; i < 150; i++) {
			struct diff_typical t;
			struct diff_series s;
			double off;

			simulated_run(&s, &p);
			assert_true(diff_typical_of(&t, &s, 1));
			diff_series_free(&s);
			off = (double)t.row_ns[ROW_STEP] / 1e9 - 1;
			sum += off;
			squares += off * off;
			said += t.error_ns[ROW_STEP] / 1e9 / 150;
		}
		squares = sqrt((squares - sum * sum / 150) / 149);
		assert_in_range((uintmax_t)(100 * said / squares), 70, 130);
	}
}

/* ---- verdicts ---- */

static struct diff_typical run_of(int64_t compute_ns, int64_t idle_ns, double error_ns)
{
	struct diff_typical t = { .n = 100, .blocks = 50 };

	t.row_ns[ROW_LEAVES + LEAF_COMPUTE] = compute_ns;
	t.row_ns[ROW_LEAVES + LEAF_CAUSES + CAUSE_allocator] = t.row_ns[ROW_IDLE] = idle_ns;
	t.row_ns[ROW_STEP] = compute_ns + idle_ns;
	for (size_t i = 0; i < DIFF_ROWS; i++)
		t.error_ns[i] = t.row_ns[i] ? error_ns : 0;
	return t;
}

static struct diff_device judged(const struct diff_typical *base, size_t n_base, const struct diff_typical *now,
				 size_t n_now)
{
	struct diff_device d;

	diff_compare(&d, &(struct diff_side){ .runs = base, .n = n_base },
		     &(struct diff_side){ .runs = now, .n = n_now });
	assert_true(diff_judge(&d, 1));
	return d;
}

static void one_run_a_side(void **state)
{
	struct diff_typical base = run_of(900000, 100000, 1000), slower = run_of(900000, 160000, 1000),
			    bit = run_of(900000, 128000, 1000);
	struct diff_device d = judged(&base, 1, &slower, 1);

	(void)state;
	assert_false(d.variance_known);
	assert_int_equal(d.band_ns, 34142); /* 2 % and sqrt(2) of 1 % */
	assert_int_equal(d.row[ROW_IDLE].delta_ns, 60000);
	assert_int_equal(d.row[ROW_IDLE].change, DIFF_REGRESSED);
	assert_int_equal(d.row[ROW_LEAVES + LEAF_CAUSES + CAUSE_allocator].change, DIFF_REGRESSED);
	assert_int_equal(d.row[ROW_LEAVES + LEAF_COMPUTE].change, DIFF_UNCHANGED);
	assert_int_equal(d.row[ROW_LEAVES + LEAF_COMM].change, DIFF_UNCHANGED);
	assert_false(d.row[ROW_LEAVES + LEAF_COMM].present);
	assert_int_equal(diff_overall(&d, 1), DIFF_REGRESSED);
	d = judged(&slower, 1, &base, 1);
	assert_int_equal(diff_overall(&d, 1), DIFF_IMPROVED);
	d = judged(&base, 1, &bit, 1); /* within what two runs differ by */
	assert_int_equal(diff_overall(&d, 1), DIFF_UNCHANGED);
	assert_in_range(d.row[ROW_IDLE].low_ns, 24000, 26000); /* ± 1.98 sqrt(2) 1000 */
	assert_in_range(d.row[ROW_IDLE].high_ns, 30000, 32000);
}

static void several_runs_a_side_vary_by_themselves(void **state)
{
	struct diff_typical base[5], now[5];
	struct diff_device d;

	(void)state;
	for (int i = 0; i < 5; i++) {
		base[i] = run_of(900000, 100000 + 2000 * (i - 2), 10);
		now[i] = run_of(900000, 140000 + 2000 * (i - 2), 10);
	}
	d = judged(base, 5, now, 5);
	assert_true(d.variance_known);
	assert_int_equal(d.band_ns, 20000);
	assert_int_equal(d.row[ROW_IDLE].change, DIFF_REGRESSED);
	assert_in_range(d.row[ROW_IDLE].low_ns, 35387, 35389); /* s = 3162.3, error = 2000, t(8) = 2.306 */
	for (int i = 0; i < 5; i++) {                          /* the same difference, runs all over the place */
		base[i] = run_of(900000, 100000 + 30000 * (i - 2), 10);
		now[i] = run_of(900000, 140000 + 30000 * (i - 2), 10);
	}
	d = judged(base, 5, now, 5);
	assert_int_equal(d.row[ROW_IDLE].change, DIFF_INCONCLUSIVE);
	assert_int_equal(diff_overall(&d, 1), DIFF_INCONCLUSIVE);
}

static void runs_that_happen_to_agree_are_as_unsure_as_their_steps(void **state)
{
	struct diff_typical base[2] = { run_of(900000, 100000, 20000), run_of(900000, 100000, 20000) },
			    now[2] = { run_of(900000, 130000, 20000), run_of(900000, 130000, 20000) };
	struct diff_device d = judged(base, 2, now, 2);

	(void)state;
	assert_int_equal(d.row[ROW_IDLE].change, DIFF_INCONCLUSIVE);
	assert_true(d.row[ROW_IDLE].low_ns < 0);
}

/* The one sure row of many is held against their number. */
static void rows_are_corrected_for_their_number(void **state)
{
	struct diff_typical base = run_of(900000, 100000, 8000), now = run_of(900000, 160000, 8000);
	struct diff_device one = judged(&base, 1, &now, 1), many[16];

	(void)state;
	assert_int_equal(one.row[ROW_LEAVES + LEAF_CAUSES + CAUSE_allocator].change,
			 DIFF_INCONCLUSIVE); /* p = 0.012 of 4 rows */
	base = run_of(900000, 100000, 5000);
	now = run_of(900000, 160000, 5000);
	for (int i = 0; i < 16; i++) {
		struct diff_typical same = base;

		diff_compare(&many[i], &(struct diff_side){ .runs = &base, .n = 1 },
			     &(struct diff_side){ .runs = i == 3 ? &now : &same, .n = 1 });
	}
	one = judged(&base, 1, &now, 1);
	assert_int_equal(one.row[ROW_IDLE].change, DIFF_REGRESSED); /* p = 0.0003 */
	assert_true(diff_judge(many, 16));
	assert_int_equal(many[3].row[ROW_IDLE].change, DIFF_REGRESSED);
	assert_int_equal(many[2].row[ROW_IDLE].change, DIFF_UNCHANGED);
	now = run_of(900000, 150000, 5000);
	diff_compare(&many[3], &(struct diff_side){ .runs = &base, .n = 1 },
		     &(struct diff_side){ .runs = &now, .n = 1 }); /* p = 0.014 */
	assert_true(diff_judge(many, 16));
	assert_int_equal(many[3].row[ROW_IDLE].change, DIFF_INCONCLUSIVE);
}

static void too_few_steps_say_nothing(void **state)
{
	struct diff_typical base = run_of(900000, 100000, 100), now = run_of(900000, 300000, 100);
	struct diff_device d;

	(void)state;
	now.n = DIFF_LEAST_STEPS - 1;
	d = judged(&base, 1, &now, 1);
	assert_int_equal(d.row[ROW_IDLE].change, DIFF_NOT_COMPARABLE);
	assert_int_equal(diff_overall(&d, 1), DIFF_NOT_COMPARABLE);
	assert_int_equal(diff_overall(NULL, 0), DIFF_NOT_COMPARABLE);
	assert_int_equal(diff_sign(DIFF_NOT_COMPARABLE), 'x');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles_are_those_of_tables),
		cmocka_unit_test(blocks_are_as_long_as_steps_depend_on_each_other),
		cmocka_unit_test(lengths_of_odd_series),
		cmocka_unit_test(typical_is_the_middle_half),
		cmocka_unit_test(rows_sum_whatever_they_are),
		cmocka_unit_test(the_same_seed_gives_the_same),
		cmocka_unit_test(errors_are_what_runs_differ_by),
		cmocka_unit_test(one_run_a_side),
		cmocka_unit_test(several_runs_a_side_vary_by_themselves),
		cmocka_unit_test(runs_that_happen_to_agree_are_as_unsure_as_their_steps),
		cmocka_unit_test(rows_are_corrected_for_their_number),
		cmocka_unit_test(too_few_steps_say_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
