/* SPDX-License-Identifier: BSD-2-Clause */
/* Two sides of runs, through alignment and statistics to the one verdict. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "diff/diff.h"
#include "tests/unit/diff_sides.h"
#include "tests/unit/fewer.h"

struct compared {
	struct diff_run runs[2 * SIDE_RUNS];
	size_t n_base, n_now;
	struct diff diff;
};

static void compare(struct compared *c, const char *rule)
{
	struct diff_options o = { .fail_on = &rule, .n_fail_on = rule != NULL, .seed = 1 };
	struct error e = { 0 };

	if (diff_make(&c->diff, c->runs, c->n_base, c->runs + c->n_base, c->n_now, &o, &e))
		fail_msg("%s", e.text);
	assert_non_null(c->diff.reason);
}

/* So many runs a side, of one device each. */
static void make(struct compared *c, const struct side_device *base, size_t n_base, const struct side_device *now,
		 size_t n_now)
{
	*c = (struct compared){ .n_base = n_base, .n_now = n_now };
	for (size_t i = 0; i < n_base + n_now; i++)
		side_run(&c->runs[i], i < n_base ? base : now, 1);
}

static void done(struct compared *c)
{
	diff_free(&c->diff);
	for (size_t i = 0; i < c->n_base + c->n_now; i++)
		diff_run_free(&c->runs[i]);
}

static void assert_verdict(const struct compared *c, enum diff_change verdict, int status, const char *says)
{
	if (c->diff.verdict != verdict || diff_status(&c->diff) != status || !strstr(c->diff.reason, says))
		fail_msg("%c, status %d: %s (not %c, %d, %s)", diff_sign(c->diff.verdict), diff_status(&c->diff),
			 c->diff.reason, diff_sign(verdict), status, says);
}

static void the_right_row_is_named_first(void **state)
{
	struct side_device base = side_usual(80, 10, 10, 200), now = side_usual(80, 25, 10, 200);
	struct compared c;

	(void)state;
	make(&c, &base, 1, &now, 1);
	compare(&c, NULL);
	assert_verdict(&c, DIFF_REGRESSED, 1, "input-storage takes 1");
	done(&c);
	make(&c, &now, 1, &base, 1);
	compare(&c, NULL);
	assert_verdict(&c, DIFF_IMPROVED, 0, "less of a step");
	done(&c);
	make(&c, &base, 3, &base, 3);
	compare(&c, NULL);
	assert_verdict(&c, DIFF_UNCHANGED, 0, "nothing changed, for sure, by more than 2.0 % of a step");
	done(&c);
}

static void what_changed_most_is_named_first(void **state)
{
	struct side_device base = side_usual(80, 10, 10, 200), now = side_usual(130, 10, 20, 200);
	struct compared c;

	(void)state;
	make(&c, &base, 1, &now, 1);
	compare(&c, NULL);
	assert_verdict(&c, DIFF_REGRESSED, 1, "compute takes ");
	assert_int_equal(c.diff.pairs[0].compared.row[ROW_LEAVES + LEAF_CAUSES + CAUSE_sync_bubble].change,
			 DIFF_REGRESSED);
	done(&c);
}

static void what_got_better_does_not_settle_what_may_be_worse(void **state)
{
	struct diff_device d = { .comparable = true, .band_ns = 2000000, .blurred_ns = 500000 };

	(void)state;
	d.row[ROW_LEAVES + LEAF_COMPUTE].change = DIFF_IMPROVED;
	d.row[ROW_IDLE].change = DIFF_INCONCLUSIVE;
	d.row[ROW_IDLE].high_ns = 5000000;
	assert_int_equal(diff_overall(&d, 1), DIFF_IMPROVED);
	d.row[ROW_IDLE].high_ns = 5000001;
	assert_int_equal(diff_overall(&d, 1), DIFF_INCONCLUSIVE);
	d.row[ROW_LEAVES + LEAF_COMM].change = DIFF_REGRESSED;
	assert_int_equal(diff_overall(&d, 1), DIFF_REGRESSED);
}

