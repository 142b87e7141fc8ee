/* SPDX-License-Identifier: BSD-2-Clause */
/* cuGetProcAddress: every name the runtime asks for, versions, per-thread variants; and that all names are exported. */
#include "test_simgpu.h"

#include <dlfcn.h>

struct request {
	const char *name;
	int version;
	cuuint64_t flags;
};

static const struct request requests[] = {
#define REQUEST(name, version, flags) { #name, version, flags },
#include "cudart13_requests.def"
};

static void *look_up(const char *name, int version, cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
	void *address = &address;

	OK(cuGetProcAddress(name, &address, version, flags, status));
	return address;
}

static void resolve_all(void)
{
	CUdriverProcAddressQueryResult status;
	Dl_info info;

	for (unsigned i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
		const struct request *request = &requests[i];
		void *address = look_up(request->name, request->version, request->flags, &status);

		if (!address || status)
			fprintf(stderr, "%s %d %llu: not found\n", request->name, request->version,
				(unsigned long long)request->flags);
		EXPECT(0, status);
		EXPECT(1, address && dladdr(address, &info) && info.dli_sname);
		EXPECT(0, strncmp(info.dli_sname, request->name, strlen(request->name)));
		EXPECT(1, dlsym(RTLD_DEFAULT, info.dli_sname) == address);
	}
}

static void everything_the_runtime_asks_for_resolves_to_an_export(void **state)
{
	(void)state;
	run_in_child(resolve_all, NULL);
}

static void expect_symbol(const char *symbol, const char *name, int version, cuuint64_t flags)
{
	if (look_up(name, version, flags, NULL) != dlsym(RTLD_DEFAULT, symbol)) {
		fprintf(stderr, "%s %d %d is not %s\n", name, version, (int)flags, symbol);
		_exit(1);
	}
}

static void variants(void)
{
	CUdriverProcAddressQueryResult status;
	void *address;

	expect_symbol("cuMemAlloc", "cuMemAlloc", 3010, 0);
	expect_symbol("cuMemAlloc_v2", "cuMemAlloc", 3020, 0);
	expect_symbol("cuMemAlloc_v2", "cuMemAlloc", 13000, 2);
	expect_symbol("cuCtxCreate", "cuCtxCreate", 2000, 0);
	expect_symbol("cuCtxCreate_v2", "cuCtxCreate", 11000, 0);
	expect_symbol("cuCtxCreate_v3", "cuCtxCreate", 12000, 0);
	expect_symbol("cuCtxCreate_v4", "cuCtxCreate", 13000, 0);
	expect_symbol("cuLaunchKernel", "cuLaunchKernel", 12000, 0);
	expect_symbol("cuLaunchKernel", "cuLaunchKernel", 12000, CU_GET_PROC_ADDRESS_LEGACY_STREAM);
	expect_symbol("cuLaunchKernel_ptsz", "cuLaunchKernel", 12000, 2);
	expect_symbol("cuMemcpyHtoD_v2_ptds", "cuMemcpyHtoD", 12000, 2);
	expect_symbol("cuMemcpyHtoDAsync_v2_ptsz", "cuMemcpyHtoDAsync", 12000, 2);
	expect_symbol("cuMemcpyHtoD", "cuMemcpyHtoD", 2000, 0);
	expect_symbol("cuEventDestroy_v2", "cuEventDestroy", 4000, 0);
	expect_symbol("cuEventElapsedTime", "cuEventElapsedTime", 12000, 0);
	expect_symbol("cuEventElapsedTime_v2", "cuEventElapsedTime", 12080, 0);
	expect_symbol("cuStreamGetCaptureInfo_v2", "cuStreamGetCaptureInfo", 11030, 0);
	expect_symbol("cuStreamGetCaptureInfo_v3_ptsz", "cuStreamGetCaptureInfo", 13000, 2);
	expect_symbol("cuGetProcAddress_v2", "cuGetProcAddress", 12000, 0);
	expect_symbol("cuCtxGetDevice", "cuCtxGetDevice", 2000, 0);
	expect_symbol("cuCtxGetDevice_v2", "cuCtxGetDevice", 13000, 0);
	expect_symbol("cuDeviceGetUuid_v2", "cuDeviceGetUuid", 11040, 0);

	EXPECT(1, look_up("cuNoSuchCall", 12000, 0, &status) == NULL);
	EXPECT(CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, status);
	EXPECT(1, look_up("cuMemAlloc_v2", 12000, 0, &status) == NULL);
	EXPECT(1, look_up("cuGraphCreate", 9000, 0, &status) == NULL);
	EXPECT(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, status);
	EXPECT(CUDA_ERROR_NOT_FOUND, cuGetProcAddress("", &address, 0, 0, &status));
	EXPECT(1, address == NULL);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress("cuInit", &address, 13001, 0, &status));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress(NULL, &address, 12000, 0, &status));
}

static void version_and_flags_choose_the_variant(void **state)
{
	(void)state;
	run_in_child(variants, NULL);
}

/* Counting through a looked-up pointer is counting. */
static void through_pointers(void)
{
	CUresult (*init)(unsigned) = (CUresult(*)(unsigned))(uintptr_t)look_up("cuInit", 2000, 0, NULL);
	CUresult (*count)(int *) = (CUresult(*)(int *))(uintptr_t)look_up("cuDeviceGetCount", 2000, 0, NULL);
	int n;

	OK(init(0));
	OK(count(&n));
}

static void calls_through_pointers_are_counted(void **state)
{
	static struct truth truth;

	(void)state;
	run_in_child(through_pointers, &truth);
	assert_int_equal(truth_calls(&truth, "cuInit"), 1);
	assert_int_equal(truth_calls(&truth, "cuDeviceGetCount"), 1);
	assert_int_equal(truth_calls(&truth, "cuGetProcAddress_v2"), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_the_runtime_asks_for_resolves_to_an_export),
		cmocka_unit_test(version_and_flags_choose_the_variant),
		cmocka_unit_test(calls_through_pointers_are_counted),
	};

	settings_clear();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
