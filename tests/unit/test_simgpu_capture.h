/* SPDX-License-Identifier: BSD-2-Clause */
/* test_simgpu_capture.h: what the tests of stream capture share, for children of a case. */
#pragma once

#include "test_simgpu.h"

static struct truth truth;

static inline CUstream begin_mode(unsigned flags, CUstreamCaptureMode mode)
{
	CUstream s = stream(flags);

	OK(cuStreamBeginCapture(s, mode));
	return s;
}

static inline CUstream begin(void)
{
	return begin_mode(CU_STREAM_NON_BLOCKING, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

APART static CUevent event(void)
{
	CUevent e;

	OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	return e;
}

static inline void expect_status(CUstreamCaptureStatus expected, CUstream s)
{
	CUstreamCaptureStatus status = 77;

	OK(cuStreamIsCapturing(s, &status));
	EXPECT(expected, status);
}

/* The capture is invalid: nothing more is taken, ending it says so and gives no graph, and the stream works again. */
static inline void expect_invalid(CUstream s)
{
	CUgraph graph = (CUgraph)&truth;

	expect_status(CU_STREAM_CAPTURE_STATUS_INVALIDATED, s);
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, launch_result("late", s));
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamSynchronize(s));
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &graph));
	EXPECT(1, graph == NULL);
	expect_status(CU_STREAM_CAPTURE_STATUS_NONE, s);
	launch("again", s);
	OK(cuStreamSynchronize(s));
}

APART static CUgraph end(CUstream s, size_t nodes, size_t edges)
{
	size_t count = 0;
	CUgraph graph;

	OK(cuStreamEndCapture(s, &graph));
	OK(cuGraphGetNodes(graph, NULL, &count));
	EXPECT(nodes, count);
	OK(cuGraphGetEdges(graph, NULL, NULL, NULL, &count));
	EXPECT(edges, count);
	return graph;
}
