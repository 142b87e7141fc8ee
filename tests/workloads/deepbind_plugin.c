/* SPDX-License-Identifier: BSD-2-Clause */
/* deepbind_plugin.c: a library that works with the driver, by calls that it is linked with or by functions that it looks up. Loaded
 * with RTLD_DEEPBIND it finds its own libraries' functions before those of anything preloaded, dlsym among them. */
#define __CUDA_API_VERSION_INTERNAL /* every exported name is itself */
#include <cuda.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int plugin_work(const char *route);

/* Every call, in order, with what it returned. */
static CUresult called(const char *name, CUresult rc)
{
	printf("%s %d\n", name, (int)rc);
	return rc;
}

struct functions {
	__typeof__(cuInit) *cuInit;
	__typeof__(cuDeviceGetCount) *cuDeviceGetCount;
	__typeof__(cuDevicePrimaryCtxRetain) *cuDevicePrimaryCtxRetain;
	__typeof__(cuCtxSetCurrent) *cuCtxSetCurrent;
	__typeof__(cuModuleLoadData) *cuModuleLoadData;
	__typeof__(cuModuleGetFunction) *cuModuleGetFunction;
	__typeof__(cuMemAlloc_v2) *cuMemAlloc_v2;
	__typeof__(cuMemcpyHtoD_v2) *cuMemcpyHtoD_v2;
	__typeof__(cuLaunchKernel) *cuLaunchKernel;
	__typeof__(cuCtxSynchronize) *cuCtxSynchronize;
};

static int work(const struct functions *f)
{
	CUcontext context = NULL;
	CUfunction kernel = NULL;
	CUmodule module = NULL;
	CUdeviceptr memory = 0;
	char bytes[4096] = { 0 };
	int devices = 0;

	called("cuInit", f->cuInit(0));
	f->cuDeviceGetCount(&devices); /* not recorded */
	printf("# %d devices\n", devices);
	called("cuDevicePrimaryCtxRetain", f->cuDevicePrimaryCtxRetain(&context, 0));
	called("cuCtxSetCurrent", f->cuCtxSetCurrent(context));
	called("cuModuleLoadData", f->cuModuleLoadData(&module, "image"));
	called("cuModuleGetFunction", f->cuModuleGetFunction(&kernel, module, "plugin_kernel__50us"));
	called("cuMemAlloc_v2", f->cuMemAlloc_v2(&memory, sizeof(bytes)));
	called("cuMemcpyHtoD_v2", f->cuMemcpyHtoD_v2(memory, bytes, sizeof(bytes)));
	for (int i = 0; i < 3; i++)
		called("cuLaunchKernel", f->cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	return (int)called("cuCtxSynchronize", f->cuCtxSynchronize());
}

static const struct functions linked = {
	cuInit,           cuDeviceGetCount, cuDevicePrimaryCtxRetain,
	cuCtxSetCurrent,  cuModuleLoadData, cuModuleGetFunction,
	cuMemAlloc_v2,    cuMemcpyHtoD_v2,  cuLaunchKernel,
	cuCtxSynchronize,
};

static const char *const names[] = { "cuInit",          "cuDeviceGetCount", "cuDevicePrimaryCtxRetain",
				     "cuCtxSetCurrent", "cuModuleLoadData", "cuModuleGetFunction",
				     "cuMemAlloc_v2",   "cuMemcpyHtoD_v2",  "cuLaunchKernel",
				     "cuCtxSynchronize" };

int plugin_work(const char *route)
{
	const char *library = strcmp(route, "short") == 0 ? "libcuda.so" : "libcuda.so.1";
	void *cuda = dlopen(library, RTLD_NOW | RTLD_LOCAL), *found[sizeof(names) / sizeof(*names)];
	__typeof__(cuGetProcAddress_v2) *look_up;
	struct functions f;

	if (!cuda)
		return 3;
	printf("# absent: %s\n", dlsym(cuda, "cuNoSuchFunction") ? "found" : "none");
	if (strcmp(route, "linked") == 0)
		return work(&linked);
	look_up = (__typeof__(look_up))dlsym(cuda, "cuGetProcAddress_v2");
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char name[64];

		snprintf(name, sizeof(name), "%s", names[i]);
		found[i] = dlsym(cuda, name);
		if (strcmp(route, "lookup") != 0)
			continue;
		if (strcmp(name + strlen(name) - 3, "_v2") == 0)
			name[strlen(name) - 3] = 0;
		found[i] = NULL;
		called("cuGetProcAddress_v2", look_up(name, &found[i], 12000, 0, NULL));
	}
	memcpy(&f, found, sizeof(f));
	return work(&f);
}
