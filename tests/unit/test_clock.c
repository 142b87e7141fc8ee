/* SPDX-License-Identifier: BSD-2-Clause */
/* Ticks to nanoseconds, with good anchors, few, and nonsense among them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "trace/clock.h"

#define START_TICKS 7000000000000ull
#define START_NS 5000000000ull

static struct clock *new_clock(uint32_t kind)
{
	struct gst_file_header h = { .clock = kind, .start_ticks = START_TICKS, .start_mono_ns = START_NS };
	struct clock *c;

	assert_int_equal(clock_new(&c, &h, NULL), ERR_NONE);
	return c;
}

static void add(struct clock *c, uint64_t ticks, uint64_t ns)
{
	struct gst_anchor a = { .ticks = START_TICKS + ticks, .mono_ns = START_NS + ns };

	assert_int_equal(clock_add(c, &a, NULL), ERR_NONE);
}

/* 3 GHz: three ticks a nanosecond. */
static struct clock *good_clock(void)
{
	struct clock *c = new_clock(GST_CLOCK_TSC);

	add(c, 30000000, 10000000);
	add(c, 300000000, 100000000);
	for (uint64_t s = 1; s <= 20; s++)
		add(c, s * 3000000000, s * 1000000000);
	return c;
}

static void assert_follows(struct clock *c)
{
	assert_int_equal(clock_ready(c, NULL), ERR_NONE);
	for (uint64_t ns = 0; ns < 40000000000; ns += 77777777)
		assert_in_range(clock_ns(c, START_TICKS + 3 * ns), START_NS + ns - 1, START_NS + ns + 1);
	assert_in_range(clock_ns(c, START_TICKS - 3000), START_NS - 1001, START_NS - 999);
	clock_free(c);
}

static void anchors_are_interpolated_and_extended(void **state)
{
	(void)state;
	assert_follows(good_clock());
}

static void nonsense_anchors_are_left_out(void **state)
{
	struct clock *c = good_clock();

	(void)state;
	add(c, 4500000000, 900000000000);
	add(c, 5500000000, 3);
	add(c, (uint64_t)-1 - START_TICKS, 1000);
	add(c, 0, UINT64_MAX / 2);
	add(c, 9000000000000000, 1000000000);
	assert_follows(c);
}

static void monotonic_ticks_are_nanoseconds(void **state)
{
	struct clock *c = new_clock(GST_CLOCK_MONOTONIC);

	(void)state;
	add(c, 5, 500);
	assert_int_equal(clock_ready(c, NULL), ERR_NONE);
	assert_int_equal(clock_ns(c, 123456789), 123456789);
	assert_int_equal(clock_ns(c, UINT64_MAX), CLOCK_MAX_NS);
	clock_free(c);
}

static void every_answer_is_in_range_and_in_order(void **state)
{
	struct clock *c = good_clock();
	int64_t last = 0;

	(void)state;
	assert_int_equal(clock_ready(c, NULL), ERR_NONE);
	for (uint64_t ticks = START_TICKS - 30000000000; ticks < START_TICKS + 90000000000; ticks += 99999937) {
		assert_true(clock_ns(c, ticks) >= last);
		last = clock_ns(c, ticks);
	}
	assert_in_range(clock_ns(c, 0), 0, CLOCK_MAX_NS);
	assert_in_range(clock_ns(c, UINT64_MAX), 0, CLOCK_MAX_NS);
	clock_free(c);
}

static void no_anchor_still_answers(void **state)
{
	struct clock *c = new_clock(GST_CLOCK_TSC);

	(void)state;
	assert_int_equal(clock_ready(c, NULL), ERR_NONE);
	assert_int_equal(clock_ns(c, START_TICKS), START_NS);
	clock_free(c);
}

/* ---- how far it may be off --------------------------------------------------------------------------------------------- */

static void add_wide(struct clock *c, double ticks, double ns, uint32_t width_ticks)
{
	struct gst_anchor a = { .ticks = START_TICKS + (uint64_t)ticks,
				.mono_ns = START_NS + (uint64_t)ns,
				.width_ticks = width_ticks };

	assert_int_equal(clock_add(c, &a, NULL), ERR_NONE);
}

/* Each second from there on, three ticks a nanosecond, and CLOCK_MONOTONIC as `truth` says. */
static void add_seconds(struct clock *c, double (*truth)(double s), double first, double last, uint32_t width_ticks)
{
	for (double s = first; s <= last; s++)
		add_wide(c, s * 3e9, truth(s) * 1e9, width_ticks);
}

/* What is said of an instant holds as long as it says. */
static void assert_stays(struct clock *c, int64_t ns)
{
	struct clock_error e = clock_error_at(c, ns);

	assert_int_equal(e.error_ns, clock_error_ns(c, ns));
	if (e.from_ns == e.until_ns)
		return;
	assert_true(e.from_ns <= ns && ns < e.until_ns);
	assert_int_equal(clock_error_ns(c, e.from_ns), e.error_ns);
	assert_int_equal(clock_error_ns(c, e.until_ns - 1), e.error_ns);
}

/* Nowhere off by more than is stated; the most that is stated, in nanoseconds. */
static int64_t assert_within_error(struct clock *c, double (*truth)(double s), double last)
{
	int64_t most = 0;

	for (double s = 0; s < last; s += 0.0137) {
		int64_t ns = clock_ns(c, START_TICKS + (uint64_t)(s * 3e9)), error = clock_error_ns(c, ns);
		double off = (double)(ns - (int64_t)START_NS) - truth(s) * 1e9;

		if (!(off <= (double)error + 2 && off >= -(double)error - 2))
			fail_msg("at %.3f s off by %.0f ns, stated %lld", s, off, (long long)error);
		assert_stays(c, ns);
		most = error > most ? error : most;
	}
	return most;
}

