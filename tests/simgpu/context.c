/* SPDX-License-Identifier: BSD-2-Clause */
#include "context.h"

#include "array.h"
#include "call.h"
#include "capture.h"
#include "device.h"
#include "memory.h"
#include "module.h"
#include "peer.h"
#include "pool.h"
#include "stream.h"

#include <stdlib.h>

enum { STACK_DEPTH = 64 };

/* A handle is used again for another context, so a thread remembers the id too. */
struct current {
	CUcontext context;
	unsigned long long id;
};

struct slab context_slab = SLAB(struct CUctx_st, 1 << 12);

static unsigned long long last_id;
static __thread struct current stack[STACK_DEPTH];
static __thread unsigned depth;

CUresult context_current(CUcontext *context)
{
	const struct current *top = depth ? &stack[depth - 1] : NULL;

	*context = top ? top->context : NULL;
	if (*context && ((*context)->id != top->id || (*context)->destroyed))
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	return CUDA_SUCCESS;
}

bool context_valid(CUcontext context)
{
	return slab_holds(&context_slab, context) && !context->destroyed;
}

enum wait_how context_wait_how(CUcontext context)
{
	return (context->flags & CU_CTX_SCHED_MASK) == CU_CTX_SCHED_BLOCKING_SYNC ? WAIT_SLEEP : WAIT_SPIN;
}

static bool pending(const struct op *op)
{
	return op && !op_done(op);
}

bool context_busy(CUcontext context, bool non_blocking_too)
{
	if (pending(context->legacy.last))
		return true;
	for (struct CUstream_st *stream = context->streams; stream; stream = stream->next)
		if ((non_blocking_too || !(stream->flags & CU_STREAM_NON_BLOCKING)) && pending(stream->last))
			return true;
	for (unsigned i = 0; i < context->orphan_count; i++)
		if ((non_blocking_too || context->orphans[i].blocking) && pending(context->orphans[i].op))
			return true;
	return false;
}

void context_after_all(CUcontext context, struct op *op)
{
	op_after(op, context->legacy.last);
	for (struct CUstream_st *stream = context->streams; stream; stream = stream->next)
		op_after(op, stream->last);
	for (unsigned i = 0; i < context->orphan_count; i++)
		op_after(op, context->orphans[i].op);
}

void context_wait_idle(CUcontext context)
{
	struct op *marker = op_new(OP_WAIT, context->device);

	if (!marker)
		return;
	timeline_advance(clock_now_ns());
	context_after_all(context, marker);
	op_submit(marker);
	op_wait(marker, context_wait_how(context));
	op_unref(marker);
}

void context_keep(CUcontext context, struct op *op, bool blocking)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < context->orphan_count; i++) {
		if (pending(context->orphans[i].op))
			context->orphans[kept++] = context->orphans[i];
		else
			op_unref(context->orphans[i].op);
	}
	context->orphan_count = kept;
	if (!pending(op))
		return;
	if (kept == context->orphan_room) {
		unsigned room = kept ? kept * 2 : 8;
		struct orphan *orphans = realloc(context->orphans, room * sizeof(*orphans));

		if (!orphans)
			return;
		context->orphans = orphans;
		context->orphan_room = room;
	}
	context->orphans[context->orphan_count++] = (struct orphan){ op_ref(op), blocking };
}