static void rules_decide_the_status(void **state)
{
	struct side_device base = side_usual(80, 10, 10, 200), now = side_usual(80, 25, 10, 200);
	static const struct {
		const char *rule;
		int status;
	} rules[] = { { "idle>+2%", 1 },           { "idle>+30%", 0 },
		      { "input-storage>+5ms", 1 }, { "input-storage>1s", 0 },
		      { "sync-bubble>+1%", 0 },    { "step > 5%, compute > 1%", 1 },
		      { "compute>+0%", 0 },        { "compute>1%,input-storage>1%", 1 } };

	(void)state;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		struct compared c;

		make(&c, &base, 1, &now, 1);
		compare(&c, rules[i].rule);
		assert_verdict(&c, DIFF_REGRESSED, rules[i].status, "input-storage");
		assert_int_equal(c.diff.n_fired, rules[i].status);
		done(&c);
	}
}

static void what_is_no_rule_is_refused(void **state)
{
	static const char *const bad[] = { "",
					   "idle",
					   "idle>",
					   "idle>+",
					   "idle>2",
					   "idle>2 %x",
					   "idel>2%",
					   ">2%",
					   "idle<2%",
					   "idle>-2%",
					   "idle>1e3ns",
					   "idle>+nan%",
					   "idle>0x2%",
					   "idle>2.%",
					   "idle>99999999999999%",
					   "idle>+2%,",
					   "idle>+2% step>+2%",
					   "idle>++2%" };
	struct error e;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct diff_options o = { .fail_on = &bad[i], .n_fail_on = 1 };
		struct diff d;

		if (diff_make(&d, NULL, 0, NULL, 0, &o, &e) != ERR_USAGE ||
		    !strstr(e.text, "is no rule: ROW>+AMOUNT") || !strstr(e.text, "ns, us, ms or s"))
			fail_msg("'%s' is a rule: %s", bad[i], e.text);
		diff_free(&d);
	}
}

/* ---- not comparable ---- */

static void other_devices(void **state)
{
	struct side_device devices[2] = { side_usual(80, 10, 10, 50), side_usual(80, 10, 10, 50) };
	struct compared c = { .n_base = 1, .n_now = 1 };

	(void)state;
	devices[1].number = 1;
	side_run(&c.runs[0], devices, 1);
	side_run(&c.runs[1], devices, 2);
	compare(&c, NULL);
	assert_verdict(&c, DIFF_NOT_COMPARABLE, 5, "base uses 1 device and new 2");
	assert_int_equal(c.diff.n_pairs, 0);
	done(&c);
}

static void another_tool(void **state)
{
	struct side_device base = side_usual(80, 10, 10, 50);
	struct compared c;

	(void)state;
	make(&c, &base, 1, &base, 1);
	c.runs[1].kind = "kineto";
	compare(&c, "idle>1%");
	assert_verdict(&c, DIFF_NOT_COMPARABLE, 5, "recorded by gpushim and new by Kineto");
	done(&c);
}

static void a_damaged_side(void **state)
{
	struct side_device base = side_usual(80, 10, 10, 50), now = side_usual(80, 90, 10, 50);
	struct compared c;

	(void)state;
	make(&c, &base, 1, &now, 1);
	c.runs[0].cut = "run.gst: byte 4176: record of 65535 bytes, 120 left";
	compare(&c, NULL);
	assert_verdict(&c, DIFF_NOT_COMPARABLE, 3, "base is not whole: run.gst: byte 4176");
	assert_true(c.diff.bad_input);
	done(&c);
}

static void other_work_in_a_step(void **state)
{
	struct side_device base = side_usual(80, 10, 10, 50), now = side_usual(40, 5, 5, 50);
	struct compared c;

	(void)state;
	now.kinds[0].key = 8;
	now.kernels[0] = "conv";
	now.kernels[1] = "relu";
	make(&c, &base, 1, &now, 1);
	compare(&c, NULL);
	assert_verdict(&c, DIFF_NOT_COMPARABLE, 5, "only 50 % of what a step launches is the same");
	for (size_t i = 0; i < DIFF_ROWS; i++)
		assert_int_equal(c.diff.pairs[0].compared.row[i].change, DIFF_NOT_COMPARABLE);
	done(&c);
	base.step_name = now.step_name = "step"; /* the program itself says what a step is */
	make(&c, &base, 1, &now, 1);
	compare(&c, NULL);
	assert_verdict(&c, DIFF_IMPROVED, 0, "less");
	done(&c);
	now.kernels[2] = now.kernels[3] = NULL; /* … but this is another program */
	make(&c, &base, 1, &now, 1);
	compare(&c, NULL);
	assert_verdict(&c, DIFF_NOT_COMPARABLE, 5, "only 0 %");
	done(&c);
}

