/* SPDX-License-Identifier: BSD-2-Clause */
/* Graphs run in model time: the order of nodes, of launches and of what they share with streams. */
#include "test_simgpu_graphs.h"

/* a, then b beside c, then d. */
APART static CUgraph diamond(void)
{
	CUgraph graph = new_graph();
	CUgraphNode a = kernel(graph, "a__10us", NULL, NULL);
	CUgraphNode b = kernel(graph, "b__20us", a, NULL), c = kernel(graph, "c__50us", a, NULL);

	kernel(graph, "d__10us", b, c);
	return graph;
}

static void branches(void)
{
	CUgraph graph;
	CUstream s;

	start();
	s = stream(CU_STREAM_NON_BLOCKING);
	graph = diamond();
	gate_close(s);
	launch("before__300us", s);
	OK(cuGraphLaunch(instantiate(graph), s));
	gate_open();
	OK(cuStreamSynchronize(s));
	OK(cuGraphDestroy(graph));
}

static void branches_run_side_by_side(void **state)
{
	const struct truth_op *a, *b, *c, *d;

	(void)state;
	run_in_child(branches, &truth);
	assert_int_equal(truth.count, 6); /* the gate, the kernel before, four nodes */
	a = truth_find(&truth, "a__10us");
	b = truth_find(&truth, "b__20us");
	c = truth_find(&truth, "c__50us");
	d = truth_find(&truth, "d__10us");
	assert_int_equal(a->start_ns, truth_find(&truth, "before__300us")->end_ns); /* a root: no gap */
	assert_int_equal(b->start_ns, a->end_ns + GAP_NS);
	assert_int_equal(c->start_ns, a->end_ns + GAP_NS);
	assert_int_equal(d->start_ns, c->end_ns + GAP_NS);
	assert_int_equal(d->end_ns - a->start_ns, 70000 + 2 * GAP_NS);
	for (unsigned i = 2; i < 6; i++) {
		assert_int_equal(truth.ops[i].graph, 1);
		assert_int_equal(truth.ops[i].stream, 1);
		assert_int_equal(truth.ops[i].submit_ns, a->submit_ns);
	}
	assert_int_equal(truth_find(&truth, "before__300us")->graph, 0);
	assert_int_equal(truth_calls(&truth, "cuGraphLaunch"), 1);
}

static void idle_launch(void)
{
	CUgraphExec exec;
	CUstream s;

	start();
	s = stream(CU_STREAM_NON_BLOCKING);
	exec = instantiate(diamond());
	run(exec, s);
	launch("after", s);
	OK(cuStreamSynchronize(s));
}

static void a_launch_starts_its_roots_after_the_latency(void **state)
{
	const struct truth_op *a;

	(void)state;
	setenv("SIMGPU_LATENCY_US", "200000", 1); /* more than a busy machine holds a thread up */
	run_in_child(idle_launch, &truth);
	a = truth_find(&truth, "a__10us");
	assert_int_equal(a->start_ns, a->submit_ns + 200000000);
	assert_true(truth_find(&truth, "after")->start_ns >= truth_find(&truth, "d__10us")->end_ns);
}

static void own_launches(void)
{
	CUgraphExec exec, other;
	CUgraph graph;
	CUstream s, t;

	start();
	s = stream(CU_STREAM_NON_BLOCKING);
	t = stream(CU_STREAM_NON_BLOCKING);
	graph = new_graph();
	kernel(graph, "k__2000us", NULL, NULL);
	exec = instantiate(graph);
	other = instantiate(graph);
	gate_close(s);
	OK(cuGraphLaunch(exec, s));
	OK(cuGraphLaunch(exec, t));  /* waits for the first */
	OK(cuGraphLaunch(other, t)); /* behind it, in the stream's order */
	OK(cuGraphLaunch(other, s));
	OK(cuGraphExecDestroy(exec)); /* what is launched runs on */
	gate_open();
	OK(cuCtxSynchronize());
}

static void launches_of_one_executable_graph_never_overlap(void **state)
{
	const unsigned graphs[] = { 0, 1, 1, 2, 2 };

	(void)state;
	run_in_child(own_launches, &truth);
	assert_int_equal(truth.count, 5); /* the gate first */
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(truth.ops[i].graph, graphs[i]);
		if (i > 1)
			assert_int_equal(truth.ops[i].start_ns, truth.ops[i - 1].end_ns);
	}
	assert_int_equal(truth.ops[2].stream, 2);
	assert_int_equal(truth.ops[4].stream, 1);
}