static double steady(double s)
{
	return s;
}

static void an_anchors_width_is_an_error(void **state)
{
	struct clock *c = new_clock(GST_CLOCK_TSC);

	(void)state;
	add_seconds(c, steady, 0, 20, 600); /* 200 ns */
	assert_int_equal(clock_ready(c, NULL), ERR_NONE);
	assert_in_range(clock_error_ns(c, START_NS + 5000000000), 99, 101);
	assert_in_range(clock_error_ns(c, START_NS + 5700000000), 99, 101);
	clock_free(c);
	c = new_clock(GST_CLOCK_MONOTONIC);
	add_seconds(c, steady, 0, 20, 600);
	assert_int_equal(clock_ready(c, NULL), ERR_NONE);
	assert_int_equal(clock_error_ns(c, START_NS + 5000000000), 0);
	clock_free(c);
}

static double slewed(double s)
{
	return s + (s > 5.31 ? 500e-6 * (s - 5.31) : 0) - (s > 9.82 ? 500e-6 * (s - 9.82) : 0);
}

static double slewed_for_a_moment(double s)
{
	return s + (s > 5.31 ? 500e-6 * (s - 5.31) : 0) - (s > 5.43 ? 500e-6 * (s - 5.43) : 0);
}

static void slewing_between_anchors_is_an_error(void **state)
{
	struct clock *c = new_clock(GST_CLOCK_TSC);

	(void)state;
	add_seconds(c, slewed, 0, 20, 0);
	assert_int_equal(clock_ready(c, NULL), ERR_NONE);
	assert_in_range(assert_within_error(c, slewed, 20), 100000, 500000);
	assert_int_equal(clock_error_ns(c, START_NS + 2500000000), 0); /* where there was none */
	clock_free(c);
	c = new_clock(GST_CLOCK_TSC);
	add_seconds(c, slewed_for_a_moment, 0, 20, 0);
	assert_int_equal(clock_ready(c, NULL), ERR_NONE);
	assert_in_range(assert_within_error(c, slewed_for_a_moment, 20), 30000, 61000);
	clock_free(c);
}

/* The recorder's thread did not run for seven seconds, and the process was killed two seconds behind the last one. */
static void missed_anchors(void **state)
{
	struct clock *c = new_clock(GST_CLOCK_TSC);

	(void)state;
	add_seconds(c, slewed, 0, 3, 0);
	add_seconds(c, slewed, 11, 18, 0);
	assert_int_equal(clock_ready(c, NULL), ERR_NONE);
	assert_true(assert_within_error(c, slewed, 20) <= 2500000);
	clock_free(c);
}

/* The counter goes on for an hour of which CLOCK_MONOTONIC knows nothing. */
static double suspended(double s)
{
	return s < 6.4 ? s : s < 3606.4 ? 6.4 : s - 3600;
}

static void a_suspended_machine(void **state)
{
	struct clock *c = new_clock(GST_CLOCK_TSC);

	(void)state;
	add_seconds(c, suspended, 0, 6, 60);
	add_seconds(c, suspended, 3607, 3630, 60);
	add(c, (uint64_t)5.5e9, 900000000000); /* nonsense besides */
	assert_int_equal(clock_ready(c, NULL), ERR_NONE);
	assert_in_range(assert_within_error(c, suspended, 3630), 900000000,
			1100000000); /* all of the second it happened in */
	assert_true(clock_error_ns(c, START_NS + 3500000000) <= 11);
	assert_true(clock_error_ns(c, START_NS + 12500000000) <= 11);
	clock_free(c);
}

/* There and back, to the nanosecond, whatever CLOCK_MONOTONIC was made to do. */
static void the_steady_scale_is_ticks(void **state)
{
	struct clock *c = new_clock(GST_CLOCK_TSC);
	double first;

	(void)state;
	add_seconds(c, slewed, 0, 20, 0);
	assert_int_equal(clock_ready(c, NULL), ERR_NONE);
	first = clock_steady(c, clock_ns(c, START_TICKS + 3000000000)) / 1e9;
	for (double s = 0.1; s < 25; s += 0.37) {
		int64_t ns = clock_ns(c, START_TICKS + (uint64_t)(s * 3e9));
		double steady_ns = clock_steady(c, ns);

		assert_true(steady_ns / (s * 1e9) > first - 1e-8 && steady_ns / (s * 1e9) < first + 1e-8);
		assert_in_range(clock_from_steady(c, steady_ns), ns - 1, ns + 1);
	}
	clock_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(anchors_are_interpolated_and_extended),
		cmocka_unit_test(nonsense_anchors_are_left_out),
		cmocka_unit_test(monotonic_ticks_are_nanoseconds),
		cmocka_unit_test(every_answer_is_in_range_and_in_order),
		cmocka_unit_test(no_anchor_still_answers),
		cmocka_unit_test(an_anchors_width_is_an_error),
		cmocka_unit_test(slewing_between_anchors_is_an_error),
		cmocka_unit_test(missed_anchors),
		cmocka_unit_test(a_suspended_machine),
		cmocka_unit_test(the_steady_scale_is_ticks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
