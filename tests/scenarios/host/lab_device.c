/* SPDX-License-Identifier: BSD-2-Clause */
/* lab_device.c: the device's side of a step: one kernel of known length in one stream. */
#include "lab.h"

#include <cuda.h>
#include <unistd.h>

#define WEIGHTS (8u << 20)

static CUstream stream;
static CUfunction kernel;
static CUdeviceptr weights;

#define CHECK(call) REQUIRE((call) == CUDA_SUCCESS)

void device_open(void)
{
	CUcontext context;
	CUmodule module;

	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, "x")); /* the simulated driver's kernels are as long as their names say */
	CHECK(cuModuleGetFunction(&kernel, module, "step__2000us"));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc(&weights, WEIGHTS));
}

void device_step(void)
{
	CHECK(cuLaunchKernel(kernel, 64, 1, 1, 128, 1, 1, 0, stream, NULL, NULL));
}

void device_wait(void)
{
	CHECK(cuStreamSynchronize(stream));
}

size_t device_read(void *buffer, size_t size)
{
	size = size < WEIGHTS ? size : WEIGHTS;
	CHECK(cuMemcpyDtoH(buffer, weights, size));
	return size;
}
