/* SPDX-License-Identifier: BSD-2-Clause */
/* capture.c: what capture.h says. The rules are those of the programming guide (prohibited and unhandled operations,
 * invalidation) and of cuda.h. Where both are silent: waiting for a stream or asking for its state is prohibited like an
 * unsafe call, also where that stream does not capture, as public tests of the real driver expect; a capture that became
 * invalid prohibits until it is ended; ending it elsewhere than it began makes it invalid; a destroyed origin throws the
 * capture away. */
#include "capture.h"

#include "graph.h"
#include "graph_node.h"
#include "stream.h"

#include <stdatomic.h>
#include <stdlib.h>

struct capture {
	uint64_t id;
	uint64_t thread; /* that began it */
	CUstreamCaptureMode mode;
	CUgraph graph;
	bool into_given; /* cuStreamBeginCaptureToGraph: the graph is the client's */
	bool invalid;
	struct CUstream_st *origin;
	struct CUstream_st *streams; /* all that capture, the origin too */
	struct node_list ends;       /* frontiers of joined streams that were destroyed */
	struct capture *next;
};

static struct capture *captures;
static atomic_uint capture_count; /* read without the lock: mostly there is none */
static uint64_t last_id;
static __thread CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

/* ---- rules ------------------------------------------------------------------------------------------------- */

static CUresult invalidate(struct capture *capture, CUresult error)
{
	capture->invalid = true;
	return error;
}

static bool blocking(const struct CUstream_st *stream)
{
	return !(stream->flags & CU_STREAM_NON_BLOCKING);
}

/* The legacy stream would depend on every blocking stream of its context. */
static CUresult check_legacy(const struct CUstream_st *stream, bool end_captures)
{
	CUresult result = CUDA_SUCCESS;

	if (!stream->legacy || !captures)
		return CUDA_SUCCESS;
	for (struct CUstream_st *other = stream->context->streams; other; other = other->next) {
		if (!other->capture || !blocking(other))
			continue;
		if (end_captures)
			invalidate(other->capture, 0);
		result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	}
	return result;
}

CUresult capture_check_use(struct CUstream_st *stream)
{
	if (stream->capture)
		return stream->capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
	return check_legacy(stream, true);
}

CUresult capture_refuse(struct CUstream_st *stream)
{
	return stream->capture ? invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) : CUDA_SUCCESS;
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
		invalidate(capture, 0);
	return CUDA_ERROR_CAPTURED_EVENT;
}

