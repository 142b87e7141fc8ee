/* SPDX-License-Identifier: BSD-2-Clause */
/* What a start takes the device itself, of what starts took in a run. */
#include "timeline/latency.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define US INT64_C(1000)
#define N 16

/* So many take `own`, the others `late`; in no order. */
static int64_t own_of(size_t n, size_t quick, int64_t own, int64_t late)
{
	int64_t seen[N];

	for (size_t i = 0; i < n; i++)
		seen[i] = (i * 7) % n < quick ? own : late;
	return latency_own(seen, n);
}

static void test_a_few_that_were_held_up(void **state)
{
	(void)state;
	assert_int_equal(own_of(N, 5, 5 * US, 2000 * US), 5 * US);
}

static void test_most_were_held_up(void **state)
{
	(void)state;
	assert_int_equal(own_of(N, 3, 40 * US, 2000 * US), 40 * US);
	assert_int_equal(own_of(N, 1, 5 * US, 2000 * US), 25 * US); /* an edge tells no less */
}

static void test_a_device_that_is_slow(void **state)
{
	(void)state;
	assert_int_equal(own_of(N, 1, 700 * US, 800 * US), 800 * US);
	assert_int_equal(own_of(N, 1, 5 * US, 240 * US), 240 * US);
}

static void test_too_few(void **state)
{
	(void)state;
	assert_int_equal(own_of(3, 1, 5 * US, 2000 * US), 0);
	assert_int_equal(latency_own(NULL, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_few_that_were_held_up),
		cmocka_unit_test(test_most_were_held_up),
		cmocka_unit_test(test_a_device_that_is_slow),
		cmocka_unit_test(test_too_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
