/* SPDX-License-Identifier: BSD-2-Clause */
/* The clock: the processor's counter only where the kernel itself uses it, and then at the rate that is said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/clock.h"

static void test_the_counter_only_where_the_kernel_uses_it(void **state)
{
	char name[32] = "";
	int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY);

	(void)state;
	if (fd >= 0) {
		assert_true(read(fd, name, sizeof(name) - 1) >= 0);
		close(fd);
	}
	clock_choose();
	/* Under emulation the name is the host's, and never this processor's. */
	assert_int_equal(clock_kind,
			 strcmp(name, ARCH_TICK_CLOCKSOURCE "\n") == 0 ? ARCH_TICK_CLOCK : GST_CLOCK_MONOTONIC);
}

/* What is rounded keeps all of its upper bits: a thread's CPU time is more than 2^32 ns after four seconds. */
static void test_rounded_down(void **state)
{
	uint64_t grain;

	(void)state;
	assert_int_equal(clock_floor(0x123456789abcdeffull, 2048), 0x123456789abcd800ull);
	assert_int_equal(clock_floor(5000000000ull, 2048), 5000000000ull / 2048 * 2048);
	assert_int_equal(clock_floor(UINT64_MAX, 1ull << 40), UINT64_MAX << 40);
	assert_int_equal(clock_floor(77, 1), 77);
	clock_choose();
	clock_anchor_now();
	grain = clock_grain(2000);
	assert_int_equal(grain & (grain - 1), 0);
	assert_in_range(grain, clock_ticks_in(2000) / 2, clock_ticks_in(2000) + 1);
	assert_int_equal(clock_grain(0), 1);
}

/* Ticks over 20 ms, told by two anchors, against the same some time later: the counter is steady, whatever the kernel thinks of it. */
static double ticks_per_ns_over(unsigned us)
{
	struct clock_anchor a = clock_anchor_now(), b;

	usleep(us);
	b = clock_anchor_now();
	assert_true(b.ticks > a.ticks);
	return (double)(b.ticks - a.ticks) / (double)(b.mono_ns - a.mono_ns);
}

static void test_the_counter_is_steady(void **state)
{
	double first, second;

	(void)state;
	clock_kind = ARCH_TICK_CLOCK;
	first = ticks_per_ns_over(30000);
	second = ticks_per_ns_over(60000);
	assert_true(first > 0.0009 && first < 10); /* 1 MHz to 10 GHz */
	assert_true(second > first * 0.99 && second < first * 1.01);
#if defined(__aarch64__)
	{
		uint64_t frequency;

		__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(frequency));
		assert_true(second > (double)frequency / 1e9 * 0.99 && second < (double)frequency / 1e9 * 1.01);
	}
#endif
}

static void test_monotonic_ticks_are_nanoseconds(void **state)
{
	double rate;

	(void)state;
	clock_kind = GST_CLOCK_MONOTONIC;
	rate = ticks_per_ns_over(1000);
	assert_true(rate > 0.9 && rate < 1.1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_counter_only_where_the_kernel_uses_it),
		cmocka_unit_test(test_the_counter_is_steady),
		cmocka_unit_test(test_rounded_down),
		cmocka_unit_test(test_monotonic_ticks_are_nanoseconds),
	};
	return cmocka_run_group_tests_name("ticks", tests, NULL, NULL);
}
