/* SPDX-License-Identifier: BSD-2-Clause */
/* Explicit graphs: building and asking, running in model time, changing what is instantiated, and what is refused. */
#include "test_simgpu.h"

#include <stdbool.h>

enum { GAP_NS = 500 }; /* between dependent nodes */

static struct truth truth;

APART static CUgraph new_graph(void)
{
	CUgraph graph;

	OK(cuGraphCreate(&graph, 0));
	return graph;
}

APART static CUDA_KERNEL_NODE_PARAMS kernel_params(const char *name)
{
	return (CUDA_KERNEL_NODE_PARAMS){ .func = function(name),
					  .gridDimX = 1,
					  .gridDimY = 1,
					  .gridDimZ = 1,
					  .blockDimX = 32,
					  .blockDimY = 1,
					  .blockDimZ = 1 };
}

/* A kernel behind up to two nodes. */
APART static CUgraphNode kernel(CUgraph graph, const char *name, CUgraphNode one, CUgraphNode other)
{
	CUDA_KERNEL_NODE_PARAMS params = kernel_params(name);
	CUgraphNode node, before[2] = { one, other };

	OK(cuGraphAddKernelNode(&node, graph, before, other ? 2 : one ? 1 : 0, &params));
	return node;
}

APART static CUgraphExec instantiate(CUgraph graph)
{
	CUgraphExec exec;

	OK(cuGraphInstantiate(&exec, graph, 0));
	return exec;
}

static void run(CUgraphExec exec, CUstream s)
{
	OK(cuGraphLaunch(exec, s));
	OK(cuStreamSynchronize(s));
}

static void run_once(CUgraph graph)
{
	CUgraphExec exec = instantiate(graph);

	run(exec, NULL);
	OK(cuGraphExecDestroy(exec));
}

/* ---- running ------------------------------------------------------------------------------------------------ */

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

/* ---- random graphs against the rule: a node starts when the last of its dependencies ended, and the gap later ------------- */

enum { RANDOM_NODES = 60, RANDOM_GRAPHS = 20 };

static unsigned random_state;

static unsigned random_below(unsigned bound)
{
	random_state = random_state * 1664525u + 1013904223u;
	return (random_state >> 8) % bound;
}

/* Node i may depend on nodes before it. Parent and child draw the same numbers. */
static bool random_edge(unsigned edges[RANDOM_NODES][RANDOM_NODES])
{
	bool any = false;

	memset(edges, 0, sizeof(unsigned[RANDOM_NODES][RANDOM_NODES]));
	for (unsigned i = 1; i < RANDOM_NODES; i++)
		for (unsigned n = random_below(4); n > 0; n--) {
			edges[i][random_below(i)] = 1;
			any = true;
		}
	return any;
}

static void random_name(char *name, size_t room, unsigned graph, unsigned node)
{
	snprintf(name, room, "g%u_n%u__%uus", graph, node, 1 + (graph * 31 + node * 17) % 90);
}

static void random_graphs(void)
{
	static unsigned edges[RANDOM_NODES][RANDOM_NODES];
	CUgraphNode nodes[RANDOM_NODES], before[RANDOM_NODES];
	CUDA_KERNEL_NODE_PARAMS params;
	char name[32];
	CUgraph graph;

	start();
	random_state = 7;
	for (unsigned g = 0; g < RANDOM_GRAPHS; g++) {
		random_edge(edges);
		graph = new_graph();
		for (unsigned i = 0; i < RANDOM_NODES; i++) {
			size_t count = 0;

			for (unsigned k = 0; k < i; k++)
				if (edges[i][k])
					before[count++] = nodes[k];
			random_name(name, sizeof(name), g, i);
			params = kernel_params(name);
			OK(cuGraphAddKernelNode(&nodes[i], graph, before, count, &params));
		}
		run_once(graph);
		OK(cuGraphDestroy(graph));
	}
}

