/* SPDX-License-Identifier: BSD-2-Clause */
/* capture.c: what capture.h says. The rules are those of the programming guide (prohibited and unhandled operations,
 * invalidation) and of cuda.h. Where both are silent: waiting for a stream or asking for its state is prohibited like an
 * unsafe call, also where that stream does not capture, as public tests of the real driver expect; a capture that became
 * invalid prohibits until it is ended; ending it elsewhere than it began makes it invalid; a destroyed origin throws the
 * capture away. */
#include "capture.h"

#include "graph.h"
#include "graph_attributes.h"
#include "graph_node.h"
#include "stream.h"

#include <stdatomic.h>
#include <stdlib.h>

static struct capture *captures;
static atomic_uint capture_count; /* read without the lock: mostly there is none */
static __thread CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

/* ---- rules ------------------------------------------------------------------------------------------------- */

CUresult capture_invalidate(struct capture *capture, CUresult error)
{
	capture->invalid = true;
	return error;
}

static bool blocking(const struct CUstream_st *stream)
{
	return !(stream->flags & CU_STREAM_NON_BLOCKING);
}

/* The legacy stream would depend on every blocking stream of its context. */
CUresult capture_check_legacy(const struct CUstream_st *stream, bool end_captures)
{
	CUresult result = CUDA_SUCCESS;

	if (!stream->legacy || !captures)
		return CUDA_SUCCESS;
	for (struct CUstream_st *other = stream->context->streams; other; other = other->next) {
		if (!other->capture || !blocking(other))
			continue;
		if (end_captures)
			capture_invalidate(other->capture, 0);
		result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	}
	return result;
}

CUresult capture_check_use(struct CUstream_st *stream)
{
	if (stream->capture)
		return stream->capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
	return capture_check_legacy(stream, true);
}

CUresult capture_refuse(struct CUstream_st *stream)
{
	return stream->capture ? capture_invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
			       : CUDA_SUCCESS;
}

static struct capture *find_capture(uint64_t id)
{
	struct capture *capture = captures;

	while (capture && capture->id != id)
		capture = capture->next;
	return capture;
}

CUresult capture_refuse_event(CUevent event)
{
	struct capture *capture = find_capture(event->capture_id);

	if (capture)
		capture_invalidate(capture, 0);
	return CUDA_ERROR_CAPTURED_EVENT;
}

CUresult capture_refuse_context(CUcontext context)
{
	CUresult result = CUDA_SUCCESS;

	for (struct CUstream_st *stream = context->streams; stream; stream = stream->next)
		if (stream->capture)
			result = capture_refuse(stream);
	return result;
}

CUresult capture_check_context(CUcontext context)
{
	CUresult result = capture_refuse_context(context);

	return result ? result : capture_forbids_wait();
}

static bool forbids(const struct capture *capture)
{
	if (capture->thread == sim_thread())
		return thread_mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
	return thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult capture_forbids_wait(void)
{
	CUresult result = CUDA_SUCCESS;

	for (struct capture *capture = captures; capture; capture = capture->next)
		if (forbids(capture))
			result = capture_invalidate(capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	return result;
}

CUresult capture_forbids_unsafe(void)
{
	CUresult result;

	if (!atomic_load_explicit(&capture_count, memory_order_relaxed))
		return CUDA_SUCCESS;
	sim_lock();
	result = capture_forbids_wait();
	sim_unlock();
	return result;
}

void capture_list_add(struct capture *capture)
{
	capture->next = captures;
	captures = capture;
	atomic_fetch_add_explicit(&capture_count, 1, memory_order_relaxed);
}

void capture_list_remove(struct capture *capture)
{
	struct capture **at = &captures;

	while (*at != capture)
		at = &(*at)->next;
	*at = capture->next;
	atomic_fetch_sub_explicit(&capture_count, 1, memory_order_relaxed);
}

/* ---- operations -------------------------------------------------------------------------------------------- */

CUresult capture_add_node(struct CUstream_st *stream, CUgraphNodeParams *params, CUgraphNode *node)
{
	CUresult result = graph_node_add(stream->capture->graph, &stream->frontier, params, node);

	if (result)
		return result;
	if (params->type == CU_GRAPH_NODE_TYPE_KERNEL && !attributes_set_priority(*node, stream->priority))
		return CUDA_ERROR_OUT_OF_MEMORY;
	stream->frontier.count = 0;
	return node_list_add(&stream->frontier, *node) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult capture_add(struct CUstream_st *stream, CUgraphNodeParams *params)
{
	CUgraphNode node;

	return capture_add_node(stream, params, &node);
}

CUresult capture_alloc(struct CUstream_st *stream, size_t bytes, int device, CUdeviceptr *address)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC };
	CUresult result;

	params.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	params.alloc.poolProps.location = (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device };
	params.alloc.bytesize = bytes;
	result = capture_add(stream, &params);
	if (!result)
		*address = params.alloc.dptr;
	return result;
}

CUresult capture_free(struct CUstream_st *stream, CUdeviceptr address)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_MEM_FREE };

	params.free.dptr = address;
	return capture_add(stream, &params);
}

CUresult capture_record_event(struct CUstream_st *stream, CUevent event, bool external)
{
	if (external) {
		CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_EVENT_RECORD };

		params.eventRecord.event = event;
		return capture_add(stream, &params);
	}
	capture_forget_event(event);
	if (!node_list_add_all(&event->recorded, &stream->frontier))
		return CUDA_ERROR_OUT_OF_MEMORY;
	event->capture_id = stream->capture->id;
	return CUDA_SUCCESS;
}

void capture_join(struct CUstream_st *stream, struct capture *capture)
{
	stream->capture = capture;
	stream->next_captured = capture->streams;
	capture->streams = stream;
}

static CUresult wait_external(struct CUstream_st *stream, CUevent event)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_WAIT_EVENT };

	params.eventWait.event = event;
	return capture_add(stream, &params);
}

CUresult capture_wait_event(struct CUstream_st *stream, CUevent event, bool external)
{
	struct capture *other = find_capture(event->capture_id);

	if (stream->capture && external)
		return wait_external(stream, event);
	if (!event->capture_id)
		return capture_invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
	if (!other) /* that capture has ended */
		return stream->capture ? capture_invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION)
				       : CUDA_ERROR_CAPTURED_EVENT;
	if (stream->capture && stream->capture != other) {
		capture_invalidate(other, 0);
		return capture_invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
	}
	if (other->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (stream->legacy)
		return capture_invalidate(other, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	if (!stream->capture)
		capture_join(stream, other);
	return node_list_add_all(&stream->frontier, &event->recorded) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

void capture_forget_event(CUevent event)
{
	node_list_clear(&event->recorded);
	event->capture_id = 0;
}

CUresult api_capture_mode_exchange(CALL, CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode before = thread_mode;

	if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	thread_mode = *mode;
	*mode = before;
	return CUDA_SUCCESS;
}
