/* SPDX-License-Identifier: BSD-2-Clause */
/* A hash index against a walk over all hashes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/failing_alloc.h"
#include "tools/hash_index.h"

#define MOST 3000

static uint64_t hash_of(unsigned kind, uint64_t i)
{
	switch (kind) {
	case 0:
		return i * 0x9e3779b97f4a7c15u;
	case 1:
		return 7; /* all of one hash */
	case 2:
		return i << 32; /* what differs is not where a slot is chosen */
	default:
		return i % 97 + ((i % 3) << 40);
	}
}

static void test_as_a_walk(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < 4; kind++) {
		struct hash_index x = { 0 };
		uint32_t n = kind == 1 ? 300 : MOST;

		for (uint32_t i = 0; i < n; i++)
			assert_true(hash_add(&x, hash_of(kind, i), i));
		for (uint32_t i = 0; i < n; i += 7) {
			uint64_t hash = hash_of(kind, i);
			uint32_t number, same = 0, found = 0, last = HASH_NONE;

			for (uint32_t k = 0; k < n; k++)
				same += hash_of(kind, k) == hash;
			for (size_t at = 0; (number = hash_next(&x, hash, &at)) != HASH_NONE; last = number) {
				assert_true(number < n && number != last);
				found += hash_of(kind, number) == hash;
			}
			assert_int_equal(found, same);
		}
		hash_free(&x);
	}
}

static void test_empty(void **state)
{
	struct hash_index x = { 0 };
	size_t at = 0;

	(void)state;
	assert_int_equal(hash_next(&x, 5, &at), HASH_NONE);
	assert_true(hash_add(&x, 5, 0));
	at = 0;
	assert_int_equal(hash_next(&x, 6, &at), HASH_NONE);
	at = 0;
	assert_int_equal(hash_next(&x, 5, &at), 0);
	assert_int_equal(hash_next(&x, 5, &at), HASH_NONE);
	hash_free(&x);
	assert_null(x.slots);
}

static void test_no_memory_changes_nothing(void **state)
{
	struct hash_index x = { 0 };
	uint32_t n = 0;

	(void)state;
	fail_at = 1;
	assert_false(hash_add(&x, 0, 0));
	assert_true(hash_add(&x, 0, n++));
	fail_at = 1;
	while (hash_add(&x, n, n))
		n++;
	assert_int_equal(n, 32); /* half of the first slots */
	for (uint32_t i = 0; i <= n; i++) {
		size_t at = 0;

		assert_int_equal(hash_next(&x, i, &at), i < n ? i : HASH_NONE);
	}
	assert_true(hash_add(&x, n, n));
	hash_free(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_a_walk),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_no_memory_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
