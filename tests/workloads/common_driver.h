/* SPDX-License-Identifier: BSD-2-Clause */
/* common_driver.h: the driver as a table of functions, so that the same work can reach it by any route; and what a test wants to
 * know about the calls made: how many have returned (readable after SIGKILL), and when each began and ended. */
#pragma once

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL /* every symbol under its exported name: no cuMemAlloc -> cuMemAlloc_v2 macros */
#endif
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

#define CALL(sym, name, version) CALL_##sym,
enum driver_call {
#include "driver_calls.def"
	CALL_COUNT
};
#undef CALL

#define CALL(sym, name, version) __typeof__(sym) *sym;
struct driver {
#include "driver_calls.def"
};
#undef CALL
extern struct driver driver; /* the program fills it before anything else */

struct driver_row {
	const char *symbol, *name;
	int version;
	void **place; /* in `driver` */
};
extern const struct driver_row driver_rows[CALL_COUNT];

/* Fills `driver` from a handle of dlopen; exits with 3 if a symbol is missing. */
void driver_from_dlsym(void *handle);

/* A call through the table, counted when it has returned. CU_WAITS: by its contract the device has finished this work, and
 * all before it in the stream, when it returns. */
#define CU(sym, ...) CU_CALL(sym, false, __VA_ARGS__)
#define CU_WAITS(sym, ...) CU_CALL(sym, true, __VA_ARGS__)
#define CU_CALL(sym, waits, ...)                                           \
	({                                                                 \
		uint64_t cu_begin_ns_ = call_begin();                      \
		CUresult cu_result_ = driver.sym(__VA_ARGS__);             \
		call_end(CALL_##sym, waits, cu_begin_ns_, cu_result_);     \
		cu_result_;                                                \
	})

uint64_t now_ns(void); /* CLOCK_MONOTONIC */
uint64_t call_begin(void);
void call_end(enum driver_call call, bool waits, uint64_t begin_ns, CUresult result);

/* Counts go to this file, one uint64_t per row of driver_calls.def, shared: what stands there has returned. */
void calls_count_in(const char *path);
/* Keep each call's times, for calls_write. */
void calls_keep(void);
/* One line per call: begin_ns end_ns symbol thread result waits. Call it when the other threads have ended. */
void calls_write(const char *path);
/* The symbols in the order of the counter file. */
void calls_print_names(void);
