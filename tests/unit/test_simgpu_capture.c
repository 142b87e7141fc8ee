/* SPDX-License-Identifier: BSD-2-Clause */
/* Stream capture: what becomes a node and which edges it gets, and each violation of the rules by its name. */
#include "test_simgpu.h"

#include <pthread.h>

static struct truth truth;

static const CUstreamCaptureMode modes[] = { CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
					     CU_STREAM_CAPTURE_MODE_RELAXED };

static CUstream begin_mode(unsigned flags, CUstreamCaptureMode mode)
{
	CUstream s = stream(flags);

	OK(cuStreamBeginCapture(s, mode));
	return s;
}

static CUstream begin(void)
{
	return begin_mode(CU_STREAM_NON_BLOCKING, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

APART static CUevent event(void)
{
	CUevent e;

	OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	return e;
}

static void expect_status(CUstreamCaptureStatus expected, CUstream s)
{
	CUstreamCaptureStatus status = 77;

	OK(cuStreamIsCapturing(s, &status));
	EXPECT(expected, status);
}

/* The capture is invalid: nothing more is taken, ending it says so and gives no graph, and the stream works again. */
static void expect_invalid(CUstream s)
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

/* ---- what is captured --------------------------------------------------------------------------------------- */

static void host_function(void *argument)
{
	(*(int *)argument)++;
}

static void every_kind(void)
{
	const CUgraphNodeType expected[] = { CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_MEMCPY,
					     CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_MEMSET,
					     CU_GRAPH_NODE_TYPE_HOST };
	int calls = 0, host[2] = { 7, 0 };
	CUdeviceptr memory;
	CUgraphNode nodes[8];
	CUgraphNodeType type;
	CUgraphExec exec;
	CUgraph graph;
	size_t count = 8;
	CUstream s;

	start();
	memory = device_memory(64);
	s = begin();
	launch("captured", s);
	OK(cuMemcpyHtoDAsync(memory, &host[0], 4, s));
	OK(cuMemcpyDtoHAsync(&host[1], memory, 4, s));
	OK(cuMemsetD32Async(memory, 3, 16, s));
	OK(cuLaunchHostFunc(s, host_function, &calls));
	graph = end(s, 5, 4);
	OK(cuGraphGetNodes(graph, nodes, &count));
	EXPECT(5, count);
	EXPECT(1, nodes[5] == NULL);
	for (unsigned i = 0; i < 5; i++) {
		OK(cuGraphNodeGetType(nodes[i], &type));
		EXPECT(expected[i], type);
	}
	OK(cuStreamSynchronize(s));
	EXPECT(0, host[1]);
	host[0] = 9; /* read when the graph runs, not when it was captured */
	OK(cuGraphInstantiate(&exec, graph, 0));
	OK(cuGraphLaunch(exec, s));
	OK(cuStreamSynchronize(s));
	EXPECT(9, host[1]);
	EXPECT(1, calls);
	OK(cuMemcpyDtoH(&host[1], memory, 4));
	EXPECT(3, host[1]);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
}

static void operations_become_nodes_and_run_when_launched(void **state)
{
	const char *const expected[] = { "kernel", "memcpy", "memcpy", "memset", "hostfn" };

	(void)state;
	run_in_child(every_kind, &truth);
	assert_int_equal(truth.count, 6); /* and the last copy */
	for (unsigned i = 0; i < 5; i++) {
		assert_string_equal(truth.ops[i].op, expected[i]);
		assert_int_equal(truth.ops[i].graph, 1);
	}
	assert_int_equal(truth.ops[5].graph, 0);
}

static void fork_and_join(void)
{
	CUstream origin, side;
	CUevent fork, join;
	CUgraphNode nodes[4], before[4];
	CUgraph graph;
	size_t count = 4;

	start();
	origin = begin();
	side = stream(CU_STREAM_NON_BLOCKING);
	fork = event();
	join = event();
	launch("a", origin);
	OK(cuEventRecord(fork, origin));
	OK(cuStreamWaitEvent(side, fork, 0));
	expect_status(CU_STREAM_CAPTURE_STATUS_ACTIVE, side);
	launch("b", side);
	launch("c", origin);
	OK(cuEventRecord(join, side));
	OK(cuStreamWaitEvent(origin, join, 0));
	launch("d", origin);
	graph = end(origin, 4, 4);
	expect_status(CU_STREAM_CAPTURE_STATUS_NONE, side);
	OK(cuGraphGetNodes(graph, nodes, &count));
	count = 4;
	OK(cuGraphNodeGetDependencies(nodes[3], before, NULL, &count));
	EXPECT(2, count);
	EXPECT(1, before[0] == nodes[2] && before[1] == nodes[1]);
	count = 4;
	OK(cuGraphNodeGetDependentNodes(nodes[0], before, NULL, &count));
	EXPECT(2, count);
	OK(cuGraphDestroy(graph));
	launch("after", side); /* works as before */
	OK(cuStreamSynchronize(side));
}

static void events_carry_a_capture_to_other_streams_and_back(void **state)
{
	(void)state;
	run_in_child(fork_and_join, &truth);
	assert_int_equal(truth.count, 1);
}

static void fork_without_work(void)
{
	CUstream origin, side;
	CUevent e;

	start();
	origin = begin();
	side = stream(0);
	e = event();
	OK(cuEventRecord(e, origin)); /* before any node */
	OK(cuStreamWaitEvent(side, e, 0));
	launch("a", origin);
	EXPECT(CUDA_ERROR_ILLEGAL_STATE, cuStreamBeginCapture(side, CU_STREAM_CAPTURE_MODE_GLOBAL));
	EXPECT(CUDA_ERROR_ILLEGAL_STATE, cuStreamBeginCapture(origin, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuGraphDestroy(end(origin, 1, 0)));
}

static void a_fork_without_work_needs_no_join(void **state)
{
	(void)state;
	run_in_child(fork_without_work, NULL);
}

static void external_events(void)
{
	CUgraphNode nodes[4];
	CUgraphExec exec;
	CUgraph graph;
	CUevent in, out, got;
	CUstream s, other;
	size_t count = 4;

	start();
	s = begin();
	other = stream(CU_STREAM_NON_BLOCKING);
	in = event();
	out = event();
	OK(cuStreamWaitEvent(s, in, CU_EVENT_WAIT_EXTERNAL));
	launch("inside__100us", s);
	OK(cuEventRecordWithFlags(out, s, CU_EVENT_RECORD_EXTERNAL));
	graph = end(s, 3, 2);
	OK(cuGraphGetNodes(graph, nodes, &count));
	OK(cuGraphEventWaitNodeGetEvent(nodes[0], &got));
	EXPECT(1, got == in);
	OK(cuGraphEventRecordNodeGetEvent(nodes[2], &got));
	EXPECT(1, got == out);
	OK(cuGraphInstantiate(&exec, graph, 0));
	gate_close(other);
	launch("before__500us", other);
	OK(cuEventRecord(in, other));
	OK(cuGraphLaunch(exec, s));
	OK(cuStreamWaitEvent(other, out, 0));
	launch("behind", other);
	EXPECT(CUDA_ERROR_NOT_READY, cuEventQuery(out));
	gate_open();
	OK(cuEventSynchronize(out));
	OK(cuCtxSynchronize());
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
	EXPECT(CUDA_ERROR_INVALID_VALUE,
	       cuEventRecordWithFlags(out, s, CU_EVENT_RECORD_EXTERNAL)); /* outside a capture */
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamWaitEvent(s, out, CU_EVENT_WAIT_EXTERNAL));
}

static void external_events_are_nodes_that_order_with_other_streams(void **state)
{
	(void)state;
	run_in_child(external_events, &truth);
	assert_int_equal(truth_find(&truth, "inside__100us")->start_ns,
			 truth_find(&truth, "before__500us")->end_ns + 500);
	assert_int_equal(truth_find(&truth, "behind")->start_ns, truth_find(&truth, "inside__100us")->end_ns);
}

static void info(void)
{
	CUstreamCaptureStatus status;
	const CUgraphEdgeData *data;
	const CUgraphNode *nodes;
	CUgraphNode first, empty;
	cuuint64_t id = 0, id2 = 0;
	CUgraph graph, ended;
	size_t count = 9;
	CUstream s, t;

	start();
	s = stream(0);
	OK(cuStreamGetCaptureInfo(s, &status, NULL, NULL, NULL, NULL, NULL));
	EXPECT(CU_STREAM_CAPTURE_STATUS_NONE, status);
	EXPECT(CUDA_ERROR_ILLEGAL_STATE, cuStreamUpdateCaptureDependencies(s, NULL, NULL, 0, 0));
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	t = begin_mode(0, CU_STREAM_CAPTURE_MODE_RELAXED);
	launch("a", s);
	OK(cuStreamGetCaptureInfo(s, &status, &id, &graph, &nodes, &data, &count));
	EXPECT(CU_STREAM_CAPTURE_STATUS_ACTIVE, status);
	EXPECT(1, count);
	EXPECT(0, data[0].type);
	OK(cuStreamGetCaptureInfo(t, &status, &id2, NULL, NULL, NULL, NULL));
	EXPECT(1, id && id2 && id != id2);
	first = nodes[0];
	EXPECT(CUDA_ERROR_ILLEGAL_STATE, cuGraphDestroy(graph));
	EXPECT(CUDA_ERROR_ILLEGAL_STATE, cuGraphDestroyNode(first));
	/* A node of the client's own in between: empty depends on a, b on both, c on empty alone. */
	OK(cuGraphAddEmptyNode(&empty, graph, &first, 1));
	OK(cuStreamUpdateCaptureDependencies(s, &empty, NULL, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
	launch("b", s);
	OK(cuStreamUpdateCaptureDependencies(s, &empty, NULL, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
	launch("c", s);
	ended = end(s, 4, 4);
	EXPECT(1, ended == graph);
	OK(cuGraphDestroy(ended));
	OK(cuGraphDestroy(end(t, 0, 0)));
}

static void captures_can_be_asked_and_redirected(void **state)
{
	(void)state;
	run_in_child(info, NULL);
}

static void to_graph(void)
{
	CUgraphNode root;
	CUgraphExec exec;
	CUgraph graph, ended;
	CUstream s;
	size_t count = 0;

	start();
	s = stream(CU_STREAM_NON_BLOCKING);
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddEmptyNode(&root, graph, NULL, 0));
	OK(cuStreamBeginCaptureToGraph(s, graph, &root, NULL, 1, CU_STREAM_CAPTURE_MODE_GLOBAL));
	launch("a", s);
	EXPECT(CUDA_ERROR_ILLEGAL_STATE, cuGraphInstantiate(&exec, graph, 0));
	ended = end(s, 2, 1);
	EXPECT(1, ended == graph);
	/* An invalid capture leaves the client its graph. */
	OK(cuStreamBeginCaptureToGraph(s, graph, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_GLOBAL));
	launch("b", s);
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamQuery(s));
	expect_invalid(s);
	OK(cuGraphGetNodes(graph, NULL, &count));
	EXPECT(3, count);
	OK(cuGraphDestroy(graph));
}

static void a_capture_can_go_into_an_existing_graph(void **state)
{
	(void)state;
	run_in_child(to_graph, NULL);
}

/* ---- violations --------------------------------------------------------------------------------------------- */

static void waiting(void)
{
	start();
	for (unsigned i = 0; i < 3; i++) {
		CUstream s = begin_mode(0, modes[i]);
		CUevent e = event();

		launch("a", s);
		EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(s));
		expect_invalid(s);
		OK(cuStreamBeginCapture(s, modes[i]));
		EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamQuery(s));
		expect_invalid(s);
		OK(cuStreamBeginCapture(s, modes[i]));
		EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuCtxSynchronize());
		expect_invalid(s);
		OK(cuStreamBeginCapture(s, modes[i]));
		OK(cuEventRecord(e, s));
		EXPECT(CUDA_ERROR_CAPTURED_EVENT, cuEventSynchronize(e));
		expect_invalid(s);
		OK(cuStreamBeginCapture(s, modes[i]));
		OK(cuEventRecord(e, s));
		EXPECT(CUDA_ERROR_CAPTURED_EVENT, cuEventQuery(e));
		expect_invalid(s);
		OK(cuEventRecord(e, s)); /* recorded anew, it is an ordinary event again */
		OK(cuEventSynchronize(e));
	}
}

static void waiting_for_what_is_captured_is_unsupported(void **state)
{
	(void)state;
	run_in_child(waiting, NULL);
}

static void callback(CUstream s, CUresult status, void *argument)
{
	(void)s, (void)status, (void)argument;
}

static void uncapturable(void)
{
	CUstream s;

	start();
	s = begin();
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamAddCallback(s, callback, NULL, 0));
	expect_invalid(s);
}

