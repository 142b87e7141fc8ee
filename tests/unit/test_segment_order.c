/* SPDX-License-Identifier: BSD-2-Clause */
/* The order in which the segments of a file are read: each behind the one it continues. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

#include "read/segment_order.h"
#include "shim/format.h"

static void becomes(uint32_t *segments, const uint32_t *previous, size_t n, const uint32_t *expected)
{
	assert_true(segment_order(segments, previous, n));
	assert_memory_equal(segments, expected, n * sizeof(*segments));
}

static void in_order_it_stays(void **state)
{
	uint32_t segments[] = { 0, 1, 2, 5 }, previous[] = { GST_NONE, GST_NONE, 0, 1 };

	(void)state;
	becomes(segments, previous, 4, (const uint32_t[]){ 0, 1, 2, 5 });
	becomes(segments, previous, 0, NULL);
}

static void one_made_in_advance_comes_behind_what_it_continues(void **state)
{
	uint32_t segments[] = { 0, 2, 3, 7, 9 }, previous[] = { GST_NONE, 9, GST_NONE, 2, 0 };

	(void)state;
	becomes(segments, previous, 5, (const uint32_t[]){ 0, 9, 2, 3, 7 });
}

static void what_continues_a_lost_one_begins_anew(void **state)
{
	uint32_t segments[] = { 4, 6, 8 }, previous[] = { 5, 100, 6 };

	(void)state;
	becomes(segments, previous, 3, (const uint32_t[]){ 4, 6, 8 });
}

static void a_circle_is_cut(void **state)
{
	uint32_t segments[] = { 1, 2, 3 }, previous[] = { 2, 3, 1 }, itself[] = { 1, 1, 3 };

	(void)state;
	becomes(segments, previous, 3, (const uint32_t[]){ 3, 2, 1 });
	memcpy(segments, (const uint32_t[]){ 1, 2, 3 }, sizeof(segments));
	becomes(segments, itself, 3, (const uint32_t[]){ 1, 2, 3 });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order_it_stays),
		cmocka_unit_test(one_made_in_advance_comes_behind_what_it_continues),
		cmocka_unit_test(what_continues_a_lost_one_begins_anew),
		cmocka_unit_test(a_circle_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
