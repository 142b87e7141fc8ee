/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that runs out, failures on request, and features there are none of. */
#include "test_simgpu.h"

#include <stdbool.h>

static struct truth truth;

enum { MIB = 1 << 20 };

APART static long long free_bytes(void)
{
	size_t left, total;

	OK(cuMemGetInfo(&left, &total));
	return (long long)left;
}

/* Every way to get memory: refused when it does not fit, nothing lost by that, and good again when there is some. */
static void every_way(void)
{
	CUmemAllocationProp props = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				      .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
	CUDA_ARRAY_DESCRIPTOR flat = {
		.Width = 1 << 16, .Height = 48, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1
	};
	CUmemGenericAllocationHandle handle;
	CUdeviceptr hog, memory;
	CUarray array;
	size_t pitch;

	start();
	hog = device_memory(6 * MIB);
	for (int round = 0; round < 2; round++) {
		const CUresult expected = round ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
		long long before = free_bytes();

		EXPECT(expected, cuMemAlloc(&memory, 3 * MIB));
		if (round)
			OK(cuMemFree(memory));
		EXPECT(expected, cuMemAllocPitch(&memory, &pitch, 1000, 3 * 1024, 4));
		if (round)
			OK(cuMemFree(memory));
		EXPECT(expected, cuMemAllocManaged(&memory, 3 * MIB, CU_MEM_ATTACH_GLOBAL));
		if (round)
			OK(cuMemFree(memory));
		EXPECT(expected, cuArrayCreate(&array, &flat));
		if (round)
			OK(cuArrayDestroy(array));
		EXPECT(expected, cuMemCreate(&handle, 4 * MIB, &props, 0));
		if (round)
			OK(cuMemRelease(handle));
		EXPECT(expected, cuMemAllocAsync(&memory, 3 * MIB, NULL));
		if (round)
			OK(cuMemFreeAsync(memory, NULL));
		OK(cuCtxSynchronize());
		EXPECT(before, free_bytes());
		if (!round)
			OK(cuMemFree(hog));
	}
	EXPECT(8 * MIB, free_bytes());
	launch("still_well", NULL);
	OK(cuCtxSynchronize());
}

static void memory_runs_out_and_comes_back(void **state)
{
	(void)state;
	setenv("SIMGPU_MEM_BYTES", "8M", 1);
	run_in_child(every_way, &truth);
	assert_int_equal(truth.count, 1);
}

static void late(void)
{
	CUcontext other;
	CUdeviceptr memory;
	CUfunction f;
	int count;

	start();
	memory = device_memory(64);
	f = function("three");
	launch("one", NULL);
	launch("two", NULL); /* it faults while it runs */
	EXPECT(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
	EXPECT(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemFree(memory));
	EXPECT(CUDA_ERROR_ILLEGAL_ADDRESS, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	OK(cuDeviceGetCount(&count));
	OK(cuDevicePrimaryCtxReset(0)); /* a new context is well */
	EXPECT(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxSynchronize());
	OK(cuDevicePrimaryCtxRetain(&other, 0));
	OK(cuCtxSetCurrent(other));
	OK(cuCtxSynchronize());
	EXPECT(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&memory, 64, NULL));
	OK(cuMemAllocAsync(&memory, 64, NULL));
}

static void late_failures_come_with_the_next_call(void **state)
{
	(void)state;
	setenv("SIMGPU_FAIL", "cuLaunchKernel:2:700:late,cuMemAllocAsync:1:2", 1);
	run_in_child(late, &truth);
	assert_int_equal(truth.count, 2);
}

static void before_init(void)
{
	CUmulticastObjectProp props = { .numDevices = 1 };
	CUmemGenericAllocationHandle handle;
	const void *table;
	CUuuid id;

	EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuMulticastCreate(&handle, &props));
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuGetExportTable(&table, &id));
	OK(cuInit(0));
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuMulticastCreate(&handle, &props));
}

static void refusals_come_in_order_too(void **state)
{
	(void)state;
	run_in_child(before_init, &truth);
	assert_int_equal(truth_calls(&truth, "cuMulticastCreate"), 2);
}

