/* SPDX-License-Identifier: BSD-2-Clause */
/* Devices of two processes are one by their UUID; in other tools' traces only where both count on one clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trace/one_device.h"
#include "trace/same_clock.h"

static const struct device some = { .device = 0, .uuid = { 1 } }, same = { .device = 3, .uuid = { 1 } },
			   other = { .device = 0, .uuid = { 2 } }, unnamed = { .device = 0 };

static struct trace of(uint32_t clock, uint64_t number)
{
	return (struct trace){ .header = { .clock = clock, .pid_ns = number, .host = "h", .start_real_ns = 1 } };
}

static void test_by_uuid(void **state)
{
	struct trace a = of(0, 1), b = of(0, 1);

	(void)state;
	assert_true(one_device(&a, &some, &b, &same));
	assert_false(one_device(&a, &some, &b, &other));
	assert_false(one_device(&a, &unnamed, &b, &unnamed));
	assert_false(one_device(&a, &some, &b, &unnamed));
}

static void test_on_one_clock(void **state)
{
	struct trace a = of(CLOCK_OF_IMPORT, 1), b = of(CLOCK_OF_IMPORT, 1), c = of(CLOCK_OF_IMPORT, 2),
		     ours = of(0, 1);

	(void)state;
	assert_true(one_device(&a, &some, &b, &same));
	assert_false(one_device(&a, &some, &c, &same));
	assert_false(one_device(&a, &some, &ours, &same));
	assert_false(one_device(&ours, &some, &a, &same));
}

static void test_windows_are_apart(void **state)
{
	struct imported first = { .window = 1 }, second = { .window = 2 };
	struct trace a = of(CLOCK_OF_IMPORT, 1), b = of(CLOCK_OF_IMPORT, 1);

	(void)state;
	a.imported = &first;
	b.imported = &second;
	a.path = "a.sqlite";
	b.path = "b.sqlite";
	assert_false(one_device(&a, &some, &b, &same));
	second.window = 1;
	assert_true(one_device(&a, &some, &b, &same));
}

static void test_one_file_is_one_window(void **state)
{
	struct imported first = { .window = 1 }, second = { .window = 2 };
	struct trace a = of(CLOCK_OF_IMPORT, 1), b = of(CLOCK_OF_IMPORT, 1);
	char path[] = "a.sqlite";

	(void)state;
	a.imported = &first;
	b.imported = &second;
	a.path = "a.sqlite";
	b.path = path;
	assert_true(one_device(&a, &some, &b, &same));
	assert_false(one_device(&a, &some, &b, &other));
	b.header.pid_ns = 2;
	assert_false(one_device(&a, &some, &b, &same));
}

/* The wall clock may be set between two recordings, and their names differ: containers. */
static void test_our_own_are_of_one_machine(void **state)
{
	struct trace a = of(0, 1), b = of(0, 2);

	(void)state;
	b.header.start_real_ns = 5000000000;
	b.header.host[0] = 'i';
	assert_false(same_clock(&a.header, &b.header));
	assert_true(one_device(&a, &some, &b, &same));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_uuid),
		cmocka_unit_test(test_on_one_clock),
		cmocka_unit_test(test_windows_are_apart),
		cmocka_unit_test(test_one_file_is_one_window),
		cmocka_unit_test(test_our_own_are_of_one_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
