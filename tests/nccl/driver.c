/* SPDX-License-Identifier: BSD-2-Clause */
#include "driver.h"

#include "standin.h"
#include "tests/simgpu/kernel_body.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct driver driver;

/* What driver.def means: some calls have other parameters in the driver's later versions than in cuda.h. */
enum { INTERFACE_VERSION = 12000 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool ready;
static CUlibrary kernels;

/* The kernels that the real library (2.28.9) has for what people use most; all else runs in the one called Generic. */
static const char *const typed[] = { "Reduce", "AllReduce", "ReduceScatter" };
static const char *const types[] = { "u8", "u32", "u64", "f16", "bf16", "f32", "f64", "f8e4m3", "f8e5m2" };
static const char *const plain[] = { "AllGather_RING_LL", "Broadcast_RING_LL", "SendRecv", "Generic" };

enum {
	TYPED = sizeof(typed) / sizeof(*typed),
	TYPES = sizeof(types) / sizeof(*types),
	PLAIN = sizeof(plain) / sizeof(*plain)
};
enum { KERNELS = TYPED * TYPES + PLAIN, NAME_BYTES = 96 };

static char names[KERNELS][NAME_BYTES];

static void mangle(char *name, const char *middle)
{
	char plain_name[NAME_BYTES / 2];
	int length = snprintf(plain_name, sizeof(plain_name), "ncclDevKernel_%s", middle);

	snprintf(name, NAME_BYTES, "_Z%d%s24ncclDevKernelArgsStorageILm4096EE", length, plain_name);
}

static void make_names(void)
{
	for (unsigned f = 0; f < TYPED; f++)
		for (unsigned t = 0; t < TYPES; t++) {
			char middle[48];

			snprintf(middle, sizeof(middle), "%s_Sum_%s_RING_LL", typed[f], types[t]);
			mangle(names[f * TYPES + t], middle);
		}
	for (unsigned p = 0; p < PLAIN; p++)
		mangle(names[TYPED * TYPES + p], plain[p]);
}

/* Sums of signed numbers are those of unsigned ones. */
static const unsigned type_row[ncclNumTypes] = {
	[ncclInt8] = 0,    [ncclUint8] = 0,   [ncclInt32] = 1,      [ncclUint32] = 1,
	[ncclInt64] = 2,   [ncclUint64] = 2,  [ncclFloat16] = 3,    [ncclBfloat16] = 4,
	[ncclFloat32] = 5, [ncclFloat64] = 6, [ncclFloat8e4m3] = 7, [ncclFloat8e5m2] = 8
};

const char *kernel_name(int function, ncclDataType_t type, ncclRedOp_t op)
{
	unsigned plain_row = 3;

	switch (function) {
	case FUNCTION_REDUCE:
	case FUNCTION_ALL_REDUCE:
	case FUNCTION_REDUCE_SCATTER:
		if (op == ncclSum)
			return names[(unsigned)(function - FUNCTION_REDUCE) * TYPES + type_row[type]];
		break;
	case FUNCTION_ALL_GATHER:
		plain_row = 0;
		break;
	case FUNCTION_BROADCAST:
		plain_row = 1;
		break;
	case FUNCTION_GENERIC:
		break;
	default: /* by sending and receiving */
		plain_row = 2;
	}
	return names[TYPED * TYPES + plain_row];
}

static bool load_kernels(CUresult (*set_body)(CUlibrary, kernel_body *))
{
	const size_t room = KERNELS * 256 + 256;
	char *ptx = malloc(room);
	size_t used;
	bool loaded;

	if (!ptx)
		return false;
	used = (size_t)snprintf(ptx, room, ".version 8.0\n.target sm_90\n.address_size 64\n");
	for (unsigned i = 0; i < KERNELS; i++)
		used += (size_t)snprintf(ptx + used, room - used,
					 ".visible .entry %s(.param .align 16 .b8 args[%d])\n{\n\tret;\n}\n", names[i],
					 KERNEL_ARGUMENT_BYTES);
	loaded = !driver.cuLibraryLoadData(&kernels, ptx, NULL, NULL, 0, NULL, NULL, 0) &&
		 !set_body(kernels, exchange_body);
	free(ptx);
	return loaded;
}

static void load(void)
{
	CUresult (*ask)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
	CUresult (*set_body)(CUlibrary, kernel_body *);
	void *handle = dlopen("libcuda.so.1", RTLD_NOW);

	make_names();
	if (!handle)
		return;
	*(void **)&ask = dlsym(handle, "cuGetProcAddress_v2");
	*(void **)&set_body = dlsym(handle, "simgpuLibrarySetBody");
	if (!ask || !set_body)
		return;
#define DRIVER(name)                                                                                       \
	if (ask(#name, (void **)&driver.name, INTERFACE_VERSION, 0, NULL) != CUDA_SUCCESS || !driver.name) \
		return;
#include "driver.def"
#undef DRIVER
	ready = driver.cuInit(0) == CUDA_SUCCESS && load_kernels(set_body);
}

bool driver_ready(void)
{
	pthread_once(&once, load);
	return ready;
}

ncclResult_t driver_context(CUcontext *context)
{
	if (!driver_ready() || driver.cuCtxGetCurrent(context))
		return ncclUnhandledCudaError;
	if (*context)
		return ncclSuccess;
	if (driver.cuDevicePrimaryCtxRetain(context, 0) || driver.cuCtxSetCurrent(*context))
		return ncclUnhandledCudaError;
	return ncclSuccess;
}

ncclResult_t kernel_find(const char *name, CUfunction *kernel)
{
	CUkernel found;

	return driver.cuLibraryGetKernel(&found, kernels, name) || driver.cuKernelGetFunction(kernel, found)
		       ? ncclUnhandledCudaError
		       : ncclSuccess;
}
