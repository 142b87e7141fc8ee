/* SPDX-License-Identifier: BSD-2-Clause */
/* shim/cgroup_cpu.c: what a cpu.stat says of a quota that was used up. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "shim/cgroup_cpu.h"

static void test_version_2(void **state)
{
	struct cgroup_throttled t;

	(void)state;
	assert_true(cgroup_cpu_parse(
		"usage_usec 4031\nuser_usec 31\nsystem_usec 4000\nnr_periods 12\nnr_throttled 7\nthrottled_usec 83211\n"
		"nr_bursts 0\nburst_usec 0\n",
		&t));
	assert_int_equal(t.ns, 83211000);
	assert_int_equal(t.periods, 7);
}

static void test_version_1(void **state)
{
	struct cgroup_throttled t;

	(void)state;
	assert_true(cgroup_cpu_parse("nr_periods 90\nnr_throttled 88\nthrottled_time 1234567891234\n", &t));
	assert_int_equal(t.ns, 1234567891234);
	assert_int_equal(t.periods, 88);
}

/* A root group has no quota and no such lines; a text that is cut within a name says nothing either. */
static void test_without_a_quota(void **state)
{
	struct cgroup_throttled t;

	(void)state;
	assert_false(cgroup_cpu_parse("usage_usec 4031\nuser_usec 31\nsystem_usec 4000\n", &t));
	assert_false(cgroup_cpu_parse("nr_periods 90\nnr_throttled 88\nthrottled_ti", &t));
	assert_false(cgroup_cpu_parse("", &t));
	assert_int_equal(t.ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_version_2),
		cmocka_unit_test(test_version_1),
		cmocka_unit_test(test_without_a_quota),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
