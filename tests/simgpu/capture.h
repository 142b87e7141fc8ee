/* SPDX-License-Identifier: BSD-2-Clause */
/* capture.h: streams that capture. Locked.
 *
 *   cuStreamBeginCapture    one capture, one graph, one origin stream
 *   an operation            a node behind the stream's frontier, which then is that node
 *   cuEventRecord           the event remembers the frontier
 *   cuStreamWaitEvent       the waiting stream joins the capture, its frontier grows by what the event remembers
 *   cuStreamEndCapture      the graph, if every joined stream's frontier lies behind the origin's
 *
 * A violation makes the capture invalid: whatever follows returns CUDA_ERROR_STREAM_CAPTURE_INVALIDATED until the origin ends it.
 * A call whose row in entry_points.def says UNSAFE, and everything that waits or asks whether work is done, is prohibited
 * (CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, and the prohibiting captures become invalid) as cuThreadExchangeStreamCaptureMode
 * says. Rows: what allocates, frees, pins, loads or unloads code, as seen of the real driver; its documentation has no list. */
#pragma once

#include "objects.h"

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

/* Rules; each returns the error of a violation. */
CUresult capture_check_use(struct CUstream_st *stream); /* enqueues to it: the legacy stream beside a blocking capture */
CUresult capture_refuse(struct CUstream_st *stream);    /* does what no graph can hold; CUDA_SUCCESS where nothing captures */
CUresult capture_refuse_event(CUevent event);           /* of a captured event: CUDA_ERROR_CAPTURED_EVENT */
CUresult capture_refuse_context(CUcontext context);     /* orders with everything in it */
CUresult capture_check_context(CUcontext context);      /* waits for everything in it */
CUresult capture_forbids_wait(void);                    /* this thread may not wait at all */
CUresult capture_forbids_unsafe(void);                  /* the same; takes the lock */

/* An operation enqueued to a stream that captures becomes a node with a copy of these parameters, which have been checked; the
 * address of an allocation is left in them. */
CUresult capture_add(struct CUstream_st *stream, CUgraphNodeParams *params);
CUresult capture_add_node(struct CUstream_st *stream, CUgraphNodeParams *params, CUgraphNode *node);
CUresult capture_alloc(struct CUstream_st *stream, size_t bytes, int device, CUdeviceptr *address);
CUresult capture_free(struct CUstream_st *stream, CUdeviceptr address); /* CUDA_ERROR_INVALID_VALUE: not of a graph */
CUresult capture_record_event(struct CUstream_st *stream, CUevent event, bool external);
CUresult capture_wait_event(struct CUstream_st *stream, CUevent event, bool external);

void capture_forget_event(CUevent event);              /* recorded anew, or going away */
void capture_forget_stream(struct CUstream_st *stream); /* going away; the origin takes the capture with it */

/* For capture_calls.c. */
CUresult capture_invalidate(struct capture *capture, CUresult error); /* returns the error */
CUresult capture_check_legacy(const struct CUstream_st *stream, bool end_captures);
void capture_join(struct CUstream_st *stream, struct capture *capture);
void capture_list_add(struct capture *capture);
void capture_list_remove(struct capture *capture);
