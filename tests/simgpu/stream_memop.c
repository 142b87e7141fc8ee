/* SPDX-License-Identifier: BSD-2-Clause */
/* stream_memop.c: streams that wait for a value in memory and write one. Neither is an operation of the truth log. A wait ends
 * when somebody looks and finds the value: at each call of the driver, and every WATCH_NS. The first form of these calls (without
 * _v2) is CUDA_ERROR_NOT_SUPPORTED, as on a machine that did not enable it in its kernel module. No graph holds them here. */
#include "memory.h"
#include "stream.h"

#include <string.h>

enum { MAX_BATCH = 256 };

static CUresult check_address(CUdeviceptr address, unsigned bytes)
{
	struct memory_place place;
	CUresult result = memory_classify((uintptr_t)address, bytes, &place);

	if (result)
		return result;
	return address % bytes || place.kind == MEMORY_PAGEABLE || place.kind == MEMORY_MANAGED
		       ? CUDA_ERROR_INVALID_VALUE
		       : CUDA_SUCCESS;
}

static CUresult make_wait(struct CUstream_st *stream, const struct CUstreamMemOpWaitValueParams_st *p, unsigned bytes,
			  struct op **op)
{
	CUresult result;

	if (p->flags & CU_STREAM_WAIT_VALUE_FLUSH)
		return CUDA_ERROR_NOT_SUPPORTED; /* CAN_FLUSH_REMOTE_WRITES is 0 */
	if (p->flags > CU_STREAM_WAIT_VALUE_NOR)
		return CUDA_ERROR_INVALID_VALUE;
	result = check_address(p->address, bytes);
	if (result)
		return result;
	*op = op_new(OP_WAIT, stream->context->device);
	if (!*op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*op)->takes_real_time = true;
	(*op)->watch = (struct memory_watch){ .address = (const void *)(uintptr_t)p->address,
					      .value = bytes == 8 ? p->value64 : p->value,
					      .condition = p->flags,
					      .bytes = (uint8_t)bytes };
	return CUDA_SUCCESS;
}

static CUresult make_write(struct CUstream_st *stream, const struct CUstreamMemOpWriteValueParams_st *p, unsigned bytes,
			   struct op **op)
{
	const uint64_t value = bytes == 8 ? p->value64 : p->value;
	CUresult result;
	void *staging;

	if (p->flags) /* NO_MEMORY_BARRIER is of the first form */
		return CUDA_ERROR_INVALID_VALUE;
	result = check_address(p->address, bytes);
	if (result)
		return result;
	staging = malloc(sizeof(value));
	*op = staging ? op_new(OP_WAIT, stream->context->device) : NULL;
	if (!*op) {
		free(staging);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	memcpy(staging, &value, sizeof(value));
	(*op)->transfer = (struct transfer){
		.to = (void *)(uintptr_t)p->address, .from = staging, .bytes = bytes, .staging = staging
	};
	return CUDA_SUCCESS;
}

static CUresult make(struct CUstream_st *stream, const CUstreamBatchMemOpParams *p, struct op **op)
{
	switch ((int)p->operation) {
	case CU_STREAM_MEM_OP_WAIT_VALUE_32:
		return make_wait(stream, &p->waitValue, 4, op);
	case CU_STREAM_MEM_OP_WAIT_VALUE_64:
		return make_wait(stream, &p->waitValue, 8, op);
	case CU_STREAM_MEM_OP_WRITE_VALUE_32:
		return make_write(stream, &p->writeValue, 4, op);
	case CU_STREAM_MEM_OP_WRITE_VALUE_64:
		return make_write(stream, &p->writeValue, 8, op);
	case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
		return CUDA_ERROR_NOT_SUPPORTED;
	case CU_STREAM_MEM_OP_BARRIER:
		if (p->memoryBarrier.flags > CU_STREAM_MEMORY_BARRIER_TYPE_GPU)
			return CUDA_ERROR_INVALID_VALUE;
		*op = op_new(OP_WAIT, stream->context->device);
		return *op ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/* All or none of them. */
static CUresult submit(const struct call *call, struct CUstream_st *stream, const CUstreamBatchMemOpParams *params,
		       unsigned count)
{
	struct op *ops[MAX_BATCH];
	CUresult result = CUDA_SUCCESS;
	unsigned made = 0;

	while (made < count && !result) {
		result = make(stream, &params[made], &ops[made]);
		made += !result;
	}
	for (unsigned i = 0; i < made; i++) {
		if (!result)
			stream_submit(call, stream, ops[i]);
		op_unref(ops[i]);
	}
	return result;
}

CUresult api_stream_memop_batch(CALL, CUstream s, unsigned int count, CUstreamBatchMemOpParams *params,
				unsigned int flags)
{
	struct CUstream_st *stream;
	CUresult result;

	if (!params || !count || count >= MAX_BATCH || flags)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	result = stream_resolve(call, s, &stream);
	if (!result)
		result = submit(call, stream, params, count);
	sim_unlock();
	return result;
}

#define MEMOP(noun, member, bits, OPERATION, type, field)                                                          \
	CUresult api_stream_##noun##_##bits(CALL, CUstream s, CUdeviceptr address, type value, unsigned int flags) \
	{                                                                                                          \
		CUstreamBatchMemOpParams p = { .operation = CU_STREAM_MEM_OP_##OPERATION##_VALUE_##bits };         \
                                                                                                                   \
		p.member.address = address;                                                                        \
		p.member.field = value;                                                                            \
		p.member.flags = flags;                                                                            \
		return api_stream_memop_batch(call, s, 1, &p, 0);                                                  \
	}
MEMOP(wait_value, waitValue, 32, WAIT, cuuint32_t, value)
MEMOP(wait_value, waitValue, 64, WAIT, cuuint64_t, value64)
MEMOP(write_value, writeValue, 32, WRITE, cuuint32_t, value)
MEMOP(write_value, writeValue, 64, WRITE, cuuint64_t, value64)
