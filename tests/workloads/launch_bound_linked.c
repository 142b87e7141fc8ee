/* SPDX-License-Identifier: BSD-2-Clause */
/* launch_bound_linked LAUNCHES SPACING_US EVERY [KERNEL_US]: tiny kernels (2 us) in one stream, then one synchronise. From launch to launch
 * it computes for a time that goes up and down between SPACING_US / 2 and 3 SPACING_US / 2, and after every EVERY-th asks whether the stream
 * is done (0: never). The device is idle most of the time, and unless it asks nothing it records can show when. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "host_time.h"

int main(int argc, char **argv)
{
	long launches, spacing_ns, every;
	CUcontext context;
	CUmodule module;
	CUfunction kernel;
	CUstream s;
	char name[32];

	if (argc != 4 && argc != 5)
		return 2;
	snprintf(name, sizeof(name), "tiny__%ldus", argc == 5 ? atol(argv[4]) : 2);
	launches = atol(argv[1]);
	spacing_ns = atol(argv[2]) * 1000;
	every = atol(argv[3]);
	check(cuInit(0), "cuInit");
	check(cuDevicePrimaryCtxRetain(&context, 0), "retain");
	check(cuCtxSetCurrent(context), "set current");
	check(cuModuleLoadData(&module, "x"), "load");
	check(cuModuleGetFunction(&kernel, module, name), "function");
	check(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), "create");
	for (long i = 0; i < launches; i++) {
		check(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, s, NULL, NULL), "launch");
		if (every && i % every == every - 1 && cuStreamQuery(s) > CUDA_ERROR_NOT_READY)
			return 1;
		if (spacing_ns)
			compute(spacing_ns / 2 + spacing_ns * (i * 37 % 101) / 100);
	}
	check(cuStreamSynchronize(s), "synchronise");
	return 0;
}
