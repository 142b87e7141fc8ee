/* SPDX-License-Identifier: BSD-2-Clause */
/* copy.c: copies and memsets, blocking as CUDA's "API synchronization behavior" says:
 *
 *                    synchronous call                              ...Async
 *   h2d pageable     waits for the stream's prior work, then as    returns once staged: at once up to 64 KiB, else when
 *                    the asynchronous one                          all but the last 64 KiB are on the device
 *   h2d pinned       returns when done                             at once
 *   d2h pageable     returns when done                             returns when done
 *   d2h pinned       returns when done                             at once
 *   d2d              at once                                       at once
 *   memset           at once; of pinned host memory when done      at once
 *   host to host     by the calling thread, behind the stream's prior work; no device operation
 *
 * In a capture an asynchronous call becomes a node, and its bytes are read when the graph runs: nothing is staged.
 * Device-to-device copies and memsets need no copy engine: they run beside kernels, in a kernel's slot if they are small. */
#include "capture.h"
#include "context.h"
#include "memory.h"
#include "settings.h"
#include "stream.h"

#include <string.h>

struct copy {
	uintptr_t to, from;
	size_t bytes;
	bool async;
	enum copy_kind kind;
	bool host_only;
};

static bool on_device(enum memory_kind kind)
{
	return kind == MEMORY_DEVICE || kind == MEMORY_MANAGED;
}

/* What kind of copy this is. A side that must be a device pointer may also be mapped pinned memory. */
static CUresult classify(struct copy *copy, bool device_to, bool device_from)
{
	enum memory_kind to, from;
	CUresult result = memory_classify(copy->to, copy->bytes, &to);

	if (!result)
		result = memory_classify(copy->from, copy->bytes, &from);
	if (result)
		return result;
	if ((device_to && to == MEMORY_PAGEABLE) || (device_from && from == MEMORY_PAGEABLE))
		return CUDA_ERROR_INVALID_VALUE;
	if (on_device(to) && on_device(from))
		copy->kind = COPY_D2D;
	else if (on_device(to))
		copy->kind = from == MEMORY_PAGEABLE ? COPY_H2D_PAGEABLE : COPY_H2D_PINNED;
	else if (on_device(from))
		copy->kind = to == MEMORY_PAGEABLE ? COPY_D2H_PAGEABLE : COPY_D2H_PINNED;
	else
		copy->host_only = true;
	return CUDA_SUCCESS;
}

static double bytes_per_ns(enum copy_kind kind)
{
	switch (kind) {
	case COPY_H2D_PAGEABLE:
	case COPY_D2H_PAGEABLE:
		return settings()->pageable_bytes_per_ns;
	case COPY_D2D:
		return settings()->device_bytes_per_ns;
	default:
		return settings()->pinned_bytes_per_ns;
	}
}

static bool caller_waits(const struct copy *copy)
{
	return copy->kind == COPY_H2D_PAGEABLE || copy->kind == COPY_D2H_PAGEABLE ||
	       (!copy->async && copy->kind != COPY_D2D);
}

static struct op *copy_op(const struct copy *copy, int device)
{
	struct op *op = op_new(OP_MEMCPY, device);

	if (!op)
		return NULL;
	op->copy = copy->kind;
	op->engine = timeline_engine(device, copy->kind);
	op->duration_ns = (uint64_t)((double)copy->bytes / bytes_per_ns(copy->kind));
	op->transfer =
		(struct transfer){ .to = (void *)copy->to, .from = (const void *)copy->from, .bytes = copy->bytes };
	op->takes_real_time = copy->bytes > SIM_STAGE_BYTES;
	op->owned = op->takes_real_time && caller_waits(copy);
	return op;
}

/* The caller's buffer may be used again when the call returns. */
static bool stage(struct op *op)
{
	void *staging = malloc(op->transfer.bytes);

	if (!staging)
		return false;
	memcpy(staging, op->transfer.from, op->transfer.bytes);
	op->transfer.staging = staging;
	op->transfer.from = staging;
	return true;
}

/* The bytes are on the device; the call returns when the model has staged all but the last chunk. */
static void wait_until_staged(const struct op *op)
{
	uint64_t last_chunk_ns = (uint64_t)(SIM_STAGE_BYTES / settings()->pageable_bytes_per_ns);
	uint64_t until_ns = op->end_ns - (last_chunk_ns < op->duration_ns ? last_chunk_ns : op->duration_ns);

	sim_unlock();
	if (until_ns > clock_now_ns() + 120 * NSEC_PER_USEC)
		clock_sleep_until(until_ns - 120 * NSEC_PER_USEC);
	clock_spin_until(until_ns);
	sim_lock();
}

static CUresult copy_host_only(const struct call *call, struct CUstream_st *stream, const struct copy *copy)
{
	CUresult result = stream_wait_idle(call, stream);

	if (result)
		return result;
	sim_unlock();
	memmove((void *)copy->to, (const void *)copy->from, copy->bytes);
	sim_lock();
	return CUDA_SUCCESS;
}

