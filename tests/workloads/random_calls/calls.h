/* SPDX-License-Identifier: BSD-2-Clause */
/* calls.h: what random_calls' families of calls share: their arguments, good and bad, and how a call is printed. */
#pragma once

#include "common_driver.h"
#include "common_random.h"

/* ---- arguments ------------------------------------------------------------------------------------------- */

enum { HANDLES = 12, HOST_BYTES = 1 << 18 };

/* The last few handles of a kind. Contexts, modules, functions and memory destroyed meanwhile stay: stale handles are among the
 * arguments. Streams and events do not: the driver may give their handles out again, and to a recorder that makes events
 * of its own, or uses the thread's default stream before the program does. They are used once, just after their end. */
struct pool {
	uintptr_t items[HANDLES];
	unsigned count;
};

extern struct random rng;
extern struct pool contexts, modules, functions, streams, events, pointers;
extern void *pinned[HANDLES]; /* live only: a copy to memory that is gone would crash without any driver */
extern uint8_t pageable[HOST_BYTES];

unsigned below(unsigned limit);
bool one_in(unsigned n);

void pool_add(struct pool *pool, uintptr_t handle);
/* One that is then no longer in the pool; 0 if there is none. */
uintptr_t pool_take(struct pool *pool);
/* Mostly a handle of this kind that is or was good; else none, a handle of another kind, or an invented one. */
uintptr_t pick(const struct pool *pool);

CUstream a_stream(void);
size_t a_size(void);
void *host_memory(size_t bytes);
CUdeviceptr a_pointer(void);
/* For copies that take any address: what is no device memory is then host memory, and an invented address a crash. */
CUdeviceptr a_real_pointer(void);
void nothing(void *argument); /* for the host to run */

/* ---- printing -------------------------------------------------------------------------------------------- */

extern unsigned call_number;

#define SHOW(sym, ...) show(#sym, CU(sym, __VA_ARGS__))
CUresult show(const char *symbol, CUresult result);

/* Done or not yet: not for us to say. */
#define SHOW_QUERY(sym, ...) show_query(#sym, CU(sym, __VA_ARGS__))
void show_query(const char *symbol, CUresult result);

#define UNTOUCHED ((uintptr_t)0x5a5a5a5a)
void show_handle(uintptr_t handle);
void show_number(long long number);
void show_context(CUcontext context);
void show_data(const uint8_t *data, size_t bytes);

/* ---- calls ----------------------------------------------------------------------------------------------- */

/* device.c */
void call_init(void);
void call_device(void);
void call_error_name(void);
/* context.c */
void call_context_make(void);
void call_context_end(void);
void call_context(void);
void call_synchronize(void);
/* kernel.c */
void call_module(void);
void call_launch(void);
void call_host_function(void);
void call_function(void);
void call_lookup(void);
/* stream.c */
void call_stream(void);
void call_event(void);
/* memory.c */
void call_memory(void);
void call_pinned(void);
void call_copy(void);
void call_set(void);