void context_start(CUcontext context, int device, unsigned flags)
{
	*context = (struct CUctx_st){ .id = ++last_id, .device = device, .flags = flags, .primary = context->primary };
	context->legacy.context = context;
	context->legacy.legacy = true;
	context->limits[CU_LIMIT_STACK_SIZE] = 1024;
	context->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
	context->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
	context->limits[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2;
	context->limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
	context->limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 128;
}

void context_stop(CUcontext context)
{
	context_wait_idle(context);
	context->destroyed = true;
	while (context->modules)
		module_free(context->modules);
	capture_forget_stream(&context->legacy);
	while (context->streams)
		stream_free(context->streams);
	op_unref(context->legacy.last);
	context->legacy.last = NULL;
	op_unref(context->barrier);
	context->barrier = NULL;
	for (unsigned i = 0; i < context->orphan_count; i++)
		op_unref(context->orphans[i].op);
	free(context->orphans);
	context->orphans = NULL;
	context->orphan_count = context->orphan_room = 0;
	memory_free_all(context);
	array_free_all(context);
	peer_forget(context);
}

static bool push(CUcontext context)
{
	if (depth == STACK_DEPTH)
		return false;
	stack[depth++] = (struct current){ context, context ? context->id : 0 };
	return true;
}

bool context_flags_valid(unsigned flags)
{
	unsigned schedule = flags & CU_CTX_SCHED_MASK;

	return !(flags & ~(unsigned)CU_CTX_FLAGS_MASK) && (schedule <= 2 || schedule == 4);
}

CUresult api_context_create(CALL, CUcontext *ctx, unsigned int flags, CUdevice dev)
{
	CUcontext context;

	if (!ctx || !context_flags_valid(flags))
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_exists(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	sim_lock();
	context = slab_take(&context_slab);
	if (context)
		context_start(context, dev, flags);
	sim_unlock();
	if (!context || !push(context))
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ctx = context;
	return CUDA_SUCCESS;
}

CUresult api_context_create_affinity(CALL, CUcontext *ctx, CUexecAffinityParam *params, int count, unsigned int flags,
				     CUdevice dev)
{
	if (params || count)
		return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY; /* as on a device without MPS */
	return api_context_create(call, ctx, flags, dev);
}

CUresult api_context_create_params(CALL, CUcontext *ctx, CUctxCreateParams *params, unsigned int flags, CUdevice dev)
{
	if (params && params->numExecAffinityParams)
		return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
	return api_context_create(call, ctx, flags, dev);
}

CUresult api_context_destroy(CALL, CUcontext ctx)
{
	sim_lock();
	if (!context_valid(ctx) || ctx->primary) {
		sim_unlock();
		return ctx ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
	}
	context_stop(ctx);
	if (depth && stack[depth - 1].context == ctx)
		depth--;
	slab_give(&context_slab, ctx);
	sim_unlock();
	return CUDA_SUCCESS;
}

CUresult api_context_push(CALL, CUcontext ctx)
{
	CUresult result = CUDA_SUCCESS;

	sim_lock();
	if (!context_valid(ctx))
		result = CUDA_ERROR_INVALID_CONTEXT;
	else if (!push(ctx))
		result = CUDA_ERROR_OUT_OF_MEMORY;
	sim_unlock();
	return result;
}

CUresult api_context_pop(CALL, CUcontext *ctx)
{
	if (!depth || !stack[depth - 1].context)
		return CUDA_ERROR_INVALID_CONTEXT;
	depth--;
	if (ctx)
		*ctx = stack[depth].context;
	return CUDA_SUCCESS;
}

CUresult api_context_set_current(CALL, CUcontext ctx)
{
	CUresult result = CUDA_SUCCESS;

	sim_lock();
	if (ctx && !context_valid(ctx)) {
		result = CUDA_ERROR_INVALID_CONTEXT;
	} else {
		if (depth)
			depth--;
		if (ctx)
			push(ctx);
	}
	sim_unlock();
	return result;
}

CUresult api_context_get_current(CALL, CUcontext *ctx)
{
	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	context_current(ctx);
	return CUDA_SUCCESS;
}

CUresult api_context_synchronize(CALL)
{
	CUresult result;

	sim_lock();
	result = capture_check_context(call->context);
	if (!result) {
		context_wait_idle(call->context);
		pool_settle();
	}
	sim_unlock();
	return result;
}

/* NULL is the current one. */
static CUresult context_or_current(const struct call *call, CUcontext *context)
{
	if (!*context)
		*context = call->context;
	if (!*context)
		return CUDA_ERROR_INVALID_CONTEXT;
	return context_valid(*context) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult api_context_synchronize_of(CALL, CUcontext ctx)
{
	CUresult result;

	sim_lock();
	result = context_or_current(call, &ctx);
	if (!result && ctx->sticky)
		result = ctx->sticky;
	if (!result)
		result = capture_check_context(ctx);
	if (!result) {
		context_wait_idle(ctx);
		pool_settle();
	}
	sim_unlock();
	return result;
}

CUresult api_context_device(CALL, CUdevice *dev)
{
	if (!dev)
		return CUDA_ERROR_INVALID_VALUE;
	*dev = call->context->device;
	return CUDA_SUCCESS;
}

#define CONTEXT_GETTER(name, type, expression)                                          \
	static CUresult get_##name(const struct call *call, CUcontext ctx, type *value) \
	{                                                                               \
		CUresult result;                                                        \
                                                                                        \
		if (!value)                                                             \
			return CUDA_ERROR_INVALID_VALUE;                                \
		sim_lock();                                                             \
		result = context_or_current(call, &ctx);                                \
		if (!result)                                                            \
			*value = expression;                                            \
		sim_unlock();                                                           \
		return result;                                                          \
	}
CONTEXT_GETTER(device, CUdevice, ctx->device)
CONTEXT_GETTER(id, unsigned long long, ctx->id)
CONTEXT_GETTER(version, unsigned int, 3020)

CUresult api_context_device_of(CALL, CUdevice *dev, CUcontext ctx)
{
	return get_device(call, ctx, dev);
}

CUresult api_context_id(CALL, CUcontext ctx, unsigned long long *id)
{
	return get_id(call, ctx, id);
}

CUresult api_context_api_version(CALL, CUcontext ctx, unsigned int *version)
{
	return get_version(call, ctx, version);
}

CUresult api_context_flags(CALL, unsigned int *flags)
{
	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = call->context->flags;
	return CUDA_SUCCESS;
}

CUresult api_context_set_flags(CALL, unsigned int flags)
{
	if (!context_flags_valid(flags))
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	call->context->flags = flags;
	sim_unlock();
	return CUDA_SUCCESS;
}

CUresult api_context_limit(CALL, size_t *value, CUlimit limit)
{
	if (!value || (unsigned)limit >= CU_LIMIT_MAX)
		return value ? CUDA_ERROR_UNSUPPORTED_LIMIT : CUDA_ERROR_INVALID_VALUE;
	*value = call->context->limits[limit];
	return CUDA_SUCCESS;
}

CUresult api_context_set_limit(CALL, CUlimit limit, size_t value)
{
	if ((unsigned)limit >= CU_LIMIT_MAX)
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	call->context->limits[limit] = value;
	return CUDA_SUCCESS;
}

CUresult api_context_cache_config(CALL, CUfunc_cache *config)
{
	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	*config = CU_FUNC_CACHE_PREFER_NONE;
	return CUDA_SUCCESS;
}

CUresult api_context_set_cache_config(CALL, CUfunc_cache config)
{
	return (unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult api_context_priority_range(CALL, int *least, int *greatest)
{
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return CUDA_SUCCESS;
}
