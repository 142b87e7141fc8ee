/* SPDX-License-Identifier: BSD-2-Clause */
/* Medians: of few values, of an even number of them, of any that a file may hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tools/alloc.h"

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

struct pair {
	int64_t key;
	uint32_t place; /* before it was sorted */
	uint32_t more[3];
};

static int by_key(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

/* A few threads' records, in stretches: in order each, and of several at once. */
static size_t fill(struct pair *at, size_t n, unsigned threads, unsigned length, unsigned jump)
{
	int64_t now[8] = { 0 };

	for (size_t i = 0; i < n; i++) {
		unsigned thread = i / length % threads;

		now[thread] += rand() % jump;
		at[i] = (struct pair){ now[thread], (uint32_t)i, { (uint32_t)(i * 3) } };
	}
	return n;
}

/* Against the definition: each is there once, keys rise, equals keep their order. */
static void sorts(struct pair *at, size_t n)
{
	uint8_t *seen = calloc(n + 1, 1);

	array_sort(at, n, sizeof(*at), by_key);
	for (size_t i = 0; i < n; i++) {
		assert_false(seen[at[i].place]++);
		assert_int_equal(at[i].more[0], at[i].place * 3);
		if (i)
			assert_true(at[i - 1].key < at[i].key ||
				    (at[i - 1].key == at[i].key && at[i - 1].place < at[i].place));
	}
	free(seen);
}

static void test_sort(void **state)
{
	static const unsigned lengths[] = { 1, 3, 17, 40, 300, 5000 }, jumps[] = { 1, 2, 5, 100000 };
	struct pair *at = calloc(20000, sizeof(*at));

	(void)state;
	srand(1);
	array_sort(NULL, 0, sizeof(*at), by_key);
	for (unsigned threads = 1; threads <= 8; threads++)
		for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++)
			for (size_t j = 0; j < sizeof(jumps) / sizeof(jumps[0]); j++)
				sorts(at, fill(at, (size_t)(rand() % 20000), threads, lengths[k], jumps[j]));
	for (size_t n = 0; n < 200; n++) {
		for (size_t i = 0; i < n; i++)
			at[i] = (struct pair){ rand() % 50, (uint32_t)i, { (uint32_t)(i * 3) } };
		sorts(at, n);
	}
	free(at);
}

static size_t compared;

static int counted(const void *a, const void *b)
{
	compared++;
	return by_key(a, b);
}

/* What is nearly in order costs little more than to see that: threads' stretches that overlap with their neighbours alone. */
static void test_sort_of_what_is_nearly_in_order(void **state)
{
	size_t n = 100000;
	struct pair *at = calloc(n, sizeof(*at));

	(void)state;
	for (size_t i = 0; i < n; i++)
		at[i] = (struct pair){ (int64_t)(i % 1000 + i / 1000 * 990), (uint32_t)i, { (uint32_t)(i * 3) } };
	compared = 0;
	array_sort(at, n, sizeof(*at), counted);
	assert_true(compared < 5 * n / 2);
	sorts(at, n);
	free(at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_medians),
		cmocka_unit_test(test_far_apart),
		cmocka_unit_test(test_sort),
		cmocka_unit_test(test_sort_of_what_is_nearly_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
