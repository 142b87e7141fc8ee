/* SPDX-License-Identifier: BSD-2-Clause */
/* What the recorder asks the driver of memory: the time goes to the calls that it adds, none of it to the program's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim/edge.h"
#include "shim_driver.h"

#define SLOW_NS 200000

static void take_long(void)
{
	uint64_t begin = clock_ticks();

	while (clock_ticks() - begin < clock_ticks_in(SLOW_NS))
		;
}

static CUresult fake_pool_of(CUmemoryPool *pool, CUdevice device)
{
	(void)device;
	take_long();
	*pool = (CUmemoryPool)0x7000;
	return CUDA_SUCCESS;
}

static CUresult fake_attribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	(void)attribute;
	assert_ptr_equal(pool, 0x7000);
	take_long();
	memset(value, 0, 8);
	return CUDA_SUCCESS;
}

static CUresult fake_left(size_t *left, size_t *total)
{
	take_long();
	*left = *total = 1;
	return CUDA_SUCCESS;
}

static CUresult fake_alloc_async(CUdeviceptr *pointer, size_t bytes, CUstream s)
{
	(void)bytes, (void)s;
	*pointer = 0x10000;
	return CUDA_SUCCESS;
}

static CUresult fake_refusal(CUdeviceptr *pointer, size_t bytes)
{
	(void)pointer, (void)bytes;
	return CUDA_ERROR_OUT_OF_MEMORY;
}

static void questions_are_calls_that_we_add(void **state)
{
	uint64_t before = file_counters()->injected_ticks;
	CUdeviceptr p;

	(void)state;
	forget_recorded();
	real.cuDeviceGetMemPool = fake_pool_of;
	real.cuMemPoolGetAttribute = fake_attribute;
	real.cuMemGetInfo_v2 = fake_left;
	real.cuMemAllocAsync = fake_alloc_async;
	real.cuMemAlloc_v2 = fake_refusal;
	assert_int_equal(cuMemAllocAsync(&p, 1, STREAM_A), CUDA_SUCCESS); /* which pool it is, and four things of it */
	assert_in_range(file_counters()->injected_ticks - before, 5 * clock_ticks_in(SLOW_NS), UINT64_MAX);
	assert_int_equal(recorded_on(STREAM_A), 0);
	before = file_counters()->injected_ticks;
	assert_int_equal(cuMemAlloc_v2(&p, 1), CUDA_ERROR_OUT_OF_MEMORY);
	assert_in_range(file_counters()->injected_ticks - before, clock_ticks_in(SLOW_NS), UINT64_MAX);
}

static void a_call_without_a_thread_has_no_record(void **state)
{
	struct call c = { .record = { .args = { 7 } } };

	(void)state;
	memory_named(&c, 9);
	assert_int_equal(c.record.args[0], 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(questions_are_calls_that_we_add, set_up),
		cmocka_unit_test(a_call_without_a_thread_has_no_record),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
