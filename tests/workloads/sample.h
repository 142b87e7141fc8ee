/* SPDX-License-Identifier: BSD-2-Clause */
/* sample.h: what the sample_* programs share. They are small true programs of the driver API: each brings its kernels as PTX text, written
 * by hand, and checks its results. The simulated driver's kernels compute nothing, so there a sample checks only what copies move; on
 * a real device it checks what its kernels computed too. Each prints lines that are the same in every run. */
#pragma once

#include <cuda.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Any error ends the sample. */
#define CHECK(call)                                                                               \
	do {                                                                                      \
		CUresult result_ = (call);                                                        \
		const char *name_ = NULL;                                                         \
                                                                                                  \
		if (result_ != CUDA_SUCCESS) {                                                    \
			cuGetErrorName(result_, &name_);                                          \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, name_);     \
			exit(1);                                                                  \
		}                                                                                 \
	} while (0)

#define REQUIRE(condition)                                                                        \
	do {                                                                                      \
		if (!(condition)) {                                                               \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);   \
			exit(1);                                                                  \
		}                                                                                 \
	} while (0)

#define PTX_HEADER ".version 6.0\n.target sm_60\n.address_size 64\n"

/* The global index of a thread in %r0, out of blocks in x; uses %r1 to %r3. */
#define PTX_INDEX           \
	"mov.u32 %r1, %ctaid.x;\n"   \
	"mov.u32 %r2, %ntid.x;\n"    \
	"mov.u32 %r3, %tid.x;\n"     \
	"mad.lo.u32 %r0, %r1, %r2, %r3;\n"

static inline CUdevice sample_device(int ordinal)
{
	CUdevice device;
	CUcontext context;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, ordinal));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	return device;
}

static inline bool sample_computes(CUdevice device)
{
	char name[64];

	CHECK(cuDeviceGetName(name, sizeof(name), device));
	return strncmp(name, "simgpu", 6) != 0;
}

static inline CUmodule sample_module(const char *ptx)
{
	CUmodule module;

	CHECK(cuModuleLoadData(&module, ptx));
	return module;
}

static inline CUfunction sample_function(CUmodule module, const char *name)
{
	CUfunction function;

	CHECK(cuModuleGetFunction(&function, module, name));
	return function;
}

static inline unsigned sample_blocks(size_t n, unsigned threads)
{
	return (unsigned)((n + threads - 1) / threads);
}
