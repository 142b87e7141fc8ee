/* SPDX-License-Identifier: BSD-2-Clause */
/* event.c: an event is a reference to the operation its last record submitted. */
#include "capture.h"
#include "context.h"
#include "pool.h"
#include "stream.h"

struct slab event_slab = SLAB(struct CUevent_st, 1 << 20);

CUresult api_event_create(CALL, CUevent *event, unsigned int flags)
{
	const unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
	struct CUevent_st *made;

	if (!event || (flags & ~known) || ((flags & CU_EVENT_INTERPROCESS) && !(flags & CU_EVENT_DISABLE_TIMING)))
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	made = slab_take(&event_slab);
	if (made) {
		made->context = call->context;
		made->flags = flags;
	}
	sim_unlock();
	*event = made;
	return made ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult api_event_destroy(CALL, CUevent event)
{
	CUresult result = CUDA_ERROR_INVALID_HANDLE;

	sim_lock();
	if (slab_holds(&event_slab, event)) {
		op_unref(event->op);
		capture_forget_event(event);
		slab_give(&event_slab, event);
		result = CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}

static CUresult record(const struct call *call, CUevent event, CUstream s, unsigned flags)
{
	struct CUstream_st *stream;
	struct op *op;
	CUresult result = stream_resolve_capturable(call, s, &stream);

	if (result)
		return result;
	if (!slab_holds(&event_slab, event) || event->context != stream->context)
		return CUDA_ERROR_INVALID_HANDLE;
	if (stream->capture)
		return capture_record_event(stream, event, flags & CU_EVENT_RECORD_EXTERNAL);
	if (flags)
		return CUDA_ERROR_INVALID_VALUE; /* only a capture knows external events */
	op = op_new(OP_EVENT, stream->context->device);
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stream_submit(call, stream, op);
	capture_forget_event(event);
	op_unref(event->op);
	event->op = op;
	return CUDA_SUCCESS;
}

CUresult api_event_record_flags(CALL, CUevent event, CUstream s, unsigned int flags)
{
	CUresult result;

	if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	result = record(call, event, s, flags);
	sim_unlock();
	return result;
}

CUresult api_event_record(CALL, CUevent event, CUstream s)
{
	return api_event_record_flags(call, event, s, CU_EVENT_RECORD_DEFAULT);
}

/* A captured record is nothing that will ever have happened; asking for it ends the capture. */
static CUresult check_waitable(CUevent event)
{
	if (!slab_holds(&event_slab, event))
		return CUDA_ERROR_INVALID_HANDLE;
	return event->capture_id ? capture_refuse_event(event) : capture_forbids_wait();
}

CUresult api_event_query(CALL, CUevent event)
{
	CUresult result;

	sim_lock();
	result = check_waitable(event);
	if (!result && event->op) {
		timeline_advance(clock_now_ns());
		if (!op_done(event->op))
			result = CUDA_ERROR_NOT_READY;
	}
	sim_unlock();
	return result;
}

CUresult api_event_synchronize(CALL, CUevent event)
{
	CUresult result;

	sim_lock();
	result = check_waitable(event);
	if (!result && event->op)
		op_wait(event->op,
			event->flags & CU_EVENT_BLOCKING_SYNC ? WAIT_SLEEP : context_wait_how(event->context));
	if (!result)
		pool_settle();
	sim_unlock();
	return result;
}

static CUresult elapsed(CUevent from, CUevent to, float *ms)
{
	if (!slab_holds(&event_slab, from) || !slab_holds(&event_slab, to))
		return CUDA_ERROR_INVALID_HANDLE;
	if ((from->flags | to->flags) & CU_EVENT_DISABLE_TIMING)
		return CUDA_ERROR_INVALID_HANDLE;
	if (from->capture_id || to->capture_id)
		return capture_refuse_event(from->capture_id ? from : to);
	if (!from->op || !to->op || from->context != to->context)
		return CUDA_ERROR_INVALID_HANDLE;
	timeline_advance(clock_now_ns());
	if (!op_done(from->op) || !op_done(to->op))
		return CUDA_ERROR_NOT_READY;
	*ms = (float)clock_device_ms(from->op->device, from->op->end_ns, to->op->end_ns);
	return CUDA_SUCCESS;
}

CUresult api_event_elapsed(CALL, float *ms, CUevent from, CUevent to)
{
	CUresult result;

	if (!ms)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	result = elapsed(from, to, ms);
	sim_unlock();
	return result;
}
