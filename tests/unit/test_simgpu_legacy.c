/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls for old programs: addresses of 32 bits, launches in pieces, deprecated questions. cuda.h renames the old names away,
 * so they are bound here by their symbols. */
#include "test_simgpu.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* that is what this is about */

static struct truth truth;

typedef unsigned int address32;

#define OLD(name, ...) CUresult old_##name(__VA_ARGS__) __asm__(#name);
OLD(cuMemAlloc, address32 *, unsigned)
OLD(cuMemAllocPitch, address32 *, unsigned *, unsigned, unsigned, unsigned)
OLD(cuMemFree, address32)
OLD(cuMemGetInfo, unsigned *, unsigned *)
OLD(cuMemGetAddressRange, address32 *, unsigned *, address32)
OLD(cuMemAllocHost, void **, unsigned)
OLD(cuMemHostGetDevicePointer, address32 *, void *, unsigned)
OLD(cuMemcpyHtoD, address32, const void *, unsigned)
OLD(cuMemcpyDtoH, void *, address32, unsigned)
OLD(cuMemcpyDtoDAsync, address32, address32, unsigned, CUstream)
OLD(cuMemsetD16, address32, unsigned short, unsigned)
OLD(cuMemsetD2D8, address32, unsigned, unsigned char, unsigned, unsigned)
OLD(cuMemcpyHtoA, CUarray, unsigned, const void *, unsigned)
OLD(cuMemcpyAtoD, address32, CUarray, unsigned, unsigned)
OLD(cuDeviceTotalMem, unsigned *, CUdevice)
OLD(cuModuleGetGlobal, address32 *, unsigned *, CUmodule, const char *)

struct array_descriptor {
	unsigned width, height;
	CUarray_format format;
	unsigned channels;
};

struct copy_2d {
	unsigned from_x, from_y;
	CUmemorytype from_type;
	const void *from_host;
	address32 from_device;
	CUarray from_array;
	unsigned from_pitch, to_x, to_y;
	CUmemorytype to_type;
	void *to_host;
	address32 to_device;
	CUarray to_array;
	unsigned to_pitch, width, height;
};

OLD(cuArrayCreate, CUarray *, const struct array_descriptor *)
OLD(cuArrayGetDescriptor, struct array_descriptor *, CUarray)
OLD(cuMemcpy2D, const struct copy_2d *)

static void narrow(void)
{
	const struct array_descriptor flat = { 64, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1 };
	struct array_descriptor described;
	struct copy_2d copy = { .from_type = CU_MEMORYTYPE_DEVICE,
				.from_pitch = 512,
				.to_type = CU_MEMORYTYPE_HOST,
				.to_pitch = 16,
				.width = 16,
				.height = 2 };
	unsigned char bytes[64], back[64] = { 0 };
	unsigned left, total, size, pitch;
	address32 one, two, base;
	CUarray array;
	void *pinned;

	start();
	OK(old_cuMemAlloc(&one, 1000));
	OK(old_cuMemAllocPitch(&two, &pitch, 100, 4, 4));
	EXPECT(512, pitch);
	EXPECT(1, one && two && one != two);
	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(3 * i + 1);
	OK(old_cuMemcpyHtoD(one, bytes, sizeof(bytes)));
	OK(old_cuMemcpyDtoDAsync(two, one, 32, NULL));
	OK(old_cuMemcpyDtoH(back, two, 32));
	EXPECT(0, memcmp(back, bytes, 32));
	OK(cuMemcpyDtoH(back, one, 64)); /* the new call takes the address too */
	EXPECT(0, memcmp(back, bytes, 64));
	OK(old_cuMemsetD16(one, 0x1234, 2));
	OK(old_cuMemsetD2D8(two, 512, 7, 16, 2));
	copy.from_device = two;
	copy.to_host = back;
	OK(old_cuMemcpy2D(&copy));
	EXPECT(7, back[31]);
	EXPECT(bytes[32], back[32]);
	OK(old_cuMemGetAddressRange(&base, &size, one + 10));
	EXPECT(one, base);
	EXPECT(1000, size);
	OK(old_cuMemGetInfo(&left, &total));
	EXPECT(0xffffffffll, total); /* 16 GiB do not fit */
	OK(old_cuDeviceTotalMem(&total, 0));
	EXPECT(0xffffffffll, total);
	OK(old_cuArrayCreate(&array, &flat));
	OK(old_cuArrayGetDescriptor(&described, array));
	EXPECT(0, memcmp(&described, &flat, sizeof(flat)));
	OK(old_cuMemcpyHtoA(array, 8, bytes, 16));
	OK(old_cuMemcpyAtoD(one, array, 8, 16));
	OK(old_cuMemcpyDtoH(back, one, 16));
	EXPECT(0, memcmp(back, bytes, 16));
	OK(old_cuMemAllocHost(&pinned, 4096));
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, old_cuMemHostGetDevicePointer(&base, pinned, 0)); /* it lies too high */
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, old_cuModuleGetGlobal(&base, &size, module, "table"));
	OK(old_cuMemFree(one));
	EXPECT(CUDA_ERROR_INVALID_VALUE, old_cuMemFree(one));
	EXPECT(CUDA_ERROR_INVALID_VALUE, old_cuMemcpyHtoD(one, bytes, 4));
	EXPECT(CUDA_ERROR_INVALID_VALUE, old_cuMemAlloc(&one, 0));
	EXPECT(CUDA_ERROR_OUT_OF_MEMORY, old_cuMemAlloc(&one, 0xfffffff0));
}