static void a_kernel_more_in_each_step_is_a_change_of_the_code(void **state)
{
	struct side_device base = side_usual(80, 10, 10, 50), now = side_usual(95, 10, 10, 50);
	struct compared c;

	(void)state;
	now.kinds[0].key = 8;
	now.kernels[4] = "dropout";
	make(&c, &base, 1, &now, 1);
	compare(&c, NULL);
	assert_verdict(&c, DIFF_REGRESSED, 1, "compute takes");
	assert_false(c.diff.pairs[0].by_class);
	done(&c);
}

/* One device tells nothing: then the other's row is no verdict on the run. */
static void a_rule_says_nothing_where_a_device_is_not_comparable(void **state)
{
	struct side_device base[2] = { side_usual(80, 10, 10, 100), side_usual(80, 10, 10, 100) }, now[2];
	struct compared c = { .n_base = 1, .n_now = 1 };

	(void)state;
	base[1].number = 1;
	memcpy(now, base, sizeof(now));
	now[0].kinds[0].of.leaf_ns[LEAF_CAUSES + CAUSE_input_storage] = 40 * SIDE_MS;
	now[1].kinds[0].of.steps = 5;
	side_run(&c.runs[0], base, 2);
	side_run(&c.runs[1], now, 2);
	compare(&c, "idle>+2%");
	assert_int_equal(c.diff.n_fired, 1);
	assert_verdict(&c, DIFF_NOT_COMPARABLE, 5, "run has 5 steps");
	done(&c);
}

static void too_few_steps(void **state)
{
	struct side_device base = side_usual(80, 10, 10, 50), now = side_usual(80, 10, 10, 5);
	struct compared c;

	(void)state;
	make(&c, &base, 1, &now, 1);
	compare(&c, NULL);
	assert_verdict(&c, DIFF_NOT_COMPARABLE, 5, "run has 5 steps behind its warm-up, and it takes 8");
	done(&c);
}

/* No steps: each run is one, and several of them show how they vary. */
static void whole_runs(void **state)
{
	struct side_device base = side_usual(800, 100, 100, 1), now = side_usual(800, 300, 100, 1);
	struct compared c;

	(void)state;
	for (size_t n = 1; n <= 5; n += 4) {
		make(&c, &base, n, &now, n);
		for (size_t i = 0; i < 2 * n; i++)
			c.runs[i].devices[0].n_steps = c.runs[i].devices[0].n_classes = 0;
		compare(&c, NULL);
		if (n == 1)
			assert_verdict(&c, DIFF_NOT_COMPARABLE, 5, "no steps were found");
		else
			assert_verdict(&c, DIFF_REGRESSED, 1, "input-storage");
		done(&c);
	}
}

static void other_probes_leave_idle_time_comparable(void **state)
{
	struct side_device base = side_usual(80, 10, 10, 200), now = side_usual(80, 10, 30, 200);
	struct compared c;

	(void)state;
	now.kinds[0].of.leaf_ns[LEAF_CAUSES + CAUSE_host_lock] = 15 * SIDE_MS;
	make(&c, &base, 1, &now, 1);
	compare(&c, NULL);
	assert_int_equal(c.diff.pairs[0].n_appeared, 1);
	diff_free(&c.diff);
	c.runs[1].probes = "none";
	compare(&c, NULL);
	assert_verdict(&c, DIFF_REGRESSED, 1, "idle time takes");
	assert_int_equal(c.diff.pairs[0].compared.row[ROW_LEAVES + LEAF_CAUSES + CAUSE_sync_bubble].change,
			 DIFF_NOT_COMPARABLE);
	assert_int_equal(c.diff.pairs[0].n_appeared, 0);
	assert_non_null(strstr(c.diff.pairs[0].reason, "host probes are ebpf in base and none in new"));
	done(&c);
	make(&c, &base, 1, &now, 1);
	c.runs[1].timing = "bursts"; /* proves the same as edges */
	compare(&c, NULL);
	assert_verdict(&c, DIFF_REGRESSED, 1, "sync-bubble");
	done(&c);
	make(&c, &base, 1, &base, 1);
	c.runs[1].timing = "cupti";
	compare(&c, NULL);
	assert_verdict(&c, DIFF_NOT_COMPARABLE, 5, "only the step can be compared");
	done(&c);
}