static void callbacks_cannot_be_captured(void **state)
{
	(void)state;
	run_in_child(uncapturable, NULL);
}

static void legacy(void)
{
	CUstreamCaptureStatus status;
	CUdeviceptr memory;
	int word = 0;
	CUevent e;
	CUstream s;

	start();
	e = event();
	memory = device_memory(64);
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL));
	s = begin_mode(0, CU_STREAM_CAPTURE_MODE_RELAXED);
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuStreamIsCapturing(NULL, &status));
	expect_status(CU_STREAM_CAPTURE_STATUS_ACTIVE, s); /* asking does no harm */
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, launch_result("a", NULL));
	expect_invalid(s);
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuMemcpyHtoD(memory, &word, 4));
	expect_invalid(s);
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuMemsetD8(memory, 0, 4));
	expect_invalid(s);
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuEventRecord(e, NULL));
	expect_invalid(s);
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuStreamSynchronize(NULL));
	expect_invalid(s);
	/* A capture on a non-blocking stream does not concern the legacy stream. */
	s = begin();
	launch("fine", NULL);
	OK(cuMemsetD8(memory, 0, 4));
	OK(cuGraphDestroy(end(s, 0, 0)));
}

static void legacy_stream_beside_a_blocking_capture_is_implicit(void **state)
{
	(void)state;
	run_in_child(legacy, NULL);
}

