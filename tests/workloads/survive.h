/* SPDX-License-Identifier: BSD-2-Clause */
/* survive.h: what the survive_* programs share: each is `survive_X CASE`, counts the calls that have returned in the file that
 * SURVIVE_COUNTER names, and is told apart from itself under the shim by nothing that it prints. */
#pragma once

#include "common_driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static CUcontext context;
static CUfunction kernel;
static CUdeviceptr memory;

#define REQUIRE(what)                                                              \
	do {                                                                       \
		if (!(what)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
			_exit(3);                                                  \
		}                                                                  \
	} while (0)

/* The driver's functions, and a file for the counts. No call yet. */
static inline void link_driver(void)
{
	const char *counter = getenv("SURVIVE_COUNTER");

#ifdef SURVIVE_BY_NAME /* of a driver that has what the case needs, and little else */
	void *handle = dlopen("libcuda.so.1", RTLD_NOW);

	for (unsigned i = 0; i < CALL_COUNT; i++)
		*driver_rows[i].place = dlsym(handle, driver_rows[i].symbol);
#else
#define CALL(sym, name, version) driver.sym = sym;
#include "driver_calls.def"
#undef CALL
#endif
	if (counter)
		calls_count_in(counter);
}

/* A context and a kernel of this many microseconds. */
static inline void start(const char *name)
{
	CUmodule module;

	REQUIRE(CU(cuInit, 0) == CUDA_SUCCESS);
	REQUIRE(CU(cuDevicePrimaryCtxRetain, &context, 0) == CUDA_SUCCESS);
	REQUIRE(CU(cuCtxSetCurrent, context) == CUDA_SUCCESS);
	REQUIRE(CU(cuModuleLoadData, &module, "x") == CUDA_SUCCESS);
	REQUIRE(CU(cuModuleGetFunction, &kernel, module, name) == CUDA_SUCCESS);
	REQUIRE(CU(cuMemAlloc_v2, &memory, 1 << 20) == CUDA_SUCCESS);
}

static inline CUresult launch(CUstream s)
{
	return CU(cuLaunchKernel, kernel, 1, 1, 1, 32, 1, 1, 0, s, NULL, NULL);
}

static inline void work(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		REQUIRE(launch(NULL) == CUDA_SUCCESS);
		if (i % 4 == 3)
			REQUIRE(CU(cuStreamSynchronize, NULL) == CUDA_SUCCESS);
	}
}

struct survive_case {
	const char *name;
	void (*run)(void);
};

/* The case that the first argument names; 2 is "no such case". */
static inline int survive_main(const struct survive_case *cases, size_t n, int argc, char **argv)
{
	link_driver();
	for (size_t i = 0; i < n && argc > 1; i++)
		if (strcmp(cases[i].name, argv[1]) == 0) {
			cases[i].run();
			puts("end");
			return 0;
		}
	return 2;
}
