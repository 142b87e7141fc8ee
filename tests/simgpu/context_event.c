/* SPDX-License-Identifier: BSD-2-Clause */
/* context_event.c: events of a whole context: a record behind the work of all its streams, a wait before all that comes. */
#include "call.h"
#include "capture.h"
#include "context.h"
#include "stream.h"

static CUresult check(CUcontext context, CUevent event)
{
	if (!context_valid(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!slab_holds(&event_slab, event))
		return CUDA_ERROR_INVALID_HANDLE;
	return capture_refuse_context(context);
}

static CUresult record(const struct call *call, CUcontext context, CUevent event)
{
	struct op *op;

	if (event->context != context)
		return CUDA_ERROR_INVALID_HANDLE;
	op = op_new(OP_EVENT, context->device);
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	timeline_advance(clock_now_ns());
	op->ready_ns = clock_now_ns();
	op->submit_ns = call->entry_ns;
	context_after_all(context, op);
	op_submit(op);
	capture_forget_event(event);
	op_unref(event->op);
	event->op = op;
	return CUDA_SUCCESS;
}

CUresult api_context_record_event(CALL, CUcontext ctx, CUevent event)
{
	CUresult result;

	sim_lock();
	result = check(ctx, event);
	if (!result)
		result = record(call, ctx, event);
	sim_unlock();
	return result;
}

static CUresult make_wait(const struct call *call, struct CUstream_st *stream, struct op *before)
{
	struct op *op = op_new(OP_WAIT, stream->context->device);

	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	op_after(op, before);
	stream_submit(call, stream, op);
	op_unref(op);
	return CUDA_SUCCESS;
}

/* Every stream waits, and whichever is created later. */
static CUresult wait(const struct call *call, CUcontext context, CUevent event)
{
	struct op *barrier;
	CUresult result;

	if (event->capture_id) {
		capture_refuse_event(event);
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	if (!event->op)
		return CUDA_SUCCESS;
	barrier = op_new(OP_WAIT, context->device);
	if (!barrier)
		return CUDA_ERROR_OUT_OF_MEMORY;
	timeline_advance(clock_now_ns());
	barrier->ready_ns = clock_now_ns();
	op_after(barrier, event->op);
	op_after(barrier, context->barrier);
	op_submit(barrier);
	op_unref(context->barrier);
	context->barrier = barrier;
	result = make_wait(call, &context->legacy, barrier);
	for (struct CUstream_st *stream = context->streams; stream && !result; stream = stream->next)
		result = make_wait(call, stream, barrier);
	return result;
}

CUresult api_context_wait_event(CALL, CUcontext ctx, CUevent event)
{
	CUresult result;

	sim_lock();
	result = check(ctx, event);
	if (!result)
		result = wait(call, ctx, event);
	sim_unlock();
	return result;
}