static void isolation(void)
{
	CUevent e;
	CUstream s, other;

	start();
	e = event();
	other = stream(0);
	OK(cuEventRecord(e, other));
	s = begin();
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(s, e, 0));
	expect_invalid(s);
	/* An event of a capture that has ended is neither captured work of this one nor ordinary work. */
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuEventRecord(e, s));
	OK(cuGraphDestroy(end(s, 0, 0)));
	EXPECT(CUDA_ERROR_CAPTURED_EVENT, cuStreamWaitEvent(other, e, 0));
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(s, e, 0));
	expect_invalid(s);
}

static void waiting_for_uncaptured_work_is_isolation(void **state)
{
	(void)state;
	run_in_child(isolation, NULL);
}

static void merge(void)
{
	CUstream one, other;
	CUevent e;

	start();
	e = event();
	one = begin();
	other = begin();
	OK(cuEventRecord(e, one));
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_MERGE, cuStreamWaitEvent(other, e, 0));
	expect_status(CU_STREAM_CAPTURE_STATUS_INVALIDATED, other);
	CUgraph graph;
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(one, &graph));
	expect_invalid(other);
}

static void joining_two_captures_is_merge(void **state)
{
	(void)state;
	run_in_child(merge, NULL);
}

static void unjoined(void)
{
	CUstream origin, side;
	CUevent fork, join;
	CUgraph graph;

	start();
	fork = event();
	join = event();
	origin = begin();
	side = stream(0);
	launch("a", origin);
	OK(cuEventRecord(fork, origin));
	OK(cuStreamWaitEvent(side, fork, 0));
	launch("b", side);
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(origin, &graph));
	EXPECT(1, graph == NULL);
	expect_status(CU_STREAM_CAPTURE_STATUS_NONE, origin);
	expect_status(CU_STREAM_CAPTURE_STATUS_NONE, side);
	/* Work behind the join is unjoined too, and stays so when its stream is destroyed. */
	OK(cuStreamBeginCapture(origin, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuEventRecord(fork, origin));
	OK(cuStreamWaitEvent(side, fork, 0));
	launch("b", side);
	OK(cuEventRecord(join, side));
	OK(cuStreamWaitEvent(origin, join, 0));
	launch("c", side);
	OK(cuStreamDestroy(side));
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(origin, &graph));
}

