/* SPDX-License-Identifier: BSD-2-Clause */
/* Ticks to nanoseconds, with good anchors, few, and nonsense among them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "clock.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(anchors_are_interpolated_and_extended),
		cmocka_unit_test(nonsense_anchors_are_left_out),
		cmocka_unit_test(monotonic_ticks_are_nanoseconds),
		cmocka_unit_test(every_answer_is_in_range_and_in_order),
		cmocka_unit_test(no_anchor_still_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
