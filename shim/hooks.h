/* SPDX-License-Identifier: BSD-2-Clause */
/* hooks.h: what hooks.def expands to: ids, the driver's own functions, the table that joins names and pointers. */
#pragma once

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL /* every exported name is itself: no cuMemAlloc -> cuMemAlloc_v2 macros */
#endif
#include <cuda.h>
#include <cudaProfiler.h>
#include <stdint.h>

#include "format.h"

#define HOOK(sym, ...) HOOK_##sym,
#define HOOKX(sym, ...) HOOK_##sym,
#define REAL(sym, ...) HOOK_##sym,
enum hook_id {
#include "hooks.def"
	HOOK_COUNT
};
#undef HOOK
#undef HOOKX
#undef REAL
_Static_assert(HOOK_COUNT <= GST_HOOK_MAX, "counters.injected has a place for every hook");

/* The driver's functions. Never NULL: each starts at a stub that finds the driver, and becomes the driver's function or one
 * that returns CUDA_ERROR_NOT_SUPPORTED. */
#define HOOK(sym, family, params, ...) CUresult (*sym) params;
#define HOOKX(sym, family, before, after, params, ...) CUresult (*sym) params;
#define REAL(sym, params, ...) CUresult (*sym) params;
struct real {
#include "hooks.def"
};
#undef HOOK
#undef HOOKX
#undef REAL
extern struct real real;

struct hook {
	const char *name;
	void **real;    /* its place in struct real */
	void *absent;   /* what it becomes if the driver has none */
	void *wrapper;  /* ours, exported; NULL for functions we only call */
};
extern const struct hook hooks[HOOK_COUNT];

/* A driver call of our own: counted under its name, so that what the program did can be told from what we did. */
#define INJECT(sym, ...) (hook_count_injected(HOOK_##sym), real.sym(__VA_ARGS__))
void hook_count_injected(enum hook_id id);
