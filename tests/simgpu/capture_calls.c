/* SPDX-License-Identifier: BSD-2-Clause */
/* capture_calls.c: beginning, ending, asking, redirecting. */
#include "capture.h"
#include "graph.h"
#include "stream.h"

#include <stdlib.h>

static uint64_t last_id;

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
				     .origin = stream };
	if (!capture->graph) {
		free(capture);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	capture->graph->capturing = true;
	capture_list_add(capture);
	capture_join(stream, capture);
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
	CUgraph graph = capture->graph;
	struct CUstream_st *stream;

	capture_list_remove(capture);
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
		return capture_invalidate(capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
	if (capture->thread != sim_thread() && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED)
		return capture_invalidate(capture, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
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
		result = capture_check_legacy(stream, false); /* asking does no harm */
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