static void nesting(void)
{
	CUgraph inner, middle, outer, embedded;
	CUgraphNode first, second, child;
	size_t count = 0;

	start();
	inner = new_graph();
	kernel(inner, "inner__10us", NULL, NULL);
	middle = new_graph();
	OK(cuGraphAddChildGraphNode(&first, middle, NULL, 0, inner));
	OK(cuGraphAddChildGraphNode(&second, middle, &first, 1, inner));
	kernel(inner, "later", NULL, NULL); /* the child graphs are copies */
	outer = new_graph();
	OK(cuGraphAddChildGraphNode(&child, outer, NULL, 0, middle));
	kernel(outer, "outer", child, NULL);
	OK(cuGraphDestroy(inner));
	OK(cuGraphDestroy(middle));
	OK(cuGraphChildGraphNodeGetGraph(child, &embedded));
	OK(cuGraphGetNodes(embedded, NULL, &count));
	EXPECT(2, count);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(embedded)); /* its node owns it */
	run_once(outer);
	OK(cuGraphDestroy(outer));
}

static void child_graphs_run_where_their_node_stands(void **state)
{
	(void)state;
	run_in_child(nesting, &truth);
	assert_int_equal(truth.count, 3);
	assert_string_equal(truth.ops[0].name, "\"inner__10us\"");
	assert_string_equal(truth.ops[1].name, "\"inner__10us\"");
	assert_string_equal(truth.ops[2].name, "\"outer\"");
	assert_int_equal(truth.ops[1].start_ns, truth.ops[0].end_ns + GAP_NS);
	assert_int_equal(truth.ops[2].start_ns, truth.ops[1].end_ns + GAP_NS);
}

enum { BIG = 1 << 20 };

static void data_flow(void)
{
	CUDA_MEMSET_NODE_PARAMS set = { .value = 0x41, .elementSize = 1, .width = BIG, .height = 1 };
	CUDA_HOST_NODE_PARAMS host;
	CUgraphNode a, b, c, d;
	CUDA_MEMCPY3D copy;
	CUdeviceptr memory, second;
	int calls = 0;
	CUgraphExec exec;
	CUgraph graph;
	char *bytes;

	start();
	bytes = pinned_memory(BIG);
	memory = device_memory(BIG);
	second = device_memory(BIG);
	graph = new_graph();
	set.dst = memory;
	OK(cuGraphAddMemsetNode(&a, graph, NULL, 0, &set, context));
	copy = copy_of(CU_MEMORYTYPE_DEVICE, (void *)(uintptr_t)second, CU_MEMORYTYPE_DEVICE, (void *)(uintptr_t)memory,
		       BIG);
	OK(cuGraphAddMemcpyNode(&b, graph, &a, 1, &copy, context));
	copy = copy_of(CU_MEMORYTYPE_HOST, bytes, CU_MEMORYTYPE_DEVICE, (void *)(uintptr_t)second, BIG);
	OK(cuGraphAddMemcpyNode(&c, graph, &b, 1, &copy, context));
	host = (CUDA_HOST_NODE_PARAMS){ add_one, &calls };
	OK(cuGraphAddHostNode(&d, graph, &c, 1, &host));
	exec = instantiate(graph);
	for (int i = 1; i <= 3; i++) {
		memset(bytes, 0, BIG);
		run(exec, NULL);
		EXPECT(i, calls);
		EXPECT(0x41, bytes[0]);
		EXPECT(0x41, bytes[BIG - 1]);
	}
	OK(cuMemFree(second)); /* what it names is gone */
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(exec, NULL));
}

static void copies_sets_and_host_functions_follow_each_other(void **state)
{
	const char *const kinds[] = { "\"\"", "\"d2d\"", "\"d2h-pinned\"", "\"\"" };
	const char *const ops[] = { "memset", "memcpy", "memcpy", "hostfn" };

	(void)state;
	run_in_child(data_flow, &truth);
	assert_int_equal(truth.count, 12);
	for (unsigned i = 0; i < 12; i++) {
		assert_string_equal(truth.ops[i].op, ops[i % 4]);
		assert_string_equal(truth.ops[i].kind, kinds[i % 4]);
		assert_int_equal(truth.ops[i].bytes, i % 4 == 3 ? 0 : BIG);
		if (i)
			assert_true(truth.ops[i].start_ns >= truth.ops[i - 1].end_ns);
	}
}

/* Rectangles of a 4 x 4 square; then from host to host, which is no operation of a device. */
static void shapes(void)
{
	char from[16], to[16] = { 0 }, again[16] = { 0 };
	CUDA_MEMSET_NODE_PARAMS set = { .value = 7, .elementSize = 1, .width = 2, .height = 4, .pitch = 4 };
	CUgraphNode first, second, third;
	CUDA_MEMCPY3D copy;
	CUdeviceptr memory;
	CUgraph graph;

	start();
	memory = device_memory(16);
	memset(from, 1, sizeof(from));
	OK(cuMemcpyHtoD(memory, from, 16));
	graph = new_graph();
	set.dst = memory + 1; /* the two columns in the middle */
	OK(cuGraphAddMemsetNode(&first, graph, NULL, 0, &set, context));
	copy = copy_of(CU_MEMORYTYPE_HOST, to, CU_MEMORYTYPE_DEVICE, (void *)(uintptr_t)memory, 3);
	copy.srcPitch = copy.dstPitch = 4;
	copy.Height = 3; /* three columns, three rows */
	OK(cuGraphAddMemcpyNode(&second, graph, &first, 1, &copy, context));
	copy = copy_of(CU_MEMORYTYPE_HOST, again, CU_MEMORYTYPE_HOST, to, 16);
	OK(cuGraphAddMemcpyNode(&third, graph, &second, 1, &copy, context));
	run_once(graph);
	EXPECT(0, memcmp(again, "\1\7\7\0\1\7\7\0\1\7\7\0\0\0\0\0", 16));
}

