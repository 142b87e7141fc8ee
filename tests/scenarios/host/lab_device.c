/* SPDX-License-Identifier: BSD-2-Clause */
/* lab_device.c: the device's side of a step: a kernel of known length in each stream of each device. */
#include "lab.h"

#include <cuda.h>
#include <unistd.h>

#define WEIGHTS (8u << 20)
#define MOST 16

static struct {
	CUcontext context;
	CUfunction kernel;
	CUstream streams[MOST];
} devices[MOST];
static long device_count, stream_count;
static CUdeviceptr weights; /* of the first */

#define CHECK(call) REQUIRE((call) == CUDA_SUCCESS)

void device_open(void)
{
	CUmodule module;
	char name[32];

	device_count = lab_param("LAB_DEVICES", 1);
	stream_count = lab_param("LAB_STREAMS", 1);
	REQUIRE(device_count > 0 && device_count <= MOST && stream_count > 0 && stream_count <= MOST);
	/* the simulated driver's kernels are as long as their names say */
	snprintf(name, sizeof(name), "step__%ldus", lab_param("LAB_KERNEL_US", 2000));
	CHECK(cuInit(0));
	for (int i = (int)device_count - 1; i >= 0; i--) { /* the first is the current one in the end */
		CHECK(cuDevicePrimaryCtxRetain(&devices[i].context, i));
		CHECK(cuCtxSetCurrent(devices[i].context));
		CHECK(cuModuleLoadData(&module, "x"));
		CHECK(cuModuleGetFunction(&devices[i].kernel, module, name));
		for (long k = 0; k < stream_count; k++)
			CHECK(cuStreamCreate(&devices[i].streams[k], CU_STREAM_NON_BLOCKING));
	}
	CHECK(cuMemAlloc(&weights, WEIGHTS));
}

/* A program with one device leaves its context alone. */
static void use(long i)
{
	if (device_count > 1)
		CHECK(cuCtxSetCurrent(devices[i].context));
}

void device_step(void)
{
	for (long i = device_count - 1; i >= 0; i--) {
		use(i);
		for (long k = 0; k < stream_count; k++)
			CHECK(cuLaunchKernel(devices[i].kernel, 64, 1, 1, 128, 1, 1, 0, devices[i].streams[k], NULL,
					     NULL));
	}
}

void device_wait(void)
{
	for (long i = device_count - 1; i >= 0; i--) {
		use(i);
		for (long k = 0; k < stream_count; k++)
			CHECK(cuStreamSynchronize(devices[i].streams[k]));
	}
}

size_t device_read(void *buffer, size_t size)
{
	size = size < WEIGHTS ? size : WEIGHTS;
	CHECK(cuMemcpyDtoH(buffer, weights, size));
	return size;
}
