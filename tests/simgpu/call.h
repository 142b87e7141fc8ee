/* SPDX-License-Identifier: BSD-2-Clause */
/* call.h: the door every implemented call comes through, and the prototypes of the implementations.
 * An implementation is api_<noun>(call, the call's own parameters); entry_points.def binds it to one or more exported names. */
#pragma once

#include "sim.h"

/* What a call needs before it is looked at. UNSAFE is or-ed to it: the call may be prohibited while a stream captures, see
 * capture.h. */
enum need { NEED_NOTHING, NEED_INIT, NEED_CONTEXT, NEED_MASK = 3, UNSAFE = 4 };

struct call {
	uint64_t entry_ns;
	CUcontext context; /* current in this thread; not NULL where the row says NEED_CONTEXT */
	bool per_thread;   /* a _ptsz or _ptds variant: stream 0 is the thread's own */
};

#define CALL __attribute__((unused)) const struct call *call

/* Counts the call; anything but CUDA_SUCCESS is its result. */
CUresult call_enter(struct call *call, unsigned call_id, unsigned needs, bool per_thread);

#define WITH_CALL(...) (const struct call *call, __VA_ARGS__)
#define ENTRY(symbol, implementation, need, params, ...) CUresult api_##implementation WITH_CALL params;
#define ENTRY0(symbol, implementation, need) CUresult api_##implementation(const struct call *call);
#define ENTRY_PTSZ ENTRY
#define ENTRY_PTDS ENTRY
#include "entry_points.def"
#undef ENTRY
#undef ENTRY0
#undef ENTRY_PTSZ
#undef ENTRY_PTDS