static void a_fork_that_is_not_joined_is_unjoined(void **state)
{
	(void)state;
	run_in_child(unjoined, NULL);
}

static void unmatched(void)
{
	CUstream origin, side;
	CUgraph graph;
	CUevent e;

	start();
	e = event();
	side = stream(0);
	EXPECT(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(side, &graph));
	EXPECT(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(NULL, &graph));
	origin = begin();
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamEndCapture(origin, NULL));
	OK(cuEventRecord(e, origin));
	OK(cuStreamWaitEvent(side, e, 0));
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, cuStreamEndCapture(side, &graph));
	expect_invalid(origin);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamBeginCapture(origin, (CUstreamCaptureMode)3));
}

static void ending_another_stream_than_the_origin_is_unmatched(void **state)
{
	(void)state;
	run_in_child(unmatched, NULL);
}

/* ---- threads and modes -------------------------------------------------------------------------------------- */

struct other_thread {
	CUstream stream;
	CUstreamCaptureMode mode; /* of the thread */
	CUresult ended, allocated, queried, synchronised;
};

static void *end_elsewhere(void *argument)
{
	struct other_thread *other = argument;
	CUgraph graph;

	OK(cuCtxSetCurrent(context));
	other->ended = cuStreamEndCapture(other->stream, &graph);
	if (!other->ended)
		OK(cuGraphDestroy(graph));
	return NULL;
}

