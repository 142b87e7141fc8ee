/* SPDX-License-Identifier: BSD-2-Clause */
/* copy.h: copies. Every call says what it wants as CUDA_MEMCPY3D, which is also what a graph node keeps. Locked, except
 * copy_run. */
#pragma once

#include "call.h"
#include "memory.h"

/* One end: where the first row begins, and how far it is to the next row and the next slice. */
struct copy_side {
	uintptr_t at;
	size_t pitch, slice;
	struct memory_place place;
};

struct copy {
	struct copy_side to, from;
	size_t width, rows, slices; /* bytes, rows in a slice, slices; all at least 1 */
	enum copy_kind kind;
	bool host_only; /* no operation of any device */
};

/* What the parameters come to; CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_HANDLE. A copy of no bytes has width 0. */
CUresult copy_resolve(const CUDA_MEMCPY3D *params, struct copy *copy);

/* The operation, to be submitted to a stream of the device; NULL: out of memory. */
struct op *copy_op(const struct copy *copy, int device);

CUresult copy_submit(const struct call *call, struct CUstream_st *stream, const CUDA_MEMCPY3D *params, bool async);
CUresult copy_run(const struct call *call, const CUDA_MEMCPY3D *params, CUstream s, bool async);

/* A copy of bytes in a row. Types are HOST, DEVICE or UNIFIED, which takes either. */
CUDA_MEMCPY3D copy_of_bytes(CUmemorytype to_type, uintptr_t to, CUmemorytype from_type, uintptr_t from, size_t bytes);
