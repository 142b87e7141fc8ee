/* SPDX-License-Identifier: BSD-2-Clause */
/* Errors as the real driver returns them, injected failures, and what the simplest queries answer. */
#include "test_simgpu.h"

#include <stdbool.h>

static struct truth truth;

static void before_init(void)
{
	CUcontext ctx;
	CUdeviceptr memory;
	const char *name;
	int n;

	EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&n));
	EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuMemAlloc(&memory, 4));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuInit(1));
	OK(cuDriverGetVersion(&n));
	EXPECT(13000, n);
	OK(cuGetErrorName(CUDA_ERROR_NOT_READY, &name));
	EXPECT(0, strcmp(name, "CUDA_ERROR_NOT_READY"));
	OK(cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &name));
	EXPECT(0, strcmp(name, "invalid argument"));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGetErrorName((CUresult)12345, &name));
	OK(cuInit(0));
	OK(cuInit(0));
	EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&memory, 4));
	EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
	EXPECT(CUDA_ERROR_INVALID_DEVICE, cuDevicePrimaryCtxRetain(&ctx, 1));
	EXPECT(CUDA_ERROR_INVALID_DEVICE, cuDevicePrimaryCtxRetain(&ctx, -1));
	EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease(0));
	OK(cuCtxGetCurrent(&ctx));
	EXPECT(1, ctx == NULL);
	EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuCtxPopCurrent(&ctx));
}

static void nothing_works_before_init(void **state)
{
	(void)state;
	run_in_child(before_init, &truth);
	/* Failed calls count like any other. */
	assert_int_equal(truth_calls(&truth, "cuMemAlloc_v2"), 2);
	assert_int_equal(truth_calls(&truth, "cuInit"), 3);
	assert_int_equal(truth_calls(&truth, "cuDeviceGetCount"), 1);
	assert_int_equal(truth.count, 0);
}

static void handles(void)
{
	CUstream s, invented = (CUstream)(uintptr_t)0x123450;
	CUfunction f;
	CUmodule m;
	CUevent e;
	CUcontext ctx;
	CUdeviceptr memory;

	start();
	s = stream(0);
	OK(cuStreamDestroy(s));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(s));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(s));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuStreamQuery(invented));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamCreate(&s, 77));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamCreate(NULL, 0));
	OK(cuEventCreate(&e, 0));
	OK(cuEventDestroy(e));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuEventQuery(e));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuEventRecord((CUevent)invented, NULL));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuEventCreate(&e, CU_EVENT_INTERPROCESS));
	EXPECT(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&f, module, "missing_kernel"));
	EXPECT(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal(&memory, NULL, module, "missing_global"));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuModuleLoadData(&m, NULL));
	EXPECT(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&m, "/nonexistent/module.cubin"));
	f = function("k");
	EXPECT(1, f == function("k"));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 2048, 1, 1, 0, NULL, NULL, NULL));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel((CUfunction)invented, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	OK(cuModuleUnload(module));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent((CUcontext)invented));
	OK(cuCtxCreate(&ctx, NULL, CU_CTX_SCHED_BLOCKING_SYNC, 0));
	OK(cuCtxSynchronize());
	OK(cuCtxDestroy(ctx));
	OK(cuCtxGetCurrent(&ctx));
	EXPECT(1, ctx == context);
	OK(cuDevicePrimaryCtxRelease(0));
	EXPECT(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxSynchronize());
}

static void stale_and_invented_handles_are_refused(void **state)
{
	(void)state;
	run_in_child(handles, NULL);
}

static void memory_errors(void)
{
	CUdeviceptr a, b;
	size_t left, total, bytes;
	void *pinned, *plain = malloc(8192);
	unsigned flags;

	start();
	OK(cuMemGetInfo(&left, &total));
	EXPECT(1 << 20, total);
	EXPECT(total, left);
	EXPECT(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&a, (1 << 20) + 1));
	OK(cuMemAlloc(&a, 1 << 19));
	OK(cuMemAlloc(&b, 1 << 19));
	OK(cuMemGetInfo(&left, &total));
	EXPECT(0, left);
	EXPECT(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&b, 1));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFree(a + 8));
	OK(cuMemFree(a));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFree(a));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(a, plain, 8));
	OK(cuMemAlloc(&a, 1000));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(a, plain, 1001));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(plain, (CUdeviceptr)(uintptr_t)plain, 8));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(&a, 0));
	OK(cuMemGetAddressRange(&b, &bytes, a + 999));
	EXPECT(1, a == b);
	EXPECT(1000, bytes);
	EXPECT(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(&b, &bytes, a + 1000));
	OK(cuMemHostRegister(plain, 8192, 0));
	EXPECT(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister((char *)plain + 4096, 64, 0));
	OK(cuMemHostUnregister(plain));
	EXPECT(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(plain));
	OK(cuMemHostAlloc(&pinned, 4096, CU_MEMHOSTALLOC_PORTABLE));
	OK(cuMemHostGetFlags(&flags, pinned));
	EXPECT(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP, flags);
	OK(cuMemHostGetDevicePointer(&b, pinned, 0));
	EXPECT(1, b == (CUdeviceptr)(uintptr_t)pinned);
	OK(cuMemFreeHost(pinned));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(pinned));
	free(plain);
}

static void memory_is_accounted_for(void **state)
{
	(void)state;
	setenv("SIMGPU_MEM_BYTES", "1M", 1);
	run_in_child(memory_errors, NULL);
}

