/* SPDX-License-Identifier: BSD-2-Clause */
/* copy.c: copies, blocking as CUDA's "API synchronization behavior" says:
 *
 *                    synchronous call                              ...Async
 *   h2d pageable     waits for the stream's prior work, then as    returns once staged: at once up to 64 KiB, else when
 *                    the asynchronous one                          all but the last 64 KiB are on the device
 *   h2d pinned       returns when done                             at once
 *   d2h pageable     returns when done                             returns when done
 *   d2h pinned       returns when done                             at once
 *   d2d              at once                                       at once
 *   peer             at once                                       at once
 *   with SYNC_MEMOPS of either end   returns when done              as above
 *   host to host     by the calling thread, behind the stream's prior work; no device operation
 *
 * In a capture an asynchronous call becomes a node, and its bytes are read when the graph runs: nothing is staged.
 * Device-to-device copies need no copy engine: they run beside kernels, in a kernel's slot if they are small. A copy between
 * two devices takes the engine that carries data out of the sending one; it is as fast as a link where peer access is enabled,
 * and as slow as through the host where it is not. */
#include "copy.h"

#include "capture.h"
#include "context.h"
#include "peer.h"
#include "settings.h"
#include "stream.h"

#include <string.h>

static size_t copy_bytes(const struct copy *copy)
{
	return copy->width * copy->rows * copy->slices;
}

static double bytes_per_ns(const struct copy *copy)
{
	switch (copy->kind) {
	case COPY_H2D_PAGEABLE:
	case COPY_D2H_PAGEABLE:
		return settings()->pageable_bytes_per_ns;
	case COPY_D2D:
		return settings()->device_bytes_per_ns;
	case COPY_PEER:
		if (peer_linked(copy->from.place.device, copy->to.place.device))
			return settings()->peer_bytes_per_ns;
		return settings()->pinned_bytes_per_ns;
	default:
		return settings()->pinned_bytes_per_ns;
	}
}

static bool caller_waits(const struct copy *copy, bool async)
{
	return copy->kind == COPY_H2D_PAGEABLE || copy->kind == COPY_D2H_PAGEABLE ||
	       (!async && copy->kind != COPY_D2D && copy->kind != COPY_PEER);
}

static struct transfer transfer_of(const struct copy *copy)
{
	struct transfer transfer = { .to = (void *)copy->to.at,
				     .from = (const void *)copy->from.at,
				     .bytes = copy_bytes(copy) };

	if (copy->rows == 1 && copy->slices == 1)
		return transfer;
	transfer.rows = copy->rows;
	transfer.slices = copy->slices;
	transfer.to_pitch = copy->to.pitch;
	transfer.to_slice = copy->to.slice;
	transfer.from_pitch = copy->from.pitch;
	transfer.from_slice = copy->from.slice;
	return transfer;
}

struct op *copy_op(const struct copy *copy, int device)
{
	struct op *op = op_new(OP_MEMCPY, device);

	if (!op)
		return NULL;
	op->copy = copy->kind;
	op->engine = timeline_engine(copy->kind == COPY_PEER ? copy->from.place.device : device, copy->kind);
	op->transfer = transfer_of(copy);
	op->duration_ns = (uint64_t)((double)op->transfer.bytes / bytes_per_ns(copy));
	op->takes_real_time = op->transfer.bytes > SIM_STAGE_BYTES;
	return op;
}

/* The caller's buffer may be used again when the call returns. */
static bool stage(struct op *op)
{
	struct transfer *transfer = &op->transfer, gather = *transfer;
	void *staging = malloc(transfer->bytes);

	if (!staging)
		return false;
	gather.to = staging;
	if (transfer->rows) {
		gather.to_pitch = transfer->bytes / (transfer->rows * transfer->slices);
		gather.to_slice = gather.to_pitch * transfer->rows;
	}
	transfer_move(&gather);
	transfer->staging = staging;
	transfer->from = staging;
	transfer->from_pitch = gather.to_pitch;
	transfer->from_slice = gather.to_slice;
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
	struct transfer transfer = transfer_of(copy);
	CUresult result = stream_wait_idle(call, stream);

	if (result)
		return result;
	sim_unlock();
	transfer_move(&transfer);
	sim_lock();
	return CUDA_SUCCESS;
}