static void random_graphs_run_as_their_edges_say(void **state)
{
	static unsigned edges[RANDOM_NODES][RANDOM_NODES];
	const struct truth_op *ops[RANDOM_NODES];
	char name[32];

	(void)state;
	run_in_child(random_graphs, &truth);
	assert_int_equal(truth.count, RANDOM_GRAPHS * RANDOM_NODES);
	random_state = 7;
	for (unsigned g = 0; g < RANDOM_GRAPHS; g++) {
		assert_true(random_edge(edges));
		for (unsigned i = 0; i < RANDOM_NODES; i++) {
			long long expected_ns = 0;

			random_name(name, sizeof(name), g, i);
			ops[i] = truth_find(&truth, name);
			assert_int_equal(ops[i]->graph, g + 1);
			for (unsigned k = 0; k < i; k++)
				if (edges[i][k] && ops[k]->end_ns + GAP_NS > expected_ns)
					expected_ns = ops[k]->end_ns + GAP_NS;
			assert_int_equal(ops[i]->start_ns, expected_ns ? expected_ns : ops[0]->start_ns);
		}
	}
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

static void add_one(void *argument)
{
	(*(int *)argument)++;
}

static CUDA_MEMCPY3D copy_of(CUmemorytype to_type, void *to, CUmemorytype from_type, void *from, size_t bytes)
{
	return (CUDA_MEMCPY3D){ .srcMemoryType = from_type,
				.srcHost = from,
				.srcDevice = (CUdeviceptr)(uintptr_t)from,
				.dstMemoryType = to_type,
				.dstHost = to,
				.dstDevice = (CUdeviceptr)(uintptr_t)to,
				.WidthInBytes = bytes,
				.Height = 1,
				.Depth = 1 };
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

/* ---- structure ---------------------------------------------------------------------------------------------- */

static void structure(void)
{
	CUgraphNode a, b, c, empty, nodes[8], to[8];
	CUgraphEdgeData data[8];
	CUgraphNodeType type;
	CUgraph graph, other;
	size_t count;

	start();
	graph = new_graph();
	other = new_graph();
	a = kernel(graph, "a", NULL, NULL);
	b = kernel(graph, "b", a, NULL);
	c = kernel(graph, "c", a, b);
	count = 1;
	OK(cuGraphGetNodes(graph, nodes, &count));
	EXPECT(1, count); /* as many as there was room for */
	EXPECT(1, nodes[0] == a);
	count = 8;
	OK(cuGraphGetRootNodes(graph, nodes, &count));
	EXPECT(1, count);
	EXPECT(1, nodes[0] == a && !nodes[1]);
	memset(data, 0xff, sizeof(data));
	count = 8;
	OK(cuGraphGetEdges(graph, nodes, to, data, &count));
	EXPECT(3, count);
	EXPECT(1,
	       nodes[0] == a && to[0] == b && nodes[1] == a && to[1] == c && nodes[2] == b && to[2] == c && !nodes[3]);
	EXPECT(0, data[2].type | data[2].from_port);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphGetEdges(graph, nodes, NULL, NULL, &count));
	OK(cuGraphRemoveDependencies(graph, &a, &c, NULL, 1));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphRemoveDependencies(graph, &a, &c, NULL, 1));
	OK(cuGraphAddDependencies(graph, &a, &c, NULL, 1));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphAddDependencies(graph, &a, &c, NULL, 1)); /* exists */
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphAddDependencies(graph, &a, &a, NULL, 1));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphAddDependencies(graph, NULL, &a, NULL, 1));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphAddDependencies(other, &a, &b, NULL, 1)); /* not its nodes */
	data[0] = (CUgraphEdgeData){ .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, .from_port = 1 };
	OK(cuGraphRemoveDependencies(graph, &a, &c, NULL, 1));
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuGraphAddDependencies(graph, &a, &c, data, 1));
	nodes[0] = nodes[1] = a;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(&empty, graph, nodes, 2)); /* twice the same */
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(&empty, other, &a, 1));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(&empty, graph, NULL, 1));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(NULL, graph, NULL, 0));
	OK(cuGraphDestroyNode(b));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphDestroyNode(b));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphNodeGetType(b, &type));
	count = 8;
	OK(cuGraphGetEdges(graph, NULL, NULL, NULL, &count));
	EXPECT(0, count);
	OK(cuGraphDestroy(graph));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(graph));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(NULL));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphNodeGetType(a, &type));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphCreate(&graph, 1));
}

static void nodes_and_edges_can_be_asked_added_and_removed(void **state)
{
	(void)state;
	run_in_child(structure, NULL);
}