static void run_thread(void *(*body)(void *), struct other_thread *other)
{
	pthread_t thread;

	EXPECT(0, pthread_create(&thread, NULL, body, other));
	EXPECT(0, pthread_join(thread, NULL));
}

static void wrong_thread(void)
{
	struct other_thread other;

	start();
	for (unsigned i = 0; i < 2; i++) {
		other.stream = begin_mode(0, modes[i]);
		run_thread(end_elsewhere, &other);
		EXPECT(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, other.ended);
		expect_invalid(other.stream);
	}
	other.stream = begin_mode(0, CU_STREAM_CAPTURE_MODE_RELAXED);
	run_thread(end_elsewhere, &other);
	EXPECT(CUDA_SUCCESS, other.ended);
}

static void only_a_relaxed_capture_may_end_in_another_thread(void **state)
{
	(void)state;
	run_in_child(wrong_thread, NULL);
}

static void *unsafe_calls(void *argument)
{
	struct other_thread *other = argument;
	CUdeviceptr memory;
	CUevent e;
	CUstream s;

	OK(cuCtxSetCurrent(context));
	OK(cuThreadExchangeStreamCaptureMode(&other->mode));
	EXPECT(CU_STREAM_CAPTURE_MODE_GLOBAL, other->mode); /* every thread's first */
	s = stream(CU_STREAM_NON_BLOCKING);
	e = event();
	launch("beside", s); /* not unsafe */
	OK(cuEventRecord(e, s));
	other->allocated = cuMemAlloc(&memory, 4096);
	other->queried = cuEventQuery(e) == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : cuEventQuery(e);
	other->synchronised = cuStreamSynchronize(s);
	return NULL;
}

