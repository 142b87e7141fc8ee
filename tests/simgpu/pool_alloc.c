/* SPDX-License-Identifier: BSD-2-Clause */
/* pool_alloc.c: allocating and freeing in stream order. Neither is an operation of the device: a free is a mark in its stream,
 * an allocation at most a dependency on such a mark. In a capture they are a graph's memory nodes, which no pool has to do with. */
#include "capture.h"
#include "context.h"
#include "graph_memory.h"
#include "pool.h"
#include "stream.h"

enum { REUSE_NS = 1000, GROW_NS = 60000 }; /* host time */

/* Every stream another one, never 0. */
static uint64_t stream_key(const struct CUstream_st *stream)
{
	return stream->legacy ? ~(uint64_t)stream->context->id : stream->number;
}

/* What waits for the operation is that the stream does. */
static CUresult order_after(const struct call *call, struct CUstream_st *stream, struct op *before)
{
	struct op *marker = op_new(OP_WAIT, stream->context->device);

	if (!marker)
		return CUDA_ERROR_OUT_OF_MEMORY;
	op_after(marker, before);
	stream_submit(call, stream, marker);
	op_unref(marker);
	return CUDA_SUCCESS;
}

static CUresult allocate(const struct call *call, CUdeviceptr *address, size_t bytes, CUmemoryPool pool,
			 struct CUstream_st *stream, bool *grown)
{
	struct op *after = NULL;
	const struct pool_wish wish = { bytes, stream_key(stream), &after, grown };
	CUresult result;

	timeline_advance(clock_now_ns());
	result = pool_heap_take(pool, &wish, address);
	if (!result && after)
		result = order_after(call, stream, after);
	op_unref(after);
	return result;
}

static CUresult run(const struct call *call, CUdeviceptr *address, size_t bytes, const CUmemoryPool *pool, CUstream s)
{
	struct CUstream_st *stream;
	CUmemoryPool from = NULL;
	bool grown = false;
	CUresult result;

	if (!address || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	result = stream_resolve_capturable(call, s, &stream);
	if (!result) {
		from = pool ? *pool : pool_of_device(stream->context->device);
		if (!pool_valid(from))
			result = CUDA_ERROR_INVALID_VALUE;
	}
	if (!result && stream->capture)
		result = capture_alloc(stream, bytes, from->device, address);
	else if (!result)
		result = allocate(call, address, bytes, from, stream, &grown);
	sim_unlock();
	clock_spin_until(call->entry_ns + (grown ? GROW_NS : REUSE_NS));
	return result;
}

CUresult api_memory_alloc_async(CALL, CUdeviceptr *address, size_t bytes, CUstream s)
{
	return run(call, address, bytes, NULL, s);
}

CUresult api_memory_alloc_from_pool(CALL, CUdeviceptr *address, size_t bytes, CUmemoryPool pool, CUstream s)
{
	return run(call, address, bytes, &pool, s);
}

/* Memory of cuMemAlloc may be freed like this too; it goes when the stream has come so far. Here the call waits for that. */
static CUresult free_plain(const struct call *call, struct CUstream_st *stream, uintptr_t address)
{
	const struct memory_range *range;
	CUresult result = stream_wait_idle(call, stream);

	range = memory_find(address);
	if (!result && range && range->base == address && range->kind == MEMORY_DEVICE && range->context)
		memory_release(address);
	return result;
}

static CUresult free_in_order(const struct call *call, struct CUstream_st *stream, uintptr_t address)
{
	const struct memory_range *range = memory_find(address);
	CUresult result;

	if (!range || range->base != address || range->kind != MEMORY_DEVICE || range->mapped)
		return CUDA_ERROR_INVALID_VALUE;
	if (range->graph)
		return graph_memory_free(address);
	if (!range->pool)
		return free_plain(call, stream, address);
	result = order_after(call, stream, NULL);
	if (!result)
		pool_heap_give(range->pool, address, stream->last, stream_key(stream));
	return result;
}

CUresult api_memory_free_async(CALL, CUdeviceptr address, CUstream s)
{
	struct CUstream_st *stream;
	CUresult result;

	sim_lock();
	result = stream_resolve_capturable(call, s, &stream);
	if (!result && address)
		result = stream->capture ? capture_free(stream, address)
					 : free_in_order(call, stream, (uintptr_t)address);
	sim_unlock();
	return result;
}

void pool_free_now(uintptr_t address)
{
	pool_heap_give(memory_find(address)->pool, address, NULL, 0);
}

/* ---- other processes: no pool has a handle type to export ------------------------------------------------- */

CUresult api_pool_export(CALL, void *handle, CUmemoryPool pool, CUmemAllocationHandleType type,
			 unsigned long long flags)
{
	(void)handle;
	(void)pool;
	(void)type;
	(void)flags;
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult api_pool_import(CALL, CUmemoryPool *pool, void *handle, CUmemAllocationHandleType type,
			 unsigned long long flags)
{
	(void)pool;
	(void)handle;
	(void)type;
	(void)flags;
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult api_pool_export_pointer(CALL, CUmemPoolPtrExportData *data, CUdeviceptr address)
{
	(void)data;
	(void)address;
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult api_pool_import_pointer(CALL, CUdeviceptr *address, CUmemoryPool pool, CUmemPoolPtrExportData *data)
{
	(void)address;
	(void)pool;
	(void)data;
	return CUDA_ERROR_INVALID_VALUE;
}