static void cycle(void)
{
	CUDA_GRAPH_INSTANTIATE_PARAMS params = { 0 };
	CUgraphNode a, b, bad = NULL;
	CUgraphExec exec;
	CUgraph graph;

	start();
	graph = new_graph();
	a = kernel(graph, "a", NULL, NULL);
	b = kernel(graph, "b", a, NULL);
	OK(cuGraphAddDependencies(graph, &b, &a, NULL, 1));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiate(&exec, graph, 0));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiateWithParams(&exec, graph, &params));
	EXPECT(CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE, params.result_out);
	EXPECT(1, params.hErrNode_out == a || params.hErrNode_out == b);
	OK(cuGraphRemoveDependencies(graph, &b, &a, NULL, 1));
	OK(cuGraphInstantiateWithParams(&exec, graph, &params));
	EXPECT(CUDA_GRAPH_INSTANTIATE_SUCCESS, params.result_out);
	EXPECT(1, params.hErrNode_out == NULL && bad == NULL);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiate(&exec, graph, 64));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiate(&exec, NULL, 0));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiate(NULL, graph, 0));
}

static void a_cycle_cannot_be_instantiated(void **state)
{
	(void)state;
	run_in_child(cycle, NULL);
}

static void clones(void)
{
	CUgraphNode a, b, found, later;
	CUgraph graph, clone, embedded;
	CUDA_KERNEL_NODE_PARAMS params;
	CUgraphNode child;

	start();
	graph = new_graph();
	a = kernel(graph, "a__10us", NULL, NULL);
	b = kernel(graph, "b", a, NULL);
	OK(cuGraphAddChildGraphNode(&child, graph, &b, 1, graph)); /* of itself, as it was */
	OK(cuGraphClone(&clone, graph));
	OK(cuGraphNodeFindInClone(&found, b, clone));
	EXPECT(1, found != b);
	params = kernel_params("changed");
	OK(cuGraphKernelNodeSetParams(found, &params)); /* the original stays as it is */
	OK(cuGraphKernelNodeGetParams(b, &params));
	EXPECT(1, params.func == function("b"));
	later = kernel(graph, "later", NULL, NULL);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphNodeFindInClone(&found, later, clone));
	OK(cuGraphNodeFindInClone(&found, a, clone));
	OK(cuGraphDestroyNode(found));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphNodeFindInClone(&found, a, clone));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphNodeFindInClone(&found, a, graph)); /* no clone of its own */
	OK(cuGraphNodeFindInClone(&found, child, clone));
	OK(cuGraphChildGraphNodeGetGraph(found, &embedded));
	OK(cuGraphDestroy(graph));
	run_once(clone);
	OK(cuGraphDestroy(clone));
}

static void a_clone_lives_on_its_own(void **state)
{
	(void)state;
	run_in_child(clones, &truth);
	assert_int_equal(truth.count, 3);
	assert_string_equal(truth.ops[0].name, "\"changed\"");
	assert_string_equal(truth.ops[1].name, "\"a__10us\"");
	assert_string_equal(truth.ops[2].name, "\"b\"");
}

/* ---- parameters --------------------------------------------------------------------------------------------- */

static void parameters(void)
{
	char bytes[16] = "argument bytes";
	size_t size = sizeof(bytes);
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, bytes, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
			  CU_LAUNCH_PARAM_END };
	CUDA_KERNEL_NODE_PARAMS params, got;
	CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_HOST };
	CUDA_HOST_NODE_PARAMS host = { add_one, bytes };
	CUgraphNode node, hosts, empty;
	CUDA_MEMCPY3D copy;
	CUgraph graph;

	start();
	graph = new_graph();
	params = kernel_params("k");
	params.extra = extra;
	OK(cuGraphAddKernelNode(&node, graph, NULL, 0, &params));
	memset(bytes, 0, sizeof(bytes)); /* they were copied */
	OK(cuGraphKernelNodeGetParams(node, &got));
	EXPECT(1, got.func == params.func && got.blockDimX == 32 && got.extra != extra);
	EXPECT(0, strcmp(got.extra[1], "argument bytes"));
	EXPECT(16, *(size_t *)got.extra[3]);
	OK(cuGraphKernelNodeSetParams(node, &got)); /* what it gave itself */
	OK(cuGraphKernelNodeGetParams(node, &got));
	EXPECT(0, strcmp(got.extra[1], "argument bytes"));
	params.kernelParams = extra;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphKernelNodeSetParams(node, &params)); /* both forms at once */
	params = kernel_params("k");
	params.gridDimX = 0;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphAddKernelNode(&empty, graph, NULL, 0, &params));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphAddKernelNode(&empty, graph, NULL, 0, NULL));
	OK(cuGraphAddHostNode(&hosts, graph, NULL, 0, &host));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphKernelNodeGetParams(hosts, &got)); /* another type */
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphMemcpyNodeGetParams(hosts, &copy));
	host.userData = extra;
	OK(cuGraphHostNodeSetParams(hosts, &host));
	host = (CUDA_HOST_NODE_PARAMS){ 0 };
	OK(cuGraphHostNodeGetParams(hosts, &host));
	EXPECT(1, host.fn == add_one && host.userData == extra);
	any.host.fn = add_one;
	OK(cuGraphAddNode(&empty, graph, &hosts, NULL, 1, &any));
	OK(cuGraphNodeSetParams(empty, &any));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphNodeSetParams(node, &any));
	any.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuGraphAddNode(&empty, graph, NULL, NULL, 0, &any));
	any.type = (CUgraphNodeType)99;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&empty, graph, NULL, NULL, 0, &any));
	host.fn = NULL;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphAddHostNode(&empty, graph, NULL, 0, &host));
	OK(cuGraphDestroy(graph));
}

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
			  ".visible .entry typed(.param .u64 a, .param .u32 b) { ret; }\n";

