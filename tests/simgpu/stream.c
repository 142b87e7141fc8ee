/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream.h"

#include "capture.h"
#include "context.h"
#include "pool.h"
#include "settings.h"

#include <stdlib.h>

struct slab stream_slab = SLAB(struct CUstream_st, 1 << 16);

static unsigned last_number; /* 0 is every context's legacy default stream */

static struct CUstream_st *stream_new(CUcontext context, unsigned flags, int priority)
{
	struct CUstream_st *stream = slab_take(&stream_slab);

	if (!stream)
		return NULL;
	stream->context = context;
	stream->number = ++last_number;
	stream->flags = flags;
	stream->priority = priority;
	stream->next = context->streams;
	if (context->barrier)
		stream->last = op_ref(context->barrier);
	context->streams = stream;
	return stream;
}

static struct CUstream_st *per_thread_stream(CUcontext context)
{
	struct CUstream_st *stream;

	for (stream = context->streams; stream; stream = stream->next)
		if (stream->owner == sim_thread())
			return stream;
	stream = stream_new(context, CU_STREAM_DEFAULT, 0);
	if (stream)
		stream->owner = sim_thread();
	return stream;
}

CUresult stream_find(const struct call *call, CUstream handle, struct CUstream_st **stream)
{
	if (handle == CU_STREAM_PER_THREAD || (!handle && call->per_thread)) {
		*stream = per_thread_stream(call->context);
		return *stream ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (!handle || handle == CU_STREAM_LEGACY) {
		*stream = &call->context->legacy;
		return CUDA_SUCCESS;
	}
	if (!slab_holds(&stream_slab, handle))
		return CUDA_ERROR_INVALID_HANDLE;
	*stream = handle;
	return CUDA_SUCCESS;
}

CUresult stream_resolve_capturable(const struct call *call, CUstream handle, struct CUstream_st **stream)
{
	CUresult result = stream_find(call, handle, stream);

	return result ? result : capture_check_use(*stream);
}

CUresult stream_resolve(const struct call *call, CUstream handle, struct CUstream_st **stream)
{
	CUresult result = stream_resolve_capturable(call, handle, stream);

	return result ? result : capture_refuse(*stream);
}

CUresult stream_resolve_waiting(const struct call *call, CUstream handle, struct CUstream_st **stream)
{
	CUresult result = stream_resolve(call, handle, stream);

	return result ? result : capture_forbids_wait();
}

/* The default stream waits for all blocking streams, those destroyed with work pending too, and they for it. */
static void order_with_legacy(struct CUstream_st *stream, struct op *op)
{
	CUcontext context = stream->context;

	if (stream->flags & CU_STREAM_NON_BLOCKING)
		return;
	if (!stream->legacy) {
		op_after(op, context->legacy.last);
		return;
	}
	for (struct CUstream_st *other = context->streams; other; other = other->next)
		if (!(other->flags & CU_STREAM_NON_BLOCKING))
			op_after(op, other->last);
	for (unsigned i = 0; i < context->orphan_count; i++)
		if (context->orphans[i].blocking)
			op_after(op, context->orphans[i].op);
}

void stream_submit(const struct call *call, struct CUstream_st *stream, struct op *op)
{
	uint64_t now_ns, ready_ns = call->entry_ns + settings()->latency_ns;

	if (settings()->queue_all && !op->counted) {
		timeline_wait_for_room(op->device);
		op->counted = true;
	}
	now_ns = clock_now_ns();
	timeline_advance(now_ns);
	if (ready_ns < now_ns) /* the caller was held up: nothing starts in a past that others may have looked at */
		ready_ns = now_ns;
	if (op->ready_ns < ready_ns)
		op->ready_ns = ready_ns;
	op->submit_ns = call->entry_ns;
	op->stream_number = stream->number;
	if (op->kind == OP_EVENT && stream->last)
		op->after_copy = stream->last->engine || stream->last->after_copy;
	op_after(op, stream->last);
	order_with_legacy(stream, op);
	op_unref(stream->last);
	stream->last = op_ref(op);
	op_submit(op);
}

/* What a synchronise of the legacy stream waits for includes the blocking streams: a marker behind all of them. */
CUresult stream_wait_idle(const struct call *call, struct CUstream_st *stream)
{
	enum wait_how how = context_wait_how(stream->context);
	struct op *marker;

	timeline_advance(clock_now_ns());
	if (!stream->legacy) {
		if (stream->last)
			op_wait(stream->last, how);
		return CUDA_SUCCESS;
	}
	if (!context_busy(call->context, false))
		return CUDA_SUCCESS;
	marker = op_new(OP_WAIT, stream->context->device);
	if (!marker)
		return CUDA_ERROR_OUT_OF_MEMORY;
	op_after(marker, stream->last);
	order_with_legacy(stream, marker);
	op_submit(marker);
	op_wait(marker, how);
	op_unref(marker);
	return CUDA_SUCCESS;
}

void stream_free(struct CUstream_st *stream)
{
	struct CUstream_st **at = &stream->context->streams;

	while (*at != stream)
		at = &(*at)->next;
	*at = stream->next;
	capture_forget_stream(stream);
	if (stream->last)
		context_keep(stream->context, stream->last, !(stream->flags & CU_STREAM_NON_BLOCKING));
	op_unref(stream->last);
	slab_give(&stream_slab, stream);
}

CUresult api_stream_create_priority(CALL, CUstream *s, unsigned int flags, int priority)
{
	struct CUstream_st *stream;

	if (!s || (flags & ~(unsigned)CU_STREAM_NON_BLOCKING))
		return CUDA_ERROR_INVALID_VALUE;
	if (priority > 0)
		priority = 0;
	if (priority < -5)
		priority = -5;
	sim_lock();
	stream = stream_new(call->context, flags, priority);
	sim_unlock();
	*s = stream;
	return stream ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult api_stream_create(CALL, CUstream *s, unsigned int flags)
{
	return api_stream_create_priority(call, s, flags, 0);
}

CUresult api_stream_destroy(CALL, CUstream s)
{
	CUresult result = CUDA_ERROR_INVALID_HANDLE;

	sim_lock();
	if (slab_holds(&stream_slab, s) && !s->owner) {
		stream_free(s);
		result = CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}

CUresult api_stream_query(CALL, CUstream s)
{
	struct CUstream_st *stream;
	CUresult result;

	sim_lock();
	result = stream_resolve_waiting(call, s, &stream);
	if (!result) {
		timeline_advance(clock_now_ns());
		if (stream->legacy ? context_busy(stream->context, false) : stream->last && !op_done(stream->last))
			result = CUDA_ERROR_NOT_READY;
	}
	sim_unlock();
	return result;
}

CUresult api_stream_synchronize(CALL, CUstream s)
{
	struct CUstream_st *stream;
	CUresult result;

	sim_lock();
	result = stream_resolve_waiting(call, s, &stream);
	if (!result)
		result = stream_wait_idle(call, stream);
	if (!result)
		pool_settle();
	sim_unlock();
	return result;
}

static CUresult wait_event(const struct call *call, struct CUstream_st *stream, CUevent event, unsigned flags)
{
	struct op *op;

	if (!slab_holds(&event_slab, event))
		return CUDA_ERROR_INVALID_HANDLE;
	if (flags && !stream->capture)
		return CUDA_ERROR_INVALID_VALUE; /* only a capture knows external events */
	if (stream->capture || event->capture_id)
		return capture_wait_event(stream, event, flags & CU_EVENT_WAIT_EXTERNAL);
	if (!event->op)
		return CUDA_SUCCESS;
	op = op_new(OP_WAIT, stream->context->device);
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	op_after(op, event->op);
	stream_submit(call, stream, op);
	op_unref(op);
	return CUDA_SUCCESS;
}

CUresult api_stream_wait_event(CALL, CUstream s, CUevent event, unsigned int flags)
{
	struct CUstream_st *stream;
	CUresult result;

	if (flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	result = stream_resolve_capturable(call, s, &stream);
	if (!result)
		result = wait_event(call, stream, event, flags);
	sim_unlock();
	return result;
}

/* One getter, whatever it reads. */
#define STREAM_GETTER(name, type, expression)                     \
	CUresult api_stream_##name(CALL, CUstream s, type *value) \
	{                                                         \
		struct CUstream_st *stream;                       \
		CUresult result;                                  \
                                                                  \
		if (!value)                                       \
			return CUDA_ERROR_INVALID_VALUE;          \
		sim_lock();                                       \
		result = stream_find(call, s, &stream);           \
		if (!result)                                      \
			*value = expression;                      \
		sim_unlock();                                     \
		return result;                                    \
	}
STREAM_GETTER(flags, unsigned int, stream->flags)
STREAM_GETTER(priority, int, stream->priority)
STREAM_GETTER(context, CUcontext, stream->context)
STREAM_GETTER(device, CUdevice, stream->context->device)
STREAM_GETTER(id, unsigned long long, (stream->context->id << 32) + stream->number)
