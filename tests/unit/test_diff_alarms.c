/* SPDX-License-Identifier: BSD-2-Clause */
/* How often a diff of one program with itself says that it got worse, and how often one that did is found: over 1,000 pairs of simulated runs, through all
 * of the comparison. Steps vary by 10 % and not independently, runs by up to 3 %. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "diff/diff.h"
#include "tests/unit/diff_sides.h"
#include "tests/unit/fewer.h"

#define STEPS 120
#define PAIRS FEWER(60) /* of each kind */

static const double autocorrelations[] = { 0, 0.4, 0.8 };

static struct side_device program(double autocorrelation, double run_to_run, size_t steps)
{
	struct side_device d = side_usual(70, 10, 15, steps);

	d.kinds[0].of.leaf_ns[LEAF_COPY] = 5 * SIDE_MS;
	d.kinds[0].of.variation = 0.1;
	d.kinds[0].of.autocorrelation = autocorrelation;
	d.kinds[0].of.run_to_run = run_to_run;
	return d;
}

/* The exit status; *row: how that one was judged. */
static int status_of(const struct side_device *base, const struct side_device *now, size_t n, size_t row,
		     enum diff_change *change)
{
	struct diff_run runs[2 * SIDE_RUNS];
	struct diff_options o = { .seed = 1 };
	struct diff d;
	struct error e;
	int status;

	for (size_t i = 0; i < 2 * n; i++)
		side_run(&runs[i], i < n ? base : now, 1);
	assert_int_equal(diff_make(&d, runs, n, runs + n, n, &o, &e), ERR_NONE);
	status = diff_status(&d);
	*change = d.pairs[0].compared.row[row].change;
	diff_free(&d);
	for (size_t i = 0; i < 2 * n; i++)
		diff_run_free(&runs[i]);
	return status;
}

static void assert_alarms(size_t n, size_t steps, const double *run_to_run, size_t n_run_to_run, double at_most)
{
	int alarms = 0, all = 0;
	enum diff_change change;

	for (size_t a = 0; a < 3; a++)
		for (size_t r = 0; r < n_run_to_run; r++) {
			struct side_device same = program(autocorrelations[a], run_to_run[r], steps);

			for (int i = 0; i < PAIRS; i++, all++)
				alarms += status_of(&same, &same, n, ROW_STEP, &change) == 1;
		}
	print_message("%d of %d pairs, %zu runs of %zu steps a side, are said to be worse\n", alarms, all, n, steps);
	assert_true(alarms <= at_most * all);
}

static void five_runs_a_side_seldom_cry_wolf(void **state)
{
	(void)state;
	assert_alarms(5, STEPS, (const double[]){ 0, 0.01, 0.03 }, 3, 0.05);
}

static void one_run_a_side_seldom_cries_wolf(void **state)
{
	(void)state;
	assert_alarms(1, STEPS, (const double[]){ 0, 0.005, 0.01 }, 3, 0.08);
}

/* Of how few depend on each other little can be known. */
static void few_steps_seldom_cry_wolf(void **state)
{
	static const size_t steps[] = { 8, 12, 15, 16, 24, 40 };

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		assert_alarms(1, steps[i], (const double[]){ 0, 0.01 }, 2, 0.08);
		assert_alarms(5, steps[i], (const double[]){ 0.01 }, 1, 0.05);
	}
}

/* A checkpoint now and then, a hiccup: how many there are, and how long they take, is chance. */
static void long_steps_seldom_cry_wolf(void **state)
{
	static const double rare[] = { 0.004, 0.02, 0.08 };
	int alarms = 0, all = 0;
	enum diff_change change;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		for (size_t n = 1; n <= 5; n += 4) {
			struct side_device same = program(0.4, 0.005, STEPS);

			same.kinds[0].of.rare = rare[i];
			same.kinds[0].of.longer = 20;
			for (int k = 0; k < PAIRS; k++, all++)
				alarms += status_of(&same, &same, n, ROW_STEP, &change) == 1;
		}
	print_message("%d of %d pairs with long steps are said to be worse\n", alarms, all);
	assert_true(alarms <= 0.05 * all);
}

static void many_long_steps_are_found(void **state)
{
	int found = 0;

	(void)state;
	for (int k = 0; k < PAIRS; k++) {
		struct side_device base = program(0.4, 0.005, 300), now = base;
		enum diff_change change;

		now.kinds[0].of.rare = 0.1;
		now.kinds[0].of.longer = 10;
		found += status_of(&base, &now, 5, ROW_STEP, &change) == 1;
	}
	print_message("%d of %d pairs are found: long steps\n", found, PAIRS);
	assert_true(found >= 0.9 * PAIRS);
}

static void assert_found(double run_to_run, double more, enum cause_id cause, size_t row)
{
	struct side_device base = program(0.4, run_to_run, 300), now = base;
	int found = 0;

	now.kinds[0].of.leaf_ns[LEAF_CAUSES + cause] += more * 100 * SIDE_MS;
	for (int i = 0; i < PAIRS; i++) {
		enum diff_change change;

		found += status_of(&base, &now, 5, row, &change) == 1 && change == DIFF_REGRESSED;
	}
	print_message("%d of %d pairs are found: %.0f %% of the step\n", found, PAIRS, 100 * more);
	assert_true(found >= 0.9 * PAIRS);
}

static void a_tenth_of_the_step_is_found_in_its_cause(void **state)
{
	(void)state;
	assert_found(0.01, 0.1, CAUSE_host_lock, ROW_LEAVES + LEAF_CAUSES + CAUSE_host_lock);
	assert_found(0.01, 0.1, CAUSE_input_storage, ROW_LEAVES + LEAF_CAUSES + CAUSE_input_storage);
}

static void a_twentieth_of_the_step_is_found_as_idle_time(void **state)
{
	(void)state;
	assert_found(0.003, 0.05, CAUSE_host_compute, ROW_IDLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(five_runs_a_side_seldom_cry_wolf),
		cmocka_unit_test(one_run_a_side_seldom_cries_wolf),
		cmocka_unit_test(few_steps_seldom_cry_wolf),
		cmocka_unit_test(long_steps_seldom_cry_wolf),
		cmocka_unit_test(many_long_steps_are_found),
		cmocka_unit_test(a_tenth_of_the_step_is_found_in_its_cause),
		cmocka_unit_test(a_twentieth_of_the_step_is_found_as_idle_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