static void arguments(void)
{
	CUDA_KERNEL_NODE_PARAMS params, got;
	unsigned long long a = 7;
	void *args[] = { &a, &(unsigned){ 9 } };
	CUgraphNode node;
	CUgraphExec exec;
	CUgraph graph;
	CUmodule typed;

	start();
	OK(cuModuleLoadData(&typed, ptx));
	params = kernel_params("k");
	params.kernelParams = args;
	OK(cuModuleGetFunction(&params.func, typed, "typed"));
	graph = new_graph();
	OK(cuGraphAddKernelNode(&node, graph, NULL, 0, &params));
	a = 0;
	args[1] = NULL;
	OK(cuGraphKernelNodeGetParams(node, &got));
	EXPECT(1, got.kernelParams != args && got.ctx == context);
	EXPECT(7, *(unsigned long long *)got.kernelParams[0]);
	EXPECT(9, *(unsigned *)got.kernelParams[1]);
	got.gridDimX = 3;
	OK(cuGraphKernelNodeSetParams(node, &got));
	OK(cuGraphKernelNodeGetParams(node, &got));
	EXPECT(3, got.gridDimX);
	EXPECT(9, *(unsigned *)got.kernelParams[1]);
	exec = instantiate(graph);
	OK(cuGraphDestroy(graph));
	OK(cuModuleUnload(typed));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuGraphLaunch(exec, NULL)); /* its code is gone */
	OK(cuGraphExecDestroy(exec));
}

static void arguments_of_known_kernels_are_copied(void **state)
{
	(void)state;
	run_in_child(arguments, NULL);
}

static void parameters_are_copied_checked_and_given_back(void **state)
{
	(void)state;
	run_in_child(parameters, NULL);
}

static void executable(void)
{
	CUDA_MEMCPY3D copy;
	CUDA_KERNEL_NODE_PARAMS params;
	CUgraphNode node, copies, other;
	unsigned enabled = 7;
	CUdeviceptr memory;
	cuuint64_t flags = 7;
	CUgraphExec exec;
	CUgraph graph;
	int words[3] = { 1, 2, 3 };

	start();
	memory = device_memory(64);
	graph = new_graph();
	node = kernel(graph, "first", NULL, NULL);
	copy = copy_of(CU_MEMORYTYPE_DEVICE, (void *)(uintptr_t)memory, CU_MEMORYTYPE_HOST, &words[0], 4);
	OK(cuGraphAddMemcpyNode(&copies, graph, &node, 1, &copy, context));
	other = kernel(new_graph(), "other", NULL, NULL);
	OK(cuGraphInstantiate(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY));
	OK(cuGraphExecGetFlags(exec, &flags));
	EXPECT(CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY, flags);
	params = kernel_params("second");
	OK(cuGraphKernelNodeSetParams(node, &params)); /* the graph's node, not the executable one's */
	run(exec, NULL);
	params = kernel_params("third");
	OK(cuGraphExecKernelNodeSetParams(exec, node, &params));
	copy.srcHost = &words[1];
	OK(cuGraphExecMemcpyNodeSetParams(exec, copies, &copy, context));
	run(exec, NULL);
	OK(cuMemcpyDtoH(&words[2], memory, 4));
	EXPECT(2, words[2]);
	OK(cuGraphNodeGetEnabled(exec, node, &enabled));
	EXPECT(1, enabled);
	OK(cuGraphNodeSetEnabled(exec, node, 0));
	OK(cuGraphNodeGetEnabled(exec, node, &enabled));
	EXPECT(0, enabled);
	run(exec, NULL);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphExecKernelNodeSetParams(exec, other, &params)); /* of another graph */
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphExecKernelNodeSetParams(exec, copies, &params));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphNodeSetEnabled(exec, other, 1));
	copy.dstMemoryType = CU_MEMORYTYPE_HOST; /* an end may not change its kind */
	copy.dstHost = &words[0];
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphExecMemcpyNodeSetParams(exec, copies, &copy, context));
	OK(cuGraphDestroyNode(node));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphExecKernelNodeSetParams(exec, node, &params)); /* removed since */
	OK(cuGraphUpload(exec, NULL));
	OK(cuGraphExecDestroy(exec));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphExecDestroy(exec));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(exec, NULL));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphUpload(exec, NULL));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(NULL, NULL));
}

