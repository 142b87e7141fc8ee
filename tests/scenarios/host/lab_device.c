/* SPDX-License-Identifier: BSD-2-Clause */
/* lab_device.c: the device's side of a step: a kernel of known length in each stream of each device; and behind the first stream's $LAB_LAYERS
 * (0) short ones, no two alike: a step of one kernel is no loop that launches tell. */
#include "lab.h"

#include <cuda.h>
#include <unistd.h>

#define WEIGHTS (8u << 20)
#define MOST 16
#define LAYER_US 50

static struct {
	CUcontext context;
	CUfunction kernel, layers[MOST];
	CUstream streams[MOST];
} devices[MOST];
static long device_count, stream_count, layer_count;
static CUdeviceptr weights; /* of the first */

#define CHECK(call) REQUIRE((call) == CUDA_SUCCESS)

static void open_layers(long device, CUmodule module)
{
	char name[32];

	for (long k = 0; k < layer_count; k++) {
		snprintf(name, sizeof(name), "layer%ld__%dus", k, LAYER_US);
		CHECK(cuModuleGetFunction(&devices[device].layers[k], module, name));
	}
}

void device_open(void)
{
	CUmodule module;
	char name[32];

	device_count = lab_param("LAB_DEVICES", 1);
	stream_count = lab_param("LAB_STREAMS", 1);
	layer_count = lab_param("LAB_LAYERS", 0);
	REQUIRE(layer_count >= 0 && layer_count <= MOST);
	REQUIRE(device_count > 0 && device_count <= MOST && stream_count > 0 && stream_count <= MOST);
	/* the simulated driver's kernels are as long as their names say */
	snprintf(name, sizeof(name), "step__%ldus", lab_param("LAB_KERNEL_US", 2000));
	CHECK(cuInit(0));
	for (int i = (int)device_count - 1; i >= 0; i--) { /* the first is the current one in the end */
		CHECK(cuDevicePrimaryCtxRetain(&devices[i].context, i));
		CHECK(cuCtxSetCurrent(devices[i].context));
		CHECK(cuModuleLoadData(&module, "x"));
		CHECK(cuModuleGetFunction(&devices[i].kernel, module, name));
		open_layers(i, module);
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

static void launch(CUfunction kernel, CUstream stream)
{
	CHECK(cuLaunchKernel(kernel, 64, 1, 1, 128, 1, 1, 0, stream, NULL, NULL));
}

void device_step(void)
{
	for (long i = device_count - 1; i >= 0; i--) {
		use(i);
		for (long k = 0; k < stream_count; k++)
			launch(devices[i].kernel, devices[i].streams[k]);
		for (long k = 0; k < layer_count; k++)
			launch(devices[i].layers[k], devices[i].streams[0]);
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