static void narrow_addresses_are_addresses(void **state)
{
	(void)state;
	run_in_child(narrow, &truth);
	assert_string_equal(truth_nth(&truth, "memcpy", 1)->kind, "\"d2d\"");
	assert_int_equal(truth_calls(&truth, "cuMemAlloc"), 3);
	assert_int_equal(truth_calls(&truth, "cuMemAlloc_v2"), 0);
}

static void in_pieces(void)
{
	CUfunction f;
	CUstream s;
	int value = 5;

	start();
	f = function("old__40us");
	s = stream(0);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunch(f)); /* no shape yet */
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuFuncSetBlockShape(f, 0, 1, 1));
	OK(cuFuncSetBlockShape(f, 32, 2, 1));
	OK(cuFuncSetSharedSize(f, 1024));
	OK(cuParamSetSize(f, 16));
	OK(cuParamSeti(f, 0, 1));
	OK(cuParamSetf(f, 4, 1.5f));
	OK(cuParamSetv(f, 8, &value, sizeof(value)));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuParamSetv(f, 4094, &value, sizeof(value)));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuParamSeti(f, -1, 1));
	OK(cuLaunch(f));
	OK(cuLaunchGrid(f, 4, 4));
	OK(cuLaunchGridAsync(f, 4, 4, s));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunchGrid(f, 0, 4));
	OK(cuFuncSetBlockShape(f, 1024, 2, 1));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunch(f));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuFuncSetSharedSize((CUfunction)s, 8));
	OK(cuCtxSynchronize());
}

static void launches_in_pieces_run(void **state)
{
	(void)state;
	run_in_child(in_pieces, &truth);
	assert_int_equal(truth.count, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(truth.ops[i].end_ns - truth.ops[i].start_ns, 40000);
	assert_int_not_equal(truth.ops[2].stream, 0);
}

static void deprecated(void)
{
	CUdevprop properties;
	CUsharedconfig config;
	CUcontext same, own;

	start();
	OK(cuDeviceGetProperties(&properties, 0));
	EXPECT(1024, properties.maxThreadsPerBlock);
	EXPECT(64, properties.maxThreadsDim[2]);
	EXPECT(32, properties.SIMDWidth);
	EXPECT(512, properties.textureAlign);
	OK(cuCtxGetSharedMemConfig(&config));
	EXPECT(CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE, config);
	OK(cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuCtxSetSharedMemConfig((CUsharedconfig)9));
	OK(cuCtxResetPersistingL2Cache());
	OK(cuCtxCreate(&own, NULL, 0, 0));
	OK(cuCtxAttach(&same, 0));
	EXPECT(1, same == own);
	OK(cuCtxDetach(own));
	OK(cuCtxSynchronize());
	OK(cuCtxDetach(own));
	EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuCtxDetach(own));
	OK(cuCtxGetCurrent(&same));
	EXPECT(1, same == context);
}

static void deprecated_questions_have_answers(void **state)
{
	(void)state;
	run_in_child(deprecated, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(narrow_addresses_are_addresses),
		cmocka_unit_test(launches_in_pieces_run),
		cmocka_unit_test(deprecated_questions_have_answers),
	};

	settings_clear();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
