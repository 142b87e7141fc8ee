/* SPDX-License-Identifier: BSD-2-Clause */
/* Which write ended a stream's wait for a value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "timeline/values.h"

#define PLACE 0x1000

static struct call wait_of(unsigned kind, uint64_t value)
{
	return (struct call){
		.family = GST_FAMILY_MEMOP, .detail = (uint16_t)kind, .args = { PLACE, value }, .begin_ns = 10
	};
}

static struct call write_of(int64_t ns, uint64_t place, uint64_t value)
{
	return (struct call){ .family = GST_FAMILY_WRITE_VALUE,
			      .detail = GST_VALUE_WRITTEN,
			      .args = { place, value },
			      .begin_ns = ns,
			      .end_ns = ns + 1 };
}

/* Number of the write that ended the wait; 0 none. */
static size_t producer(struct call wait, const struct call *writes, size_t n, int64_t time_ns)
{
	struct call calls[8];
	struct trace t = { .calls = calls, .n_calls = n + 1 };
	const struct call *found;
	struct values v;

	calls[0] = wait;
	for (size_t i = 0; i < n; i++)
		calls[i + 1] = writes[i];
	assert_true(values_build(&v, &t));
	assert_int_equal(v.n_waits, 1);
	found = values_producer(&v, &calls[0], time_ns);
	values_free(&v);
	return found ? (size_t)(found - calls) : 0;
}

static void test_the_first_that_holds_on(void **state)
{
	const struct call writes[] = { write_of(20, PLACE, 1), write_of(30, PLACE, 2), write_of(40, PLACE, 3) };

	(void)state;
	assert_int_equal(producer(wait_of(GST_VALUE_GEQ, 2), writes, 3, 100), 2);
	assert_int_equal(producer(wait_of(GST_VALUE_GEQ, 2), writes, 3, 30), 0); /* not yet */
	assert_int_equal(producer(wait_of(GST_VALUE_GEQ, 4), writes, 3, 100), 0);
	assert_int_equal(producer(wait_of(GST_VALUE_EQ, 3), writes, 3, 100), 3);
	assert_int_equal(producer(wait_of(GST_VALUE_EQ, 2), writes, 3, 100),
			 0); /* it held for a while; then somebody wrote again */
}

static void test_another_place_is_another_value(void **state)
{
	const struct call writes[] = { write_of(20, PLACE + 8, 5), write_of(30, PLACE, 5), write_of(40, PLACE - 8, 5) };
	struct call wait = wait_of(GST_VALUE_EQ, 5);

	(void)state;
	assert_int_equal(producer(wait, writes, 3, 100), 2);
	wait.detail |= GST_VALUE_SEMAPHORE; /* of the same number */
	assert_int_equal(producer(wait, writes, 3, 100), 0);
}

static void test_conditions(void **state)
{
	const struct call low = write_of(20, PLACE, 0xfffffff0), wide = write_of(20, PLACE, 0x100000001),
			  bits = write_of(20, PLACE, 6), all = write_of(20, PLACE, UINT32_MAX);

	(void)state;
	assert_int_equal(producer(wait_of(GST_VALUE_GEQ, 5), &low, 1, 100), 0); /* cyclic: 21 before it */
	assert_int_equal(producer(wait_of(GST_VALUE_GEQ, 0xffffffe0), &low, 1, 100), 1);
	assert_int_equal(producer(wait_of(GST_VALUE_EQ, 1), &wide, 1, 100), 1); /* 32 bits are looked at */
	assert_int_equal(producer(wait_of(GST_VALUE_EQ | GST_VALUE_64, 1), &wide, 1, 100), 0);
	assert_int_equal(producer(wait_of(GST_VALUE_GEQ | GST_VALUE_64, 1), &wide, 1, 100), 1);
	assert_int_equal(producer(wait_of(GST_VALUE_AND, 3), &bits, 1, 100), 1);
	assert_int_equal(producer(wait_of(GST_VALUE_AND, 9), &bits, 1, 100), 0);
	assert_int_equal(producer(wait_of(GST_VALUE_NOR, 9), &bits, 1, 100), 1);
	assert_int_equal(producer(wait_of(GST_VALUE_NOR, 0), &all, 1, 100), 0);
	assert_int_equal(producer(wait_of(0, 6), &bits, 1, 100), 0); /* nobody knows what it waits for */
}

static void test_what_did_not_happen_is_left_out(void **state)
{
	struct call writes[] = { write_of(20, PLACE, 1), write_of(30, PLACE, 1), write_of(40, PLACE, 1) };

	(void)state;
	writes[0].result = 1;
	writes[1].flags = GST_CAPTURED;
	writes[2].stream = GST_NONE;
	assert_int_equal(producer(wait_of(GST_VALUE_EQ, 1), writes, 3, 100), 0);
}

static void test_waits_of_a_stream(void **state)
{
	struct call calls[] = { wait_of(GST_VALUE_EQ, 1), wait_of(GST_VALUE_EQ, 2), wait_of(GST_VALUE_EQ, 3),
				wait_of(GST_VALUE_EQ, 4) };
	struct trace t = { .calls = calls, .n_calls = 4 };
	struct values v;

	(void)state;
	calls[0].stream = 2;
	calls[1].stream = 1;
	calls[2].stream = 2;
	calls[2].begin_ns = 5;
	assert_true(values_build(&v, &t));
	assert_int_equal(values_waits_before(&v, 2, 10), 3);
	assert_ptr_equal(v.waits[2], &calls[2]);
	assert_int_equal(values_waits_before(&v, 2, 11), 4);
	assert_int_equal(values_waits_before(&v, 1, 10), 1);
	assert_false(values_anywhere(&v));
	values_free(&v);
	calls[1].stream = GST_NONE;
	assert_true(values_build(&v, &t));
	assert_true(values_anywhere(&v));
	values_free(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_first_that_holds_on),
		cmocka_unit_test(test_another_place_is_another_value),
		cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_what_did_not_happen_is_left_out),
		cmocka_unit_test(test_waits_of_a_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