static CUresult submit(const struct call *call, struct CUstream_st *stream, const struct copy *copy, bool async)
{
	bool staged = copy->kind == COPY_H2D_PAGEABLE && copy_bytes(copy) <= SIM_STAGE_BYTES;
	bool to_the_end = !async && (copy->to.place.synchronous || copy->from.place.synchronous);
	bool wait = to_the_end || caller_waits(copy, async);
	CUresult result = CUDA_SUCCESS;
	struct op *op;

	if (copy->host_only)
		return copy_host_only(call, stream, copy);
	if (copy->kind == COPY_H2D_PAGEABLE && !async)
		result = stream_wait_idle(call, stream);
	if (result)
		return result;
	op = copy_op(copy, stream->context->device);
	if (!op || (staged && !stage(op))) {
		op_unref(op);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	op->owned = op->takes_real_time && wait;
	op->awaited = wait && (!staged || to_the_end);
	stream_submit(call, stream, op);
	if (op->owned)
		op_run_owned(op);
	if (copy->kind == COPY_H2D_PAGEABLE && op->owned && !to_the_end)
		wait_until_staged(op);
	else if (wait && (!staged || to_the_end))
		op_wait(op, context_wait_how(stream->context));
	op_unref(op);
	return CUDA_SUCCESS;
}

/* A node says host or device of each end, never unified. */
static void settle_type(CUmemorytype *type, const struct copy_side *side)
{
	if (*type != CU_MEMORYTYPE_ARRAY)
		*type = memory_on_device(side->place.kind) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

static CUresult capture_copy(struct CUstream_st *stream, const CUDA_MEMCPY3D *params, const struct copy *copy)
{
	CUgraphNodeParams node = { .type = CU_GRAPH_NODE_TYPE_MEMCPY };

	node.memcpy.copyCtx = stream->context;
	node.memcpy.copyParams = *params;
	settle_type(&node.memcpy.copyParams.srcMemoryType, &copy->from);
	settle_type(&node.memcpy.copyParams.dstMemoryType, &copy->to);
	if (params->srcMemoryType == CU_MEMORYTYPE_UNIFIED)
		node.memcpy.copyParams.srcHost = (const void *)(uintptr_t)params->srcDevice;
	if (params->dstMemoryType == CU_MEMORYTYPE_UNIFIED)
		node.memcpy.copyParams.dstHost = (void *)(uintptr_t)params->dstDevice;
	return capture_add(stream, &node);
}

CUresult copy_submit(const struct call *call, struct CUstream_st *stream, const CUDA_MEMCPY3D *params, bool async)
{
	struct copy copy;
	CUresult result = copy_resolve(params, &copy);

	if (result || !copy.width)
		return result;
	return stream->capture ? capture_copy(stream, params, &copy) : submit(call, stream, &copy, async);
}

CUresult copy_run(const struct call *call, const CUDA_MEMCPY3D *params, CUstream s, bool async)
{
	struct CUstream_st *stream;
	CUresult result;

	sim_lock();
	if (async)
		result = stream_resolve_capturable(call, s, &stream);
	else
		result = stream_resolve_waiting(call, s, &stream);
	if (!result)
		result = copy_submit(call, stream, params, async);
	sim_unlock();
	return result;
}

/* Stream 0 is the legacy default stream, or the thread's own for a per-thread variant. */
#define COPY_PAIR(name, to_type, from_type, TO, FROM)                                                          \
	CUresult api_##name(CALL, to_type to, from_type from, size_t bytes)                                    \
	{                                                                                                      \
		const CUDA_MEMCPY3D p = copy_of_bytes(CU_MEMORYTYPE_##TO, (uintptr_t)to, CU_MEMORYTYPE_##FROM, \
						      (uintptr_t)from, bytes);                                 \
                                                                                                               \
		return copy_run(call, &p, NULL, false);                                                        \
	}                                                                                                      \
	CUresult api_##name##_async(CALL, to_type to, from_type from, size_t bytes, CUstream s)                \
	{                                                                                                      \
		const CUDA_MEMCPY3D p = copy_of_bytes(CU_MEMORYTYPE_##TO, (uintptr_t)to, CU_MEMORYTYPE_##FROM, \
						      (uintptr_t)from, bytes);                                 \
                                                                                                               \
		return copy_run(call, &p, s, true);                                                            \
	}
COPY_PAIR(copy_any, CUdeviceptr, CUdeviceptr, UNIFIED, UNIFIED)
COPY_PAIR(copy_to_device, CUdeviceptr, const void *, DEVICE, HOST)
COPY_PAIR(copy_to_host, void *, CUdeviceptr, HOST, DEVICE)
COPY_PAIR(copy_on_device, CUdeviceptr, CUdeviceptr, DEVICE, DEVICE)