/* ---- alignment ---- */

static void devices_are_found_by_rank_then_uuid(void **state)
{
	struct side_device base[2] = { side_usual(80, 10, 10, 100), side_usual(80, 10, 10, 100) }, now[2];
	struct compared c = { .n_base = 1, .n_now = 1 };

	(void)state;
	base[1].number = 1;
	base[0].uuid = "GPU-a";
	base[1].uuid = "GPU-b";
	memcpy(now, base, sizeof(now));
	now[0].uuid = "GPU-b";
	now[1].uuid = "GPU-a";
	now[1].kinds[0].of.leaf_ns[LEAF_CAUSES + CAUSE_input_storage] = 40 * SIDE_MS;
	side_run(&c.runs[0], base, 2);
	side_run(&c.runs[1], now, 2);
	compare(&c, NULL);
	assert_int_equal(c.diff.pairs[0].new_device, 1);
	assert_verdict(&c, DIFF_REGRESSED, 1, "on device 0");
	diff_free(&c.diff);
	for (int i = 0; i < 2; i++) {
		c.runs[0].devices[i].rank = (uint32_t)i;
		c.runs[1].devices[i].rank = (uint32_t)i;
	}
	compare(&c, NULL);
	assert_int_equal(c.diff.pairs[0].new_device, 0);
	assert_verdict(&c, DIFF_REGRESSED, 1, "on device 1");
	done(&c);
}

/* Long and short steps, each as ever: only there are more long ones. */
static void kinds_of_steps_are_compared_each_with_its_own(void **state)
{
	struct side_device base = side_usual(80, 10, 10, 100), now;
	struct compared c;

	(void)state;
	base.n_kinds = 2;
	base.kinds[1] = base.kinds[0];
	base.kinds[1].key = 9;
	base.kinds[1].of.leaf_ns[LEAF_COMPUTE] = 200 * SIDE_MS;
	now = base;
	now.kinds[0].of.steps = 40;
	now.kinds[1].of.steps = 160;
	make(&c, &base, 1, &now, 1);
	compare(&c, NULL);
	assert_true(c.diff.pairs[0].by_class);
	assert_int_equal(c.diff.pairs[0].n_classes, 2);
	assert_verdict(&c, DIFF_UNCHANGED, 0, "nothing changed");
	done(&c);
	now.kinds[1].of.leaf_ns[LEAF_CAUSES + CAUSE_sync_bubble] = 40 * SIDE_MS;
	make(&c, &base, 1, &now, 1);
	compare(&c, NULL);
	assert_verdict(&c, DIFF_REGRESSED, 1, "sync-bubble takes 1");
	done(&c);
}

/* ---- what holds whatever the runs ---- */

static void assert_rows_sum(const struct diff_pair *p)
{
	int64_t base = 0, now = 0, delta = 0, idle = 0;

	for (size_t i = 0; i < DIFF_LEAVES; i++) {
		const struct diff_compared *r = &p->compared.row[ROW_LEAVES + i];

		assert_int_equal(r->delta_ns, r->new_ns - r->base_ns);
		assert_true(r->low_ns <= r->delta_ns && r->high_ns >= r->delta_ns);
		base += r->base_ns;
		now += r->new_ns;
		delta += r->delta_ns;
		idle += i >= LEAF_CAUSES ? r->delta_ns : 0;
	}
	assert_int_equal(base, p->compared.row[ROW_STEP].base_ns);
	assert_int_equal(now, p->compared.row[ROW_STEP].new_ns);
	assert_int_equal(delta, p->compared.row[ROW_STEP].delta_ns);
	assert_int_equal(idle, p->compared.row[ROW_IDLE].delta_ns);
}

