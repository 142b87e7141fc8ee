/* SPDX-License-Identifier: BSD-2-Clause */
/* call_sites_linked [STEPS]: a training loop in C whose device waits, step by step, for a read that sleeps, code that computes, and a value that
 * is read back: each in a function, and on a line, that a test knows by the words at its end. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "host_time.h"

#define FUNCTION __attribute__((noinline, noclone))
#define BEHIND __asm__ volatile("" : : : "memory")

static CUfunction kernel;
static CUdeviceptr loss;

static inline __attribute__((always_inline)) void wait_for_disk(void)
{
	usleep(20000); /* the sleep */
}

FUNCTION static void read_batch(void)
{
	wait_for_disk(); /* the read */
	BEHIND;
}

FUNCTION static void augment(void)
{
	compute(10000000); /* the computing */
	BEHIND;
}

FUNCTION static void step(void)
{
	float value;

	CHECK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL)); /* the launch */
	CHECK(cuMemcpyDtoH(&value, loss, sizeof(value)));                      /* the value */
	BEHIND;
}

int main(int argc, char *argv[])
{
	int steps = argc > 1 ? atoi(argv[1]) : 6;
	CUcontext context;
	CUmodule module;
	CUdevice device;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, "any"));
	CHECK(cuModuleGetFunction(&kernel, module, "work__2000us"));
	CHECK(cuMemAlloc(&loss, 64));
	step(); /* the first step */
	for (int i = 0; i < steps; i++) {
		read_batch();
		augment(); /* after the read */
		step();    /* the step */
	}
	CHECK(cuDevicePrimaryCtxRelease(device));
	return 0;
}
