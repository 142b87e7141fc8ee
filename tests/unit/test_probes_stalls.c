/* SPDX-License-Identifier: BSD-2-Clause */
/* Short waits as they are summed up: what their calls asked for is counted as their times are, once for each wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim/probes/stalls.h"

#define US 1000u

static struct stall waits(uint64_t begin, uint32_t count, uint64_t offset, uint64_t bytes)
{
	return (struct stall){ .begin = begin,
			       .end = begin + 10 * US,
			       .blocked_ns = 5 * US,
			       .count = count,
			       .what = { .syscall = 1, .file = 7, .offset = offset, .bytes = bytes } };
}

/* None of these sums is worth a record yet: there is no file. */
static void test_sums(void **unused)
{
	struct stalls s = { 0 };
	struct stall one = waits(US, 1, 8192, 1 << 20), more = waits(20 * US, 1, 4096, 1 << 20),
		     several = waits(40 * US, 3, UINT64_MAX, 1 << 20);

	(void)unused;
	stalls_add(&s, NULL, 9, &one);
	assert_int_equal(s.kind[0].what.bytes, 1 << 20);
	stalls_add(&s, NULL, 9, &more);
	assert_int_equal(s.kind[0].count, 2);
	assert_int_equal(s.kind[0].what.bytes, 2 << 20);
	stalls_add(&s, NULL, 9, &several);
	assert_int_equal(s.kind[0].count, 5);
	assert_int_equal(s.kind[0].what.bytes, 5 << 20);
	assert_int_equal(s.kind[0].what.offset, 4096);
	assert_int_equal(s.kind[0].blocked_ns, 15 * US);
	assert_int_equal(s.kind[1].begin, 0);
}

/* Looks say how many there were, and what one of them asked for. */
static void test_several_at_once(void **unused)
{
	struct stalls s = { 0 };
	struct stall several = waits(US, 16, UINT64_MAX, 8 << 20);

	(void)unused;
	stalls_add(&s, NULL, 9, &several);
	assert_int_equal(s.kind[0].what.bytes, 128 << 20);
}

/* A program may ask for more bytes than there are. */
static void test_more_than_can_be(void **unused)
{
	struct stalls s = { 0 };
	struct stall all = waits(US, 2, 0, UINT64_MAX / 2 + 1), more = waits(20 * US, 1, 0, 100);

	(void)unused;
	stalls_add(&s, NULL, 9, &all);
	assert_true(s.kind[0].what.bytes == UINT64_MAX);
	stalls_add(&s, NULL, 9, &more);
	assert_true(s.kind[0].what.bytes == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_several_at_once),
		cmocka_unit_test(test_more_than_can_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