static void nodes_of_an_executable_graph_change_alone(void **state)
{
	const char *const names[] = { "\"first\"", "\"\"", "\"third\"", "\"\"", "\"\"", "\"\"" };

	(void)state;
	run_in_child(executable, &truth);
	assert_int_equal(truth.count, 6);
	for (unsigned i = 0; i < 6; i++)
		assert_string_equal(truth.ops[i].name, names[i]);
	assert_string_equal(truth.ops[4].op, "memcpy"); /* cuMemcpyDtoH; then the launch without its kernel */
	assert_int_equal(truth.ops[3].graph, 1);
}

/* ---- cuGraphExecUpdate -------------------------------------------------------------------------------------- */

static void expect_update(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResult expected, CUgraphNode node,
			  CUgraphNode from)
{
	CUgraphExecUpdateResultInfo info;

	EXPECT(expected == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
	       cuGraphExecUpdate(exec, graph, &info));
	EXPECT(expected, info.result);
	EXPECT(1, info.errorNode == node);
	EXPECT(1, info.errorFromNode == from);
}

/* a -> b, and c behind a or b. */
APART static CUgraph chain(const char *last, bool behind_b, CUgraphNode *c, CUgraphNode *from)
{
	CUgraph graph = new_graph();
	CUgraphNode a = kernel(graph, "a", NULL, NULL), b = kernel(graph, "b", a, NULL);

	*from = behind_b ? b : a;
	*c = kernel(graph, last, *from, NULL);
	return graph;
}

static void updates(void)
{
	CUgraphExecUpdateResultInfo info;
	CUgraph graph, same, more, fewer, typed, shifted;
	CUgraphNode c, from, node, a, b;
	CUgraphExec exec;

	start();
	graph = chain("c", true, &c, &from);
	exec = instantiate(graph);
	same = chain("changed", true, &c, &from);
	expect_update(exec, same, CU_GRAPH_EXEC_UPDATE_SUCCESS, NULL, NULL);
	run(exec, NULL);
	more = chain("c", true, &c, &from);
	kernel(more, "d", c, NULL);
	expect_update(exec, more, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, NULL, NULL);
	shifted = chain("c", false, &c, &from); /* two exits instead of one */
	expect_update(exec, shifted, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, c, NULL);
	fewer = new_graph();
	a = kernel(fewer, "a", NULL, NULL);
	b = kernel(fewer, "b", a, NULL);
	node = kernel(fewer, "c", a, b); /* one dependency more */
	expect_update(exec, fewer, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, node, NULL);
	typed = chain("c", true, &c, &from);
	OK(cuGraphDestroyNode(c));
	OK(cuGraphAddEmptyNode(&node, typed, &from, 1));
	expect_update(exec, typed, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, node, NULL);
	/* The other way round: b hangs from c, which is made from a. */
	shifted = new_graph();
	a = kernel(shifted, "a", NULL, NULL);
	b = kernel(shifted, "b", NULL, NULL);
	node = kernel(shifted, "c", a, NULL);
	OK(cuGraphAddDependencies(shifted, &node, &b, NULL, 1));
	expect_update(exec, shifted, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, b, node);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphExecUpdate(exec, NULL, &info));
	EXPECT(CU_GRAPH_EXEC_UPDATE_ERROR, info.result);
	run(exec, NULL); /* as the last update that succeeded left it */
}

