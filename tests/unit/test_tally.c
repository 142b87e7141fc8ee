/* SPDX-License-Identifier: BSD-2-Clause */
/* Durations that are counted have the median that sorting them finds; and what is looked for from anywhere is found where it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tools/alloc.h"
#include "tools/tally.h"

static int64_t random_ns(unsigned *seed, unsigned range)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 31 ? (int64_t)(*seed >> 8) % range : (int64_t)(*seed >> 8) % 100 - 50;
}

static void test_median(void **state)
{
	unsigned seed = 7;

	(void)state;
	for (unsigned round = 0; round < 300; round++) {
		unsigned n = round % 23, range = round % 2 ? 64 : TALLY_SHORT * 2;
		struct tally t = { 0 };
		int64_t all[23];

		for (unsigned i = 0; i < n; i++) {
			all[i] = random_ns(&seed, range);
			assert_true(tally_add(&t, all[i]));
		}
		assert_int_equal(t.n, n);
		assert_int_equal(tally_median(&t), array_median(all, n));
		tally_free(&t);
		assert_int_equal(tally_median(&t), 0);
	}
}

static void test_far_apart(void **state)
{
	struct tally t = { 0 };

	(void)state;
	assert_true(tally_add(&t, INT64_MIN) && tally_add(&t, INT64_MAX));
	assert_int_equal(tally_median(&t), -1);
	assert_true(tally_add(&t, 5));
	assert_int_equal(tally_median(&t), 5);
	tally_free(&t);
}

static bool is_less(const void *element, const void *key)
{
	return *(const int *)element < *(const int *)key;
}

static void test_first_near(void **state)
{
	int sorted[40];

	(void)state;
	for (int i = 0; i < 40; i++)
		sorted[i] = i / 3 * 2;
	for (size_t n = 0; n <= 40; n++)
		for (int key = -1; key < 30; key++)
			for (size_t near = 0; near < 45; near++)
				assert_int_equal(array_first_near(sorted, n, sizeof(*sorted), is_less, &key, near),
						 array_first(sorted, n, sizeof(*sorted), is_less, &key));
	assert_int_equal(array_first_near(NULL, 0, sizeof(*sorted), is_less, &(int){ 1 }, 7), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_median),
		cmocka_unit_test(test_far_apart),
		cmocka_unit_test(test_first_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