/* What another thread in that mode may do beside a capture in this one. */
static void beside(CUstreamCaptureMode capture, CUstreamCaptureMode thread, CUresult expected)
{
	struct other_thread other = { .mode = thread };
	CUstream s = begin_mode(CU_STREAM_NON_BLOCKING, capture);
	CUgraph graph;

	run_thread(unsafe_calls, &other);
	EXPECT(expected, other.allocated);
	EXPECT(expected, other.queried);
	EXPECT(expected, other.synchronised);
	EXPECT(expected ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS, cuStreamEndCapture(s, &graph));
	if (!expected)
		OK(cuGraphDestroy(graph));
}

static void other_threads(void)
{
	start();
	for (unsigned capture = 0; capture < 3; capture++)
		for (unsigned thread = 0; thread < 3; thread++)
			beside(modes[capture], modes[thread],
			       capture == 0 && thread == 0 ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS);
}

static void only_global_captures_prohibit_other_threads(void **state)
{
	(void)state;
	run_in_child(other_threads, NULL);
}

static void same_thread(void)
{
	CUstreamCaptureMode mode;
	CUdeviceptr memory;
	CUgraph graph;

	start();
	for (unsigned capture = 0; capture < 3; capture++) {
		for (unsigned thread = 0; thread < 3; thread++) {
			CUresult expected =
				capture == 2 || thread == 2 ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
			CUstream s = begin_mode(CU_STREAM_NON_BLOCKING, modes[capture]);

			mode = modes[thread];
			OK(cuThreadExchangeStreamCaptureMode(&mode));
			EXPECT(expected, cuMemAlloc(&memory, 4096));
			OK(cuThreadExchangeStreamCaptureMode(&mode));
			EXPECT(modes[thread], mode);
			EXPECT(expected ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS,
			       cuStreamEndCapture(s, &graph));
			if (!expected)
				OK(cuGraphDestroy(graph));
		}
	}
}

static void unsafe_calls_in_the_capturing_thread_need_a_relaxed_mode(void **state)
{
	(void)state;
	run_in_child(same_thread, NULL);
}

static void destroyed_origin(void)
{
	CUdeviceptr memory;
	CUstream s;

	start();
	s = begin();
	launch("a", s);
	OK(cuStreamDestroy(s));
	OK(cuMemAlloc(&memory, 4096)); /* no capture is left that could prohibit it */
	OK(cuCtxSynchronize());
}

static void a_destroyed_origin_takes_its_capture_along(void **state)
{
	(void)state;
	run_in_child(destroyed_origin, &truth);
	assert_int_equal(truth.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operations_become_nodes_and_run_when_launched),
		cmocka_unit_test(events_carry_a_capture_to_other_streams_and_back),
		cmocka_unit_test(a_fork_without_work_needs_no_join),
		cmocka_unit_test(external_events_are_nodes_that_order_with_other_streams),
		cmocka_unit_test(captures_can_be_asked_and_redirected),
		cmocka_unit_test(a_capture_can_go_into_an_existing_graph),
		cmocka_unit_test(waiting_for_what_is_captured_is_unsupported),
		cmocka_unit_test(callbacks_cannot_be_captured),
		cmocka_unit_test(legacy_stream_beside_a_blocking_capture_is_implicit),
		cmocka_unit_test(waiting_for_uncaptured_work_is_isolation),
		cmocka_unit_test(joining_two_captures_is_merge),
		cmocka_unit_test(a_fork_that_is_not_joined_is_unjoined),
		cmocka_unit_test(ending_another_stream_than_the_origin_is_unmatched),
		cmocka_unit_test(only_a_relaxed_capture_may_end_in_another_thread),
		cmocka_unit_test(only_global_captures_prohibit_other_threads),
		cmocka_unit_test(unsafe_calls_in_the_capturing_thread_need_a_relaxed_mode),
		cmocka_unit_test(a_destroyed_origin_takes_its_capture_along),
	};

	settings_clear();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
