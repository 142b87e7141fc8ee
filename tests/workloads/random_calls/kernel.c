/* SPDX-License-Identifier: BSD-2-Clause */
#include "calls.h"

#include <dlfcn.h>

void call_module(void)
{
	static const char *const names[] = { "k__5us", "k__40us", "k__150us", "missing_k", "", "a name with spaces",
					     NULL };
	CUmodule module = (CUmodule)UNTOUCHED;
	CUfunction function = (CUfunction)UNTOUCHED;
	CUdeviceptr pointer = UNTOUCHED;
	size_t bytes = UNTOUCHED;
	const char *name = names[below(sizeof(names) / sizeof(*names))];

	switch (below(8)) {
	case 0:
		if (SHOW(cuModuleLoadData, one_in(8) ? NULL : &module, one_in(8) ? NULL : "image") == CUDA_SUCCESS)
			pool_add(&modules, (uintptr_t)module);
		show_handle((uintptr_t)module);
		break;
	case 1:
		if (SHOW(cuModuleLoadDataEx, &module, "image", 0, NULL, NULL) == CUDA_SUCCESS)
			pool_add(&modules, (uintptr_t)module);
		show_handle((uintptr_t)module);
		break;
	case 2:
		if (one_in(3))
			SHOW(cuModuleUnload, (CUmodule)pick(&modules));
		break;
	case 3:
		SHOW(cuModuleGetGlobal_v2, &pointer, &bytes, (CUmodule)pick(&modules), name);
		show_handle((uintptr_t)pointer);
		show_number((long long)bytes);
		break;
	default:
		if (SHOW(cuModuleGetFunction, one_in(12) ? NULL : &function, (CUmodule)pick(&modules), name) ==
		    CUDA_SUCCESS)
			pool_add(&functions, (uintptr_t)function);
		show_handle((uintptr_t)function);
	}
}

static unsigned a_dimension(void)
{
	static const unsigned dimensions[] = { 1, 1, 1, 2, 32, 64, 128, 1024, 0, 1025, 70000, 0xffffffff };

	return dimensions[below(one_in(6) ? 12 : 4)];
}

void call_launch(void)
{
	CUfunction f = (CUfunction)pick(&functions);
	CUstream s = a_stream();
	unsigned x = a_dimension(), y = a_dimension(), z = a_dimension(), bx = a_dimension(), by = a_dimension(),
		 bz = a_dimension();
	unsigned shared = one_in(10) ? 1u << (8 + below(16)) : 0;
	CUlaunchConfig config = { .gridDimX = x,
				  .gridDimY = y,
				  .gridDimZ = z,
				  .blockDimX = bx,
				  .blockDimY = by,
				  .blockDimZ = bz,
				  .sharedMemBytes = shared,
				  .hStream = s };

	switch (below(8)) {
	case 0:
		SHOW(cuLaunchKernelEx, one_in(10) ? NULL : &config, f, NULL, NULL);
		break;
	case 1:
		SHOW(cuLaunchCooperativeKernel, f, x, y, z, bx, by, bz, shared, s, NULL);
		break;
	default:
		SHOW(cuLaunchKernel, f, x, y, z, bx, by, bz, shared, s, NULL, NULL);
	}
}

void call_host_function(void)
{
	SHOW(cuLaunchHostFunc, a_stream(), one_in(8) ? NULL : nothing, NULL);
}

void call_function(void)
{
	int value = (int)UNTOUCHED;

	SHOW(cuFuncGetAttribute, &value, (CUfunction_attribute)below(12), (CUfunction)pick(&functions));
	show_number(value);
}

/* Both ways to a function must lead to the same one. */
void call_lookup(void)
{
	static __typeof__(cuGetProcAddress_v2) *get;
	static const char *const names[] = {
		"cuLaunchKernel", "cuMemAlloc", "cuMemAlloc_v2", "cuNoSuchThing", "", NULL
	};
	CUdriverProcAddressQueryResult status = (CUdriverProcAddressQueryResult)99;
	const char *name = names[below(6)];
	void *function = (void *)UNTOUCHED;
	int version = one_in(4) ? (int)below(99999) : 12000;
	CUresult result;

	if (!get)
		*(void **)&get = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuGetProcAddress_v2");
	result = get(name, one_in(10) ? NULL : &function, version, one_in(4) ? below(5) : 0, &status);
	show("cuGetProcAddress_v2", result);
	show_handle((uintptr_t)function);
	show_number(status);
}
