/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that take long on request. Only that they take as long, and which of two takes longer, is asserted: a busy machine adds what it likes. */
#include "test_simgpu.h"

static struct truth truth;

static long now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static long allocation_ns(clockid_t clock)
{
	long begin = now_ns(clock);
	CUdeviceptr memory;

	OK(cuMemAlloc(&memory, 4096));
	begin = now_ns(clock) - begin;
	OK(cuMemFree(memory));
	return begin;
}

/* For those that measure CPU time: under an emulator the first calls are translated. */
static void start_warm(unsigned calls)
{
	start();
	for (unsigned i = 0; i < calls; i++)
		allocation_ns(CLOCK_MONOTONIC);
}

static void computes(void)
{
	start();
	for (int i = 0; i < 8; i++)
		EXPECT(1, allocation_ns(CLOCK_MONOTONIC) >= 3000000);
}

static void calls_take_as_long(void **state)
{
	(void)state;
	setenv("SIMGPU_SLOW", "cuMemAllocPitch:9000000,cuMemAlloc:3000", 1); /* the first is another call */
	run_in_child(computes, &truth);
}

/* Of 8 calls over three decades at least half are above the middle (however long they took beyond that), and some far below: what those computed tells. */
static void spread(void)
{
	unsigned above = 0, low = 0;

	start_warm(8);
	for (int i = 0; i < 8; i++) {
		long cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);

		above += allocation_ns(CLOCK_MONOTONIC) >= 316000;
		cpu = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
		EXPECT(1, cpu <= 20000000); /* 10 ms at most are asked for */
		low += cpu < 200000;
	}
	EXPECT(1, above >= 4);
	EXPECT(1, low >= 1);
}

static void every_decade_is_met(void **state)
{
	(void)state;
	setenv("SIMGPU_SLOW", "cuMemAlloc:10-10000", 1);
	run_in_child(spread, &truth);
}

static void sleeps(void)
{
	long begin, cpu;

	start_warm(1);
	begin = now_ns(CLOCK_MONOTONIC);
	cpu = allocation_ns(CLOCK_THREAD_CPUTIME_ID);
	EXPECT(1, now_ns(CLOCK_MONOTONIC) - begin >= 30000000);
	EXPECT(1, cpu < 15000000);
}

static void one_that_sleeps_computes_nothing(void **state)
{
	(void)state;
	setenv("SIMGPU_SLOW", "cuMemAlloc:30000:sleep", 1);
	run_in_child(sleeps, &truth);
}

static void first_launches(void)
{
	long first, second;

	start();
	first = now_ns(CLOCK_MONOTONIC);
	launch("one", NULL);
	first = now_ns(CLOCK_MONOTONIC) - first;
	EXPECT(1, first >= 20000000);
	second = now_ns(CLOCK_THREAD_CPUTIME_ID);
	launch("one", NULL);
	second = now_ns(CLOCK_THREAD_CPUTIME_ID) - second;
	EXPECT(1, second < 10000000);
	first = now_ns(CLOCK_MONOTONIC);
	launch("another", NULL);
	EXPECT(1, now_ns(CLOCK_MONOTONIC) - first >= 20000000);
	OK(cuCtxSynchronize());
}

static void a_first_launch_takes_long(void **state)
{
	(void)state;
	setenv("SIMGPU_FIRST_LAUNCH_US", "20000", 1);
	run_in_child(first_launches, &truth);
	assert_int_equal(truth.count, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_take_as_long),
		cmocka_unit_test(every_decade_is_met),
		cmocka_unit_test(one_that_sleeps_computes_nothing),
		cmocka_unit_test(a_first_launch_takes_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
