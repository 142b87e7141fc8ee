/* SPDX-License-Identifier: BSD-2-Clause */
/* Medians: of few values, of an even number of them, of any that a file may hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "alloc.h"

static void test_medians(void **state)
{
	int64_t odd[] = { 9, -3, 4 }, even[] = { 10, 1, 4, 100 }, one[] = { 7 };
	double odd_real[] = { 9, -3, 4 }, even_real[] = { 10, 1, 4.5, 100 };

	(void)state;
	assert_int_equal(array_median(NULL, 0), 0);
	assert_int_equal(array_median(one, 1), 7);
	assert_int_equal(array_median(odd, 3), 4);
	assert_int_equal(odd[0], -3);
	assert_int_equal(array_median(even, 4), 7);
	assert_int_equal(even[3], 100);
	assert_int_equal(array_median_low(NULL, 0), 0);
	assert_int_equal(array_median_low(odd, 3), 4);
	assert_int_equal(array_median_low(even, 4), 4);
	assert_true(array_median_double(NULL, 0) == 0);
	assert_true(array_median_double(odd_real, 3) == 4);
	assert_true(array_median_double(even_real, 4) == 7.25);
}

static void test_far_apart(void **state)
{
	int64_t ends[] = { INT64_MAX, INT64_MIN }, low[] = { INT64_MIN, INT64_MIN + 2 };
	double large[] = { 1.5e308, 1.5e308 };

	(void)state;
	assert_int_equal(array_median(ends, 2), -1);
	assert_int_equal(array_median(low, 2), INT64_MIN + 1);
	assert_int_equal(array_median_low(ends, 2), INT64_MIN);
	assert_true(array_median_double(large, 2) == 1.5e308);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_medians),
		cmocka_unit_test(test_far_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