static void an_update_needs_the_same_topology(void **state)
{
	(void)state;
	run_in_child(updates, &truth);
	assert_int_equal(truth.count, 6);
	assert_string_equal(truth.ops[2].name, "\"changed\"");
	assert_string_equal(truth.ops[5].name, "\"changed\"");
}

static void foreign_context(void)
{
	CUgraphNode node;
	CUgraphExec exec;
	CUcontext other;
	CUmodule second;
	CUDA_KERNEL_NODE_PARAMS params;
	CUgraph graph, changed;

	start();
	graph = new_graph();
	node = kernel(graph, "k", NULL, NULL);
	exec = instantiate(graph);
	OK(cuCtxCreate(&other, NULL, 0, 0));
	OK(cuModuleLoadData(&second, "another image"));
	params = kernel_params("k");
	OK(cuModuleGetFunction(&params.func, second, "k"));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphExecKernelNodeSetParams(exec, node, &params));
	changed = new_graph();
	OK(cuGraphAddKernelNode(&node, changed, NULL, 0, &params));
	expect_update(exec, changed, CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE, node, NULL);
}

static void a_kernel_keeps_its_context(void **state)
{
	(void)state;
	run_in_child(foreign_context, NULL);
}

static void children(void)
{
	CUgraphNode child, inner, wrong;
	CUDA_KERNEL_NODE_PARAMS params;
	CUgraph graph, embedded, changed;
	CUgraphExec exec;

	start();
	embedded = new_graph();
	kernel(embedded, "inner", NULL, NULL);
	graph = new_graph();
	OK(cuGraphAddChildGraphNode(&child, graph, NULL, 0, embedded));
	exec = instantiate(graph);
	changed = new_graph();
	kernel(changed, "changed", NULL, NULL);
	OK(cuGraphExecChildGraphNodeSetParams(exec, child, changed));
	run(exec, NULL);
	kernel(changed, "one more", NULL, NULL);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphExecChildGraphNodeSetParams(exec, child, changed));
	OK(cuGraphChildGraphNodeGetGraph(child, &embedded));
	size_t one = 1;
	OK(cuGraphGetNodes(embedded, &inner, &one));
	params = kernel_params("alone");
	OK(cuGraphExecKernelNodeSetParams(exec, inner, &params)); /* a node inside */
	run(exec, NULL);
	wrong = kernel(graph, "new", NULL, NULL);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphExecKernelNodeSetParams(exec, wrong, &params)); /* not in it then */
}

static void child_graphs_of_an_executable_graph_can_change(void **state)
{
	(void)state;
	run_in_child(children, &truth);
	assert_int_equal(truth.count, 2);
	assert_string_equal(truth.ops[0].name, "\"changed\"");
	assert_string_equal(truth.ops[1].name, "\"alone\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(branches_run_side_by_side),
		cmocka_unit_test(random_graphs_run_as_their_edges_say),
		cmocka_unit_test(a_launch_starts_its_roots_after_the_latency),
		cmocka_unit_test(launches_of_one_executable_graph_never_overlap),
		cmocka_unit_test(child_graphs_run_where_their_node_stands),
		cmocka_unit_test(copies_sets_and_host_functions_follow_each_other),
		cmocka_unit_test(nodes_copy_and_set_rectangles),
		cmocka_unit_test(a_launch_takes_one_place_in_the_queue),
		cmocka_unit_test(a_launch_on_the_legacy_stream_keeps_its_order),
		cmocka_unit_test(a_captured_launch_is_a_child_graph),
		cmocka_unit_test(nodes_and_edges_can_be_asked_added_and_removed),
		cmocka_unit_test(a_cycle_cannot_be_instantiated),
		cmocka_unit_test(a_clone_lives_on_its_own),
		cmocka_unit_test(parameters_are_copied_checked_and_given_back),
		cmocka_unit_test(arguments_of_known_kernels_are_copied),
		cmocka_unit_test(nodes_of_an_executable_graph_change_alone),
		cmocka_unit_test(an_update_needs_the_same_topology),
		cmocka_unit_test(a_kernel_keeps_its_context),
		cmocka_unit_test(child_graphs_of_an_executable_graph_can_change),
	};

	settings_clear();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
