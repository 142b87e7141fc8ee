/* SPDX-License-Identifier: BSD-2-Clause */
/* What all use of one device: random changes of ever more users against a walk over all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "memory/memory_sum.h"

#define USERS 300

static uint32_t seed = 7;

static uint32_t below(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

static void compare(const struct memory_sum *s, const struct memory_use *of, size_t n)
{
	struct memory_use sum = { 0 };

	for (size_t i = 0; i < n; i++) {
		sum.allocated += of[i].allocated;
		sum.reserved += of[i].reserved;
		sum.largest_free = of[i].largest_free > sum.largest_free ? of[i].largest_free : sum.largest_free;
	}
	assert_int_equal(s->all.allocated, sum.allocated);
	assert_int_equal(s->all.reserved, sum.reserved);
	assert_int_equal(s->all.largest_free, sum.largest_free);
}

static void test_random(void **state)
{
	static struct memory_use of[USERS];
	struct memory_sum s = { 0 };
	size_t n = 0;

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		size_t which;

		if (n < USERS && (!n || below(60) == 0)) {
			assert_int_equal(memory_sum_join(&s), n);
			of[n++] = (struct memory_use){ 0 };
			compare(&s, of, n);
		}
		which = below((uint32_t)n);
		of[which] = (struct memory_use){ below(1000), 1000 + below(1000), below(4) ? below(1000) : 0 };
		memory_sum_set(&s, which, &of[which]);
		compare(&s, of, n);
	}
	assert_int_equal(n, USERS);
	memory_sum_free(&s);
	assert_null(s.of);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_random) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