static void features(void)
{
	CUDA_EXTERNAL_MEMORY_HANDLE_DESC memory_description = { .type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD };
	CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC semaphore_description = {
		.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD
	};
	CUexecAffinityParam affinity;
	CUexternalSemaphore semaphore;
	CUexternalMemory external;
	CUipcEventHandle event_handle;
	CUipcMemHandle memory_handle;
	CUdevResource resource = { .type = CU_DEV_RESOURCE_TYPE_INVALID };
	CUgreenCtx green = (CUgreenCtx)&resource;
	CUdeviceptr memory, opened;
	CUevent plain, shared;
	CUcontext owner;
	void *pinned;
	int value;

	start();
	memory = device_memory(4096);
	pinned = pinned_memory(4096);
	OK(cuEventCreate(&plain, 0));
	OK(cuEventCreate(&shared, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuIpcGetEventHandle(&event_handle, plain));
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuIpcGetEventHandle(&event_handle, shared));
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuIpcOpenEventHandle(&plain, event_handle));
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuIpcGetMemHandle(&memory_handle, memory));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle(&memory_handle, (CUdeviceptr)(uintptr_t)pinned));
	EXPECT(CUDA_ERROR_NOT_SUPPORTED,
	       cuIpcOpenMemHandle(&opened, memory_handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuIpcOpenMemHandle(&opened, memory_handle, 8));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuIpcCloseMemHandle(memory));
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuImportExternalMemory(&external, &memory_description));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuImportExternalMemory(&external, NULL));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuDestroyExternalMemory(NULL));
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuImportExternalSemaphore(&semaphore, &semaphore_description));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuDestroyExternalSemaphore(NULL));
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuDeviceGetDevResource(0, &resource, CU_DEV_RESOURCE_TYPE_SM));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuDeviceGetDevResource(0, &resource, CU_DEV_RESOURCE_TYPE_INVALID));
	OK(cuStreamGetGreenCtx(NULL, &green));
	EXPECT(1, green == NULL);
	green = (CUgreenCtx)&resource;
	OK(cuStreamGetCtx_v2(NULL, &owner, &green));
	EXPECT(1, owner == context && green == NULL);
	OK(cuDeviceGetExecAffinitySupport(&value, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0));
	EXPECT(0, value);
	EXPECT(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, cuCtxGetExecAffinity(&affinity, CU_EXEC_AFFINITY_TYPE_SM_COUNT));
	/* What says so in advance. */
	OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0));
	EXPECT(0, value);
	OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, 0));
	EXPECT(0, value);
	OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0));
	EXPECT(1, value);
}

static void absent_features_are_refused(void **state)
{
	(void)state;
	run_in_child(features, NULL);
}

/* With SYNC_MEMOPS a synchronous call is one to the end. */
static void to_the_end(void)
{
	CUdeviceptr one, two;
	unsigned on = 1, is = 0;
	char byte = 1;

	start();
	one = device_memory(4096);
	two = device_memory(4096);
	OK(cuPointerGetAttribute(&is, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, one));
	EXPECT(0, is);
	gate_close(NULL);
	launch("a__200000us", NULL);
	OK(cuMemsetD8(two, 1, 64));
	EXPECT(CUDA_ERROR_NOT_READY, cuStreamQuery(NULL));
	OK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, one));
	OK(cuPointerGetAttribute(&is, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, one));
	EXPECT(1, is);
	gate_open();
	OK(cuMemsetD8(one, 1, 64));
	OK(cuStreamQuery(NULL));
	launch("b__200000us", NULL);
	OK(cuMemcpyDtoD(two, one, 64));
	OK(cuStreamQuery(NULL));
	OK(cuMemcpyHtoD(one, &byte, 1));
	OK(cuStreamQuery(NULL));
	EXPECT(CUDA_ERROR_INVALID_VALUE,
	       cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, (CUdeviceptr)(uintptr_t)&on));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_CONTEXT, one));
}

static void synchronous_memory_waits(void **state)
{
	(void)state;
	run_in_child(to_the_end, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_runs_out_and_comes_back),
		cmocka_unit_test(late_failures_come_with_the_next_call),
		cmocka_unit_test(refusals_come_in_order_too),
		cmocka_unit_test(absent_features_are_refused),
		cmocka_unit_test(synchronous_memory_waits),
	};

	settings_clear();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