static void random_device(struct side_device *d, uint32_t number)
{
	*d = (struct side_device){ .number = number, .rank = GST_NONE, .kernels = { "gemm" }, .step_name = "step" };
	d->n_kinds = 1 + (size_t)(simulated_uniform() * SIDE_KINDS);
	for (size_t k = 0; k < d->n_kinds; k++) {
		d->kinds[k] = (struct side_kind){
			.key = k + 1, .of = { .variation = 0.2, .steps = 8 + (size_t)(simulated_uniform() * 40) }
		};
		for (size_t i = 0; i < DIFF_LEAVES; i++)
			d->kinds[k].of.leaf_ns[i] = simulated_uniform() < 0.4 ? 1 + simulated_uniform() * 100000 : 0;
		d->kinds[k].of.leaf_ns[LEAF_COMPUTE] += 1000;
	}
}

static void rows_sum_whatever_the_runs(void **state)
{
	size_t by_class = 0;

	(void)state;
	for (int round = 0; round < FEWER(150); round++) {
		struct compared c = { .n_base = 1 + (size_t)(simulated_uniform() * 4),
				      .n_now = 1 + (size_t)(simulated_uniform() * 4) };
		struct side_device base[3], now[3];
		size_t n = 1 + (size_t)(simulated_uniform() * 3);

		for (uint32_t i = 0; i < n; i++) {
			random_device(&base[i], i);
			random_device(&now[i], i);
		}
		for (size_t i = 0; i < c.n_base + c.n_now; i++)
			side_run(&c.runs[i], i < c.n_base ? base : now, n);
		compare(&c, NULL);
		assert_int_equal(c.diff.n_pairs, n);
		for (size_t i = 0; i < n; i++) {
			assert_rows_sum(&c.diff.pairs[i]);
			by_class += c.diff.pairs[i].by_class;
		}
		done(&c);
	}
	assert_true(by_class > FEWER(150) / 15);
}

static void swapped_sides_mirror(void **state)
{
	struct side_device base = side_usual(80, 10, 10, 200), now = side_usual(70, 35, 10, 200);
	struct diff_options o = { .seed = 1 };
	struct compared c;
	struct diff back;
	struct error e;

	(void)state;
	make(&c, &base, 2, &now, 2);
	compare(&c, NULL);
	assert_int_equal(diff_make(&back, c.runs + 2, 2, c.runs, 2, &o, &e), ERR_NONE);
	for (size_t i = 0; i < DIFF_ROWS; i++) {
		const struct diff_compared *a = &c.diff.pairs[0].compared.row[i], *b = &back.pairs[0].compared.row[i];

		assert_int_equal(a->delta_ns, -b->delta_ns);
		assert_int_equal(a->low_ns, -b->high_ns);
		assert_true((a->change == DIFF_REGRESSED) == (b->change == DIFF_IMPROVED));
	}
	diff_free(&back);
	done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_right_row_is_named_first),
		cmocka_unit_test(what_changed_most_is_named_first),
		cmocka_unit_test(what_got_better_does_not_settle_what_may_be_worse),
		cmocka_unit_test(rules_decide_the_status),
		cmocka_unit_test(a_rule_says_nothing_where_a_device_is_not_comparable),
		cmocka_unit_test(what_is_no_rule_is_refused),
		cmocka_unit_test(other_devices),
		cmocka_unit_test(another_tool),
		cmocka_unit_test(a_damaged_side),
		cmocka_unit_test(other_work_in_a_step),
		cmocka_unit_test(a_kernel_more_in_each_step_is_a_change_of_the_code),
		cmocka_unit_test(too_few_steps),
		cmocka_unit_test(whole_runs),
		cmocka_unit_test(other_probes_leave_idle_time_comparable),
		cmocka_unit_test(devices_are_found_by_rank_then_uuid),
		cmocka_unit_test(kinds_of_steps_are_compared_each_with_its_own),
		cmocka_unit_test(rows_sum_whatever_the_runs),
		cmocka_unit_test(swapped_sides_mirror),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