static void nodes_copy_and_set_rectangles(void **state)
{
	(void)state;
	run_in_child(shapes, &truth);
	assert_int_equal(truth.count, 3); /* cuMemcpyHtoD, then two nodes */
	assert_int_equal(truth_nth(&truth, "memset", 0)->bytes, 8);
	assert_int_equal(truth_nth(&truth, "memcpy", 1)->bytes, 9);
	assert_int_equal(truth_nth(&truth, "memcpy", 1)->graph, 1);
}

static void queue(void)
{
	CUgraphExec execs[3];
	CUgraph graph;
	CUevent first;

	start();
	OK(cuEventCreate(&first, 0));
	graph = new_graph();
	for (unsigned i = 0; i < 8; i++)
		kernel(graph, "k__5000us", NULL, NULL);
	for (unsigned i = 0; i < 3; i++)
		execs[i] = instantiate(graph);
	OK(cuGraphLaunch(execs[0], NULL));
	OK(cuEventRecord(first, NULL));
	OK(cuGraphLaunch(execs[1], NULL));
	OK(cuGraphLaunch(execs[2], NULL));
	OK(cuEventQuery(first)); /* the third had to wait until the first was done */
	OK(cuCtxSynchronize());
}

static void a_launch_takes_one_place_in_the_queue(void **state)
{
	(void)state;
	setenv("SIMGPU_QUEUE", "2", 1);
	run_in_child(queue, &truth);
	assert_int_equal(truth.count, 24);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(truth.ops[i].start_ns, truth.ops[0].start_ns); /* all side by side */
}

static void on_legacy(void)
{
	CUgraphExec exec;
	CUgraph graph;
	CUstream s;

	start();
	s = stream(0);
	graph = new_graph();
	kernel(graph, "k__2000us", NULL, NULL);
	exec = instantiate(graph);
	gate_close(s);
	launch("before__1000us", s);
	OK(cuGraphLaunch(exec, NULL));
	launch("after", s);
	gate_open();
	OK(cuCtxSynchronize());
}

static void a_launch_on_the_legacy_stream_keeps_its_order(void **state)
{
	(void)state;
	run_in_child(on_legacy, &truth);
	assert_int_equal(truth_find(&truth, "k__2000us")->start_ns, truth_find(&truth, "before__1000us")->end_ns);
	assert_int_equal(truth_find(&truth, "after")->start_ns, truth_find(&truth, "k__2000us")->end_ns);
}

static void captured_launch(void)
{
	CUgraphNode nodes[2];
	CUgraphNodeType type;
	CUgraph graph, outer;
	size_t count = 2;
	CUstream s;

	start();
	graph = diamond();
	s = stream(CU_STREAM_NON_BLOCKING);
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuGraphLaunch(instantiate(graph), s));
	launch("behind", s);
	OK(cuStreamEndCapture(s, &outer));
	OK(cuGraphGetNodes(outer, nodes, &count));
	EXPECT(2, count);
	OK(cuGraphNodeGetType(nodes[0], &type));
	EXPECT(CU_GRAPH_NODE_TYPE_GRAPH, type);
	OK(cuGraphChildGraphNodeGetGraph(nodes[0], &graph));
	count = 0;
	OK(cuGraphGetNodes(graph, NULL, &count));
	EXPECT(4, count);
	run_once(outer);
}

static void a_captured_launch_is_a_child_graph(void **state)
{
	(void)state;
	run_in_child(captured_launch, &truth);
	assert_int_equal(truth.count, 5);
	assert_int_equal(truth_find(&truth, "behind")->start_ns, truth_find(&truth, "d__10us")->end_ns + GAP_NS);
	assert_int_equal(truth_find(&truth, "behind")->graph, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(branches_run_side_by_side),
		cmocka_unit_test(a_launch_starts_its_roots_after_the_latency),
		cmocka_unit_test(launches_of_one_executable_graph_never_overlap),
		cmocka_unit_test(child_graphs_run_where_their_node_stands),
		cmocka_unit_test(copies_sets_and_host_functions_follow_each_other),
		cmocka_unit_test(nodes_copy_and_set_rectangles),
		cmocka_unit_test(a_launch_takes_one_place_in_the_queue),
		cmocka_unit_test(a_launch_on_the_legacy_stream_keeps_its_order),
		cmocka_unit_test(a_captured_launch_is_a_child_graph),
	};

	settings_clear();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
