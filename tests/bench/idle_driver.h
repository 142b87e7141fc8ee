/* SPDX-License-Identifier: BSD-2-Clause */
/* idle_driver.h: what the benchmark and its driver agree on. */
#pragma once

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL /* every symbol under its exported name */
#endif
#include <cuda.h>
#include <stdint.h>

/* The one context, stream, event, kernel and pinned buffer. Nobody looks inside. */
#define ANY ((void *)(uintptr_t)0x10000)

/* The driver's functions, in the order of calls.def, under a name that a recorder does not know: the way past it. */
#define IDLE_CALLS "idle_calls"

#define BENCH(symbol, ...) IDLE_##symbol,
enum idle_call {
#include "calls.def"
};
#undef BENCH
#define IDLE_LAUNCH IDLE_cuLaunchKernel /* its place among them */