static CUresult submit(const struct call *call, struct CUstream_st *stream, const struct copy *copy)
{
	bool staged = copy->kind == COPY_H2D_PAGEABLE && copy->bytes <= SIM_STAGE_BYTES;
	CUresult result = CUDA_SUCCESS;
	struct op *op;

	if (copy->host_only)
		return copy_host_only(call, stream, copy);
	if (copy->kind == COPY_H2D_PAGEABLE && !copy->async)
		result = stream_wait_idle(call, stream);
	if (result)
		return result;
	op = copy_op(copy, stream->context->device);
	if (!op || (staged && !stage(op))) {
		op_unref(op);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	stream_submit(call, stream, op);
	if (op->owned)
		op_run_owned(op);
	if (copy->kind == COPY_H2D_PAGEABLE && op->owned)
		wait_until_staged(op);
	else if (caller_waits(copy) && !staged)
		op_wait(op, context_wait_how(stream->context));
	op_unref(op);
	return CUDA_SUCCESS;
}

static CUmemorytype side_type(uintptr_t address)
{
	enum memory_kind kind;

	return !memory_classify(address, 1, &kind) && on_device(kind) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

static CUresult capture_copy(struct CUstream_st *stream, const struct copy *copy)
{
	CUgraphNodeParams node = { .type = CU_GRAPH_NODE_TYPE_MEMCPY };

	node.memcpy.copyCtx = stream->context;
	node.memcpy.copyParams = (CUDA_MEMCPY3D){ .srcMemoryType = side_type(copy->from),
						  .srcHost = (const void *)copy->from,
						  .srcDevice = copy->from,
						  .dstMemoryType = side_type(copy->to),
						  .dstHost = (void *)copy->to,
						  .dstDevice = copy->to,
						  .WidthInBytes = copy->bytes,
						  .Height = 1,
						  .Depth = 1 };
	return capture_add(stream, &node);
}

static CUresult copy_run(const struct call *call, struct copy copy, CUstream s, bool device_to, bool device_from)
{
	struct CUstream_st *stream;
	CUresult result;

	sim_lock();
	if (copy.async)
		result = stream_resolve_capturable(call, s, &stream);
	else
		result = stream_resolve_waiting(call, s, &stream);
	if (!result && copy.bytes) {
		result = classify(&copy, device_to, device_from);
		if (!result)
			result = stream->capture ? capture_copy(stream, &copy) : submit(call, stream, &copy);
	}
	sim_unlock();
	return result;
}

/* Stream 0 is the legacy default stream, or the thread's own for a per-thread variant. */
#define COPY_PAIR(name, to_type, from_type, device_to, device_from)                                                    \
	CUresult api_##name(CALL, to_type to, from_type from, size_t bytes)                                            \
	{                                                                                                              \
		return copy_run(call, (struct copy){ (uintptr_t)to, (uintptr_t)from, bytes, false, COPY_NONE, false }, \
				NULL, device_to, device_from);                                                         \
	}                                                                                                              \
	CUresult api_##name##_async(CALL, to_type to, from_type from, size_t bytes, CUstream s)                        \
	{                                                                                                              \
		return copy_run(call, (struct copy){ (uintptr_t)to, (uintptr_t)from, bytes, true, COPY_NONE, false },  \
				s, device_to, device_from);                                                            \
	}
COPY_PAIR(copy_any, CUdeviceptr, CUdeviceptr, false, false)
COPY_PAIR(copy_to_device, CUdeviceptr, const void *, true, false)
COPY_PAIR(copy_to_host, void *, CUdeviceptr, false, true)
COPY_PAIR(copy_on_device, CUdeviceptr, CUdeviceptr, true, true)

struct set {
	uintptr_t to;
	size_t bytes;
	uint32_t pattern;
	uint8_t pattern_bytes;
	bool async;
};

static CUresult submit_set(const struct call *call, struct CUstream_st *stream, const struct set *set)
{
	enum memory_kind kind;
	CUresult result = memory_classify(set->to, set->bytes, &kind);
	struct op *op;
	bool wait;

	if (result)
		return result;
	if (kind == MEMORY_PAGEABLE || set->to % set->pattern_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	op = op_new(OP_MEMSET, stream->context->device);
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	wait = !set->async && !on_device(kind);
	op->duration_ns = (uint64_t)((double)set->bytes / settings()->memset_bytes_per_ns);
	op->transfer = (struct transfer){
		.to = (void *)set->to, .bytes = set->bytes, .pattern = set->pattern, .pattern_bytes = set->pattern_bytes
	};
	op->takes_real_time = set->bytes > SIM_STAGE_BYTES;
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

	node.memset = (CUDA_MEMSET_NODE_PARAMS_v2){ .dst = set->to,
						    .value = set->pattern,
						    .elementSize = set->pattern_bytes,
						    .width = set->bytes / set->pattern_bytes,
						    .height = 1,
						    .ctx = stream->context };
	return capture_add(stream, &node);
}

static CUresult set_run(const struct call *call, struct set set, CUstream s)
{
	struct CUstream_st *stream;
	CUresult result;

	sim_lock();
	if (set.async)
		result = stream_resolve_capturable(call, s, &stream);
	else
		result = stream_resolve(call, s, &stream);
	if (!result && set.bytes)
		result = stream->capture ? capture_set(stream, &set) : submit_set(call, stream, &set);
	sim_unlock();
	return result;
}

#define SET_PAIR(bits, type)                                                                                           \
	CUresult api_set_##bits(CALL, CUdeviceptr to, type value, size_t count)                                        \
	{                                                                                                              \
		return set_run(call, (struct set){ (uintptr_t)to, count * (bits / 8), value, bits / 8, false }, NULL); \
	}                                                                                                              \
	CUresult api_set_##bits##_async(CALL, CUdeviceptr to, type value, size_t count, CUstream s)                    \
	{                                                                                                              \
		return set_run(call, (struct set){ (uintptr_t)to, count * (bits / 8), value, bits / 8, true }, s);     \
	}
SET_PAIR(8, unsigned char)
SET_PAIR(16, unsigned short)
SET_PAIR(32, unsigned int)
