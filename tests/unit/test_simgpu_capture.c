/* SPDX-License-Identifier: BSD-2-Clause */
/* Stream capture: what becomes a node and which edges it gets. */
#include "test_simgpu_capture.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operations_become_nodes_and_run_when_launched),
		cmocka_unit_test(events_carry_a_capture_to_other_streams_and_back),
		cmocka_unit_test(a_fork_without_work_needs_no_join),
		cmocka_unit_test(external_events_are_nodes_that_order_with_other_streams),
		cmocka_unit_test(captures_can_be_asked_and_redirected),
		cmocka_unit_test(a_capture_can_go_into_an_existing_graph),
	};

	settings_clear();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