static void pointers(void)
{
	CUdeviceptr memory, managed;
	void *pinned, *data[2];
	int type, ordinal, plain;
	bool is_managed;
	CUpointer_attribute both[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL };

	start();
	memory = device_memory(4096);
	pinned = pinned_memory(4096);
	OK(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
	OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory + 5));
	EXPECT(CU_MEMORYTYPE_DEVICE, type);
	OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)pinned));
	EXPECT(CU_MEMORYTYPE_HOST, type);
	OK(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, managed));
	EXPECT(1, is_managed);
	EXPECT(CUDA_ERROR_INVALID_VALUE,
	       cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)&plain));
	data[0] = &type;
	data[1] = &ordinal;
	OK(cuPointerGetAttributes(2, both, data, (CUdeviceptr)(uintptr_t)&plain));
	EXPECT(0, type);
	EXPECT(-2, ordinal);
	OK(cuPointerGetAttributes(2, both, data, memory));
	EXPECT(CU_MEMORYTYPE_DEVICE, type);
	EXPECT(0, ordinal);
}

static void pointers_tell_what_they_are(void **state)
{
	(void)state;
	run_in_child(pointers, NULL);
}

static void injected(void)
{
	CUdeviceptr memory;
	CUcontext other;
	int count;

	start();
	OK(cuMemAlloc(&memory, 4));
	EXPECT(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&memory, 4));
	OK(cuMemAlloc(&memory, 4));
	for (int i = 0; i < 4; i++)
		launch("k", NULL);
	EXPECT(CUDA_ERROR_ILLEGAL_ADDRESS, launch_result("k", NULL));
	EXPECT(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
	EXPECT(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemFree(memory));
	OK(cuDeviceGetCount(&count));
	OK(cuCtxCreate(&other, NULL, 0, 0));
	OK(cuCtxSynchronize());
	OK(cuMemAlloc(&memory, 4));
}

static void injected_failures_come_on_time_and_stick(void **state)
{
	(void)state;
	setenv("SIMGPU_FAIL", "cuLaunchKernel:5:700,cuMemAlloc:2:2", 1);
	run_in_child(injected, &truth);
	assert_int_equal(truth.count, 4);
	assert_int_equal(truth_calls(&truth, "cuLaunchKernel"), 5);
	assert_int_equal(truth_calls(&truth, "cuMemAlloc_v2"), 4);
}

static void unimplemented(void)
{
	CUgraphConditionalHandle handle;
	const void *table;
	CUuuid id = { "0123456789abcde" };

	start();
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuGraphConditionalHandleCreate(&handle, NULL, NULL, 0, 0));
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuGraphConditionalHandleCreate(&handle, NULL, NULL, 0, 0));
	table = &id;
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuGetExportTable(&table, &id));
	EXPECT(1, table == &id);
}

static void unimplemented_calls_are_counted(void **state)
{
	(void)state;
	run_in_child(unimplemented, &truth);
	assert_int_equal(truth_calls(&truth, "cuGraphConditionalHandleCreate"), 2);
	assert_int_equal(truth_calls(&truth, "cuGetExportTable"), 1);
}

static CUresult from_host_function;

static void calls_driver(void *argument)
{
	from_host_function = cuStreamQuery((CUstream)argument);
}

static void not_permitted(void)
{
	start();
	OK(cuLaunchHostFunc(NULL, calls_driver, NULL));
	OK(cuCtxSynchronize());
	EXPECT(CUDA_ERROR_NOT_PERMITTED, from_host_function);
}

static void host_functions_may_not_call_the_driver(void **state)
{
	(void)state;
	run_in_child(not_permitted, NULL);
}

static void devices(void)
{
	CUdevice device;
	char name[64], id[32];
	int value, count;
	size_t bytes;
	CUuuid one, other;

	OK(cuInit(0));
	OK(cuDeviceGetCount(&count));
	EXPECT(3, count);
	OK(cuDeviceGet(&device, 2));
	EXPECT(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, 3));
	OK(cuDeviceGetName(name, sizeof(name), 2));
	EXPECT(1, strstr(name, "simulated") != NULL);
	OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 2));
	EXPECT(9, value);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX, 2));
	OK(cuDeviceTotalMem(&bytes, 2));
	EXPECT(16ll << 30, bytes);
	OK(cuDeviceGetUuid(&one, 0));
	OK(cuDeviceGetUuid(&other, 1));
	EXPECT(1, memcmp(&one, &other, sizeof(one)) != 0);
	OK(cuDeviceGetPCIBusId(id, sizeof(id), 2));
	OK(cuDeviceGetByPCIBusId(&device, id));
	EXPECT(2, device);
}

static void devices_describe_themselves(void **state)
{
	(void)state;
	setenv("SIMGPU_DEVICES", "3", 1);
	run_in_child(devices, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_works_before_init),
		cmocka_unit_test(stale_and_invented_handles_are_refused),
		cmocka_unit_test(memory_is_accounted_for),
		cmocka_unit_test(pointers_tell_what_they_are),
		cmocka_unit_test(injected_failures_come_on_time_and_stick),
		cmocka_unit_test(unimplemented_calls_are_counted),
		cmocka_unit_test(host_functions_may_not_call_the_driver),
		cmocka_unit_test(devices_describe_themselves),
	};

	settings_clear();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
