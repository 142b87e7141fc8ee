/* SPDX-License-Identifier: BSD-2-Clause */
/* memset.h: memsets, as a graph node keeps them. Locked. */
#pragma once

#include "call.h"
#include "memory.h"

struct set {
	CUDA_MEMSET_NODE_PARAMS_v2 params;
	struct memory_place place;
};

/* CUDA_ERROR_INVALID_VALUE; a set of no bytes is fine and has width 0. */
CUresult set_resolve(const CUDA_MEMSET_NODE_PARAMS_v2 *params, struct set *set);

/* The operation, to be submitted to a stream of the device; NULL: out of memory. */
struct op *set_op(const struct set *set, int device);