CUresult capture_check_context(CUcontext context)
{
	CUresult result = CUDA_SUCCESS;

	for (struct CUstream_st *stream = context->streams; stream; stream = stream->next)
		if (stream->capture)
			result = capture_refuse(stream);
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
			result = invalidate(capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
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

/* ---- operations -------------------------------------------------------------------------------------------- */

CUresult capture_add(struct CUstream_st *stream, CUgraphNodeParams *params)
{
	CUgraphNode node;
	CUresult result = graph_node_add(stream->capture->graph, &stream->frontier, params, &node);

	if (result)
		return result;
	stream->frontier.count = 0;
	return node_list_add(&stream->frontier, node) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
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

static void join(struct CUstream_st *stream, struct capture *capture)
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
		return invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
	if (!other) /* that capture has ended */
		return stream->capture ? invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION)
				       : CUDA_ERROR_CAPTURED_EVENT;
	if (stream->capture && stream->capture != other) {
		invalidate(other, 0);
		return invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
	}
	if (other->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (stream->legacy)
		return invalidate(other, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	if (!stream->capture)
		join(stream, other);
	return node_list_add_all(&stream->frontier, &event->recorded) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

void capture_forget_event(CUevent event)
{
	node_list_clear(&event->recorded);
	event->capture_id = 0;
}

/* ---- beginning and ending ---------------------------------------------------------------------------------- */

static CUresult begin(struct CUstream_st *stream, CUgraph graph, CUstreamCaptureMode mode)
{
	struct capture *capture = calloc(1, sizeof(*capture));

	if (!capture)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*capture = (struct capture){ .id = ++last_id,
				     .thread = sim_thread(),
				     .mode = mode,
				     .graph = graph ? graph : graph_new(),
				     .into_given = graph,
				     .origin = stream,
				     .next = captures };
	if (!capture->graph) {
		free(capture);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	capture->graph->capturing = true;
	captures = capture;
	atomic_fetch_add_explicit(&capture_count, 1, memory_order_relaxed);
	join(stream, capture);
	return CUDA_SUCCESS;
}

static CUresult check_begin(const struct CUstream_st *stream, CUstreamCaptureMode mode)
{
	if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	if (stream->legacy)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	return stream->capture ? CUDA_ERROR_ILLEGAL_STATE : CUDA_SUCCESS;
}

/* Takes every stream out of it; the graph is the caller's. */
static CUgraph finish(struct capture *capture)
{
	struct capture **at = &captures;
	CUgraph graph = capture->graph;
	struct CUstream_st *stream;

	while (*at != capture)
		at = &(*at)->next;
	*at = capture->next;
	atomic_fetch_sub_explicit(&capture_count, 1, memory_order_relaxed);
	while ((stream = capture->streams)) {
		capture->streams = stream->next_captured;
		stream->capture = NULL;
		node_list_clear(&stream->frontier);
	}
	graph->capturing = false;
	node_list_clear(&capture->ends);
	free(capture);
	return graph;
}

static void throw_away(struct capture *capture)
{
	bool keep = capture->into_given;
	CUgraph graph = finish(capture);

	if (!keep)
		graph_free(graph);
}

void capture_forget_stream(struct CUstream_st *stream)
{
	struct capture *capture = stream->capture;
	struct CUstream_st **at;

	if (!capture)
		return;
	if (stream == capture->origin) {
		throw_away(capture);
		return;
	}
	for (at = &capture->streams; *at != stream; at = &(*at)->next_captured)
		;
	*at = stream->next_captured;
	if (!node_list_add_all(&capture->ends, &stream->frontier))
		capture->invalid = true;
	stream->capture = NULL;
	node_list_clear(&stream->frontier);
}

static bool all_marked(const struct node_list *list)
{
	for (unsigned i = 0; i < list->count; i++)
		if (!list->nodes[i]->marked)
			return false;
	return true;
}

/* What every joined stream did last comes before what the origin did last, or is the same. */
static bool joined(const struct capture *capture)
{
	if (!graph_mark_before(capture->graph, &capture->origin->frontier))
		return false;
	for (const struct CUstream_st *stream = capture->streams; stream; stream = stream->next_captured)
		if (!all_marked(&stream->frontier))
			return false;
	return all_marked(&capture->ends);
}

static CUresult end(struct CUstream_st *stream, CUgraph *graph)
{
	struct capture *capture = stream->capture;
	CUresult result = CUDA_SUCCESS;

	if (!capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (capture->origin != stream)
		return invalidate(capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
	if (capture->thread != sim_thread() && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED)
		return invalidate(capture, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
	if (capture->invalid)
		result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	else if (!joined(capture))
		result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	if (result)
		throw_away(capture);
	else
		*graph = finish(capture);
	return result;
}

/* ---- calls ------------------------------------------------------------------------------------------------- */

CUresult api_capture_begin(CALL, CUstream s, CUstreamCaptureMode mode)
{
	struct CUstream_st *stream;
	CUresult result;

	sim_lock();
	result = stream_find(call, s, &stream);
	if (!result)
		result = check_begin(stream, mode);
	if (!result)
		result = begin(stream, NULL, mode);
	sim_unlock();
	return result;
}

CUresult api_capture_begin_global(CALL, CUstream s)
{
	return api_capture_begin(call, s, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult api_capture_begin_to_graph(CALL, CUstream s, CUgraph graph, const CUgraphNode *dependencies,
				    const CUgraphEdgeData *data, size_t count, CUstreamCaptureMode mode)
{
	struct node_list before = { 0 };
	struct CUstream_st *stream;
	CUresult result;

	sim_lock();
	result = stream_find(call, s, &stream);
	if (!result)
		result = check_begin(stream, mode);
	if (!result && (!graph_valid(graph) || graph->capturing))
		result = CUDA_ERROR_INVALID_VALUE;
	if (!result)
		result = graph_take_list(graph, dependencies, data, count, &before);
	if (!result)
		result = begin(stream, graph, mode);
	if (result)
		node_list_clear(&before);
	else
		stream->frontier = before;
	sim_unlock();
	return result;
}

CUresult api_capture_end(CALL, CUstream s, CUgraph *graph)
{
	struct CUstream_st *stream;
	CUresult result;

	if (!graph)
		return CUDA_ERROR_INVALID_VALUE;
	*graph = NULL;
	sim_lock();
	result = stream_find(call, s, &stream);
	if (!result)
		result = end(stream, graph);
	sim_unlock();
	return result;
}

static CUstreamCaptureStatus status_of(const struct CUstream_st *stream)
{
	if (!stream->capture)
		return CU_STREAM_CAPTURE_STATUS_NONE;
	return stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult api_stream_is_capturing(CALL, CUstream s, CUstreamCaptureStatus *status)
{
	return api_capture_info(call, s, status, NULL);
}

CUresult api_capture_info_edges(CALL, CUstream s, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
				const CUgraphNode **dependencies, const CUgraphEdgeData **data, size_t *count)
{
	struct CUstream_st *stream;
	CUresult result;

	if (!status || (data && !dependencies))
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	result = stream_find(call, s, &stream);
	if (!result)
		result = check_legacy(stream, false); /* asking does no harm */
	if (!result) {
		*status = status_of(stream);
		if (stream->capture && id)
			*id = stream->capture->id;
		if (stream->capture && graph)
			*graph = stream->capture->graph;
		if (dependencies)
			*dependencies = stream->frontier.nodes;
		if (count)
			*count = stream->frontier.count;
		if (data)
			*data = graph_plain_edges(stream->frontier.count);
	}
	sim_unlock();
	return result;
}

CUresult api_capture_info_graph(CALL, CUstream s, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
				const CUgraphNode **dependencies, size_t *count)
{
	return api_capture_info_edges(call, s, status, id, graph, dependencies, NULL, count);
}

CUresult api_capture_info(CALL, CUstream s, CUstreamCaptureStatus *status, cuuint64_t *id)
{
	return api_capture_info_edges(call, s, status, id, NULL, NULL, NULL, NULL);
}

static CUresult update(struct CUstream_st *stream, CUgraphNode *dependencies, const CUgraphEdgeData *data, size_t count,
		       bool replace)
{
	struct node_list given = { 0 };
	CUresult result;

	if (!stream->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (stream->capture->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	result = graph_take_list(stream->capture->graph, dependencies, data, count, &given);
	if (result)
		return result;
	if (replace)
		stream->frontier.count = 0;
	if (!node_list_add_all(&stream->frontier, &given))
		result = CUDA_ERROR_OUT_OF_MEMORY;
	node_list_clear(&given);
	return result;
}

CUresult api_capture_update_edges(CALL, CUstream s, CUgraphNode *dependencies, const CUgraphEdgeData *data,
				  size_t count, unsigned int flags)
{
	struct CUstream_st *stream;
	CUresult result;

	if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	result = stream_find(call, s, &stream);
	if (!result)
		result = update(stream, dependencies, data, count, flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES);
	sim_unlock();
	return result;
}

CUresult api_capture_update(CALL, CUstream s, CUgraphNode *dependencies, size_t count, unsigned int flags)
{
	return api_capture_update_edges(call, s, dependencies, NULL, count, flags);
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
