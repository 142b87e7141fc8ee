/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_body.h: the one thing that the simulated driver offers beside cuda.h, found by dlsym: kernels that do something, for a
 * library whose kernels wait for other processes. Includable without the simulator.
 *
 * The body of a kernel is called from its start on, at each call of the driver and every 50 us, until it says when the kernel ends.
 * It must be quick and never call the driver, whose lock is held. What is behind the kernel in its stream waits. Such a kernel takes
 * none of the device's 128 places; with SIMGPU_SHARED it has the device for itself. */
#pragma once

#include <cuda.h>
#include <stdint.h>

struct kernel_body_call {
	const void *parameter; /* a copy of the kernel's first parameter, whose size its PTX tells */
	void *state;           /* the body's own, of this launch; NULL at first; free() is called on it at the end */
	uint64_t start_ns, now_ns; /* CLOCK_MONOTONIC */
};

/* When the kernel ends, in the future or, for now, in the past; 0: not known yet. */
typedef uint64_t kernel_body(struct kernel_body_call *call);

/* Every kernel of this library has that body from now on. CUDA_ERROR_INVALID_HANDLE: no such library. */
CUresult simgpuLibrarySetBody(CUlibrary library, kernel_body *body);
