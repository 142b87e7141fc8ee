/* SPDX-License-Identifier: BSD-2-Clause */
/* memset.c: memsets. They return at once, except one of host memory, or of memory with
 * SYNC_MEMOPS, by a synchronous call, which returns when it is done.
 * They need no copy engine: they run beside kernels, in a kernel's slot if they are small. */
#include "memset.h"

#include "capture.h"
#include "context.h"
#include "settings.h"
#include "stream.h"

CUresult set_resolve(const CUDA_MEMSET_NODE_PARAMS_v2 *p, struct set *set)
{
	const unsigned element = p->elementSize;
	size_t width, extent;
	CUresult result;

	set->params = *p;
	if (element != 1 && element != 2 && element != 4)
		return CUDA_ERROR_INVALID_VALUE;
	if (!p->width || !p->height) {
		set->params.width = 0;
		return CUDA_SUCCESS;
	}
	if (p->dst % element || __builtin_mul_overflow(p->width, element, &width))
		return CUDA_ERROR_INVALID_VALUE;
	extent = width;
	if (p->height > 1 &&
	    (p->pitch < width || p->pitch % element || __builtin_mul_overflow(p->pitch, p->height - 1, &extent) ||
	     __builtin_add_overflow(extent, width, &extent)))
		return CUDA_ERROR_INVALID_VALUE;
	result = memory_classify((uintptr_t)p->dst, extent, &set->place);
	if (!result && (set->place.kind == MEMORY_PAGEABLE ||
			(set->place.device != NO_DEVICE && !(set->place.writable & 1u << set->place.device))))
		result = CUDA_ERROR_INVALID_VALUE;
	return result;
}

struct op *set_op(const struct set *set, int device)
{
	const CUDA_MEMSET_NODE_PARAMS_v2 *p = &set->params;
	struct op *op = op_new(OP_MEMSET, device);

	if (!op)
		return NULL;
	op->transfer = (struct transfer){ .to = (void *)(uintptr_t)p->dst,
					  .bytes = p->width * p->elementSize * p->height,
					  .pattern = p->value,
					  .pattern_bytes = (uint8_t)p->elementSize };
	if (p->height > 1) {
		op->transfer.rows = p->height;
		op->transfer.slices = 1;
		op->transfer.to_pitch = p->pitch;
	}
	op->duration_ns = (uint64_t)((double)op->transfer.bytes / settings()->memset_bytes_per_ns);
	op->takes_real_time = op->transfer.bytes > SIM_STAGE_BYTES;
	return op;
}

static CUresult submit(const struct call *call, struct CUstream_st *stream, const struct set *set, bool async)
{
	bool wait = !async && (set->place.synchronous || !memory_on_device(set->place.kind));
	struct op *op = set_op(set, stream->context->device);

	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	op->owned = wait && op->takes_real_time;
	stream_submit(call, stream, op);
	if (op->owned)
		op_run_owned(op);
	if (wait)
		op_wait(op, context_wait_how(stream->context));
	op_unref(op);
	return CUDA_SUCCESS;
}

static CUresult capture_set(struct CUstream_st *stream, const struct set *set)
{
	CUgraphNodeParams node = { .type = CU_GRAPH_NODE_TYPE_MEMSET };

	node.memset = set->params;
	node.memset.ctx = stream->context;
	return capture_add(stream, &node);
}

static CUresult set_run(const struct call *call, CUDA_MEMSET_NODE_PARAMS_v2 params, CUstream s, bool async)
{
	struct CUstream_st *stream;
	struct set set;
	CUresult result;

	sim_lock();
	if (async)
		result = stream_resolve_capturable(call, s, &stream);
	else
		result = stream_resolve(call, s, &stream);
	if (!result)
		result = set_resolve(&params, &set);
	if (!result && set.params.width)
		result = stream->capture ? capture_set(stream, &set) : submit(call, stream, &set, async);
	sim_unlock();
	return result;
}

static CUDA_MEMSET_NODE_PARAMS_v2 plane(CUdeviceptr to, size_t pitch, unsigned value, unsigned element, size_t width,
					size_t height)
{
	return (CUDA_MEMSET_NODE_PARAMS_v2){
		.dst = to, .pitch = pitch, .value = value, .elementSize = element, .width = width, .height = height
	};
}

#define SET(bits, type)                                                                                            \
	CUresult api_set_##bits(CALL, CUdeviceptr to, type value, size_t count)                                    \
	{                                                                                                          \
		return set_run(call, plane(to, 0, value, bits / 8, count, 1), NULL, false);                        \
	}                                                                                                          \
	CUresult api_set_##bits##_async(CALL, CUdeviceptr to, type value, size_t count, CUstream s)                \
	{                                                                                                          \
		return set_run(call, plane(to, 0, value, bits / 8, count, 1), s, true);                            \
	}                                                                                                          \
	CUresult api_set_plane_##bits(CALL, CUdeviceptr to, size_t pitch, type value, size_t width, size_t height) \
	{                                                                                                          \
		return set_run(call, plane(to, pitch, value, bits / 8, width, height), NULL, false);               \
	}                                                                                                          \
	CUresult api_set_plane_##bits##_async(CALL, CUdeviceptr to, size_t pitch, type value, size_t width,        \
					      size_t height, CUstream s)                                           \
	{                                                                                                          \
		return set_run(call, plane(to, pitch, value, bits / 8, width, height), s, true);                   \
	}
SET(8, unsigned char)
SET(16, unsigned short)
SET(32, unsigned int)
