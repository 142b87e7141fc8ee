/* SPDX-License-Identifier: BSD-2-Clause */
/* What graphs own besides nodes: memory that launches allocate, user objects, attributes; and their description as DOT. */
#include "test_simgpu.h"

#include <stdbool.h>

enum { BYTES = 4 << 20 };

static struct truth truth;

APART static CUgraph new_graph(void)
{
	CUgraph graph;

	OK(cuGraphCreate(&graph, 0));
	return graph;
}

APART static CUgraphExec instantiate(CUgraph graph, unsigned long long flags)
{
	CUgraphExec exec;

	OK(cuGraphInstantiate(&exec, graph, flags));
	return exec;
}

APART static CUgraphNode kernel(CUgraph graph, const char *name, CUgraphNode before)
{
	CUDA_KERNEL_NODE_PARAMS params = { .func = function(name),
					   .gridDimX = 2,
					   .gridDimY = 1,
					   .gridDimZ = 1,
					   .blockDimX = 32,
					   .blockDimY = 1,
					   .blockDimZ = 1 };
	CUgraphNode node;

	OK(cuGraphAddKernelNode(&node, graph, &before, before != NULL, &params));
	return node;
}

/* ---- memory ------------------------------------------------------------------------------------------------- */

static CUDA_MEM_ALLOC_NODE_PARAMS alloc_params(void)
{
	return (CUDA_MEM_ALLOC_NODE_PARAMS){ .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
							    .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } },
					     .bytesize = BYTES };
}

APART static CUdeviceptr alloc_node(CUgraph graph, CUgraphNode *node)
{
	CUDA_MEM_ALLOC_NODE_PARAMS params = alloc_params();

	OK(cuGraphAddMemAllocNode(node, graph, NULL, 0, &params));
	return params.dptr;
}

APART static CUgraphNode set_node(CUgraph graph, CUdeviceptr address, CUgraphNode before)
{
	CUDA_MEMSET_NODE_PARAMS params = { .dst = address, .value = 9, .elementSize = 1, .width = BYTES, .height = 1 };
	CUgraphNode node;

	OK(cuGraphAddMemsetNode(&node, graph, &before, 1, &params, context));
	return node;
}

static void expect_used(unsigned long long expected)
{
	cuuint64_t used = 77;
	size_t free, total;

	OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used));
	EXPECT(expected, used);
	OK(cuMemGetInfo(&free, &total));
	EXPECT(expected, total - free);
}

static void kept_memory(void)
{
	CUgraphExec exec, freeing;
	CUgraphNode alloc, node;
	CUdeviceptr address;
	CUgraph graph, other;
	cuuint64_t high = 0;
	char byte = 0;

	start();
	graph = new_graph();
	address = alloc_node(graph, &alloc);
	expect_used(0); /* an address, no memory */
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFree(address));
	exec = instantiate(graph, 0);
	OK(cuGraphLaunch(exec, NULL));
	expect_used(BYTES);
	OK(cuMemsetD8(address, 5, BYTES)); /* behind the launch it is memory like any other */
	OK(cuMemcpyDtoH(&byte, address + BYTES - 1, 1));
	EXPECT(5, byte);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(exec, NULL)); /* nobody has freed it */
	OK(cuMemFree(address));
	expect_used(0);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFree(address));
	OK(cuGraphLaunch(exec, NULL));
	OK(cuMemFreeAsync(address, NULL));
	other = new_graph();
	OK(cuGraphAddMemFreeNode(&node, other, NULL, 0, address));
	EXPECT(CUDA_ERROR_INVALID_VALUE,
	       cuGraphAddMemFreeNode(&node, graph, &alloc, 1, address)); /* one node frees it */
	freeing = instantiate(other, 0);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(freeing, NULL)); /* not there yet */
	OK(cuGraphLaunch(exec, NULL));
	OK(cuGraphLaunch(freeing, NULL));
	expect_used(0);
	OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &high));
	EXPECT(BYTES, high);
	high = 0;
	OK(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &high));
	OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &high));
	EXPECT(0, high);
	OK(cuDeviceGraphMemTrim(0));
	/* It outlives its graphs. */
	OK(cuGraphLaunch(exec, NULL));
	OK(cuGraphDestroy(graph));
	OK(cuGraphDestroy(other));
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphExecDestroy(freeing));
	OK(cuMemsetD8(address, 5, BYTES));
	OK(cuMemFree(address));
	expect_used(0);
}

static void memory_of_a_launch_stays_until_it_is_freed(void **state)
{
	(void)state;
	run_in_child(kept_memory, NULL);
}

static void inner_memory(void)
{
	CUDA_MEM_ALLOC_NODE_PARAMS params = alloc_params();
	CUgraphNode alloc, set, node, child;
	CUgraphExec exec, second;
	CUdeviceptr address, got;
	CUgraph graph, other, embedded;

	start();
	graph = new_graph();
	address = alloc_node(graph, &alloc);
	OK(cuGraphMemAllocNodeGetParams(alloc, &params));
	EXPECT(1, params.dptr == address && params.bytesize == BYTES);
	set = set_node(graph, address, alloc);
	OK(cuGraphAddMemFreeNode(&node, graph, &set, 1, address));
	OK(cuGraphMemFreeNodeGetParams(node, &got));
	EXPECT(1, got == address);
	exec = instantiate(graph, 0);
	for (unsigned i = 0; i < 3; i++)
		OK(cuGraphLaunch(exec, NULL));
	expect_used(0);
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuGraphInstantiate(&second, graph, 0)); /* one at a time */
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuGraphClone(&other, graph));
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuGraphDestroyNode(node));
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuGraphRemoveDependencies(graph, &alloc, &set, NULL, 1));
	other = new_graph();
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuGraphAddChildGraphNode(&child, other, NULL, 0, graph));
	OK(cuGraphAddChildGraphNode(&child, other, NULL, 0, other));
	OK(cuGraphChildGraphNodeGetGraph(child, &embedded));
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuGraphAddMemAllocNode(&node, embedded, NULL, 0, &params));
	params = alloc_params();
	params.bytesize = 0;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemAllocNode(&node, other, NULL, 0, &params));
	params.bytesize = SIZE_MAX;
	EXPECT(CUDA_ERROR_OUT_OF_MEMORY, cuGraphAddMemAllocNode(&node, other, NULL, 0, &params));
	params.bytesize = BYTES;
	params.poolProps.location.id = 1;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemAllocNode(&node, other, NULL, 0, &params));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemFreeNode(&node, other, NULL, 0, device_memory(64)));
	OK(cuGraphExecDestroy(exec));
	exec = instantiate(graph, 0);
	OK(cuGraphExecDestroy(exec));
	OK(cuCtxSynchronize());
}

static void memory_freed_in_its_graph_is_there_in_between(void **state)
{
	(void)state;
	run_in_child(inner_memory, &truth);
	assert_int_equal(truth.count, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_string_equal(truth.ops[i].op, "memset");
}

static void automatic(void)
{
	CUgraphNode alloc;
	CUgraphExec exec;
	CUgraph graph;

	start();
	graph = new_graph();
	alloc_node(graph, &alloc);
	exec = instantiate(graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
	for (unsigned i = 0; i < 3; i++)
		OK(cuGraphLaunch(exec, NULL));
	expect_used(BYTES);
}

static void auto_free_frees_before_the_next_launch(void **state)
{
	(void)state;
	run_in_child(automatic, NULL);
}

static void exhausted(void)
{
	CUgraphNode first, second;
	CUgraphExec exec;
	CUgraph graph;

	start();
	graph = new_graph();
	alloc_node(graph, &first);
	alloc_node(graph, &second);
	exec = instantiate(graph, 0);
	EXPECT(CUDA_ERROR_OUT_OF_MEMORY, cuGraphLaunch(exec, NULL));
	expect_used(0); /* the first was given back */
}

static void a_launch_without_room_leaves_nothing_behind(void **state)
{
	(void)state;
	setenv("SIMGPU_MEM_BYTES", "6M", 1);
	run_in_child(exhausted, &truth);
	assert_int_equal(truth.count, 0);
}

static void captured_memory(void)
{
	CUgraphNode nodes[4];
	CUgraphNodeType type;
	CUdeviceptr address, plain;
	CUgraphExec exec;
	CUgraph graph;
	size_t count = 4;
	CUstream s;

	start();
	plain = device_memory(64);
	s = stream(CU_STREAM_NON_BLOCKING);
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuMemAllocAsync(&address, BYTES, s));
	OK(cuMemsetD8Async(address, 1, 1000, s));
	OK(cuMemFreeAsync(address, s));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(plain, s)); /* not of a graph */
	OK(cuStreamEndCapture(s, &graph));
	OK(cuGraphGetNodes(graph, nodes, &count));
	EXPECT(3, count);
	OK(cuGraphNodeGetType(nodes[0], &type));
	EXPECT(CU_GRAPH_NODE_TYPE_MEM_ALLOC, type);
	OK(cuGraphNodeGetType(nodes[2], &type));
	EXPECT(CU_GRAPH_NODE_TYPE_MEM_FREE, type);
	exec = instantiate(graph, 0);
	OK(cuGraphLaunch(exec, s));
	OK(cuGraphLaunch(exec, s));
	OK(cuStreamSynchronize(s));
	OK(cuMemFree(plain));
	expect_used(0);
}

static void stream_ordered_memory_is_captured(void **state)
{
	(void)state;
	run_in_child(captured_memory, &truth);
	assert_int_equal(truth.count, 2);
}

/* ---- user objects ------------------------------------------------------------------------------------------- */

static int destroyed;
static CUresult inside;

static void destroy(void *argument)
{
	inside = cuCtxSynchronize();
	__atomic_add_fetch((int *)argument, 1, __ATOMIC_SEQ_CST);
}

/* The driver's thread calls the function: at once, but not at a moment anybody knows. */
static void expect_destroyed(int expected)
{
	for (int i = 0; i < 1000 && __atomic_load_n(&destroyed, __ATOMIC_SEQ_CST) < expected; i++)
		usleep(1000);
	EXPECT(expected, __atomic_load_n(&destroyed, __ATOMIC_SEQ_CST));
}

APART static CUuserObject object(unsigned references)
{
	CUuserObject made;

	OK(cuUserObjectCreate(&made, &destroyed, destroy, references, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
	return made;
}

static void references(void)
{
	CUgraph graph, clone;
	CUuserObject o;
	CUgraphExec exec;

	start();
	o = object(1);
	OK(cuUserObjectRetain(o, 2));
	OK(cuUserObjectRelease(o, 2));
	graph = new_graph();
	kernel(graph, "long__300000us", NULL);
	OK(cuGraphRetainUserObject(graph, o, 1, CU_GRAPH_USER_OBJECT_MOVE)); /* now the graph's alone */
	OK(cuGraphRetainUserObject(graph, o, 2, 0));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphReleaseUserObject(graph, o, 4));
	OK(cuGraphReleaseUserObject(graph, o, 2));
	OK(cuGraphClone(&clone, graph));
	exec = instantiate(graph, 0);
	OK(cuGraphDestroy(graph));
	OK(cuGraphDestroy(clone));
	OK(cuGraphLaunch(exec, NULL));
	OK(cuGraphExecDestroy(exec)); /* the last, but its launch still runs */
	usleep(20000);
	EXPECT(0, __atomic_load_n(&destroyed, __ATOMIC_SEQ_CST));
	OK(cuCtxSynchronize());
	expect_destroyed(1);
	EXPECT(CUDA_ERROR_NOT_PERMITTED, inside);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuUserObjectRelease(o, 1));
	o = object(2);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuUserObjectRetain(o, 0));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuUserObjectRetain(o, 1u << 31));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphRetainUserObject(NULL, o, 1, 0));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuUserObjectCreate(&o, NULL, NULL, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuUserObjectCreate(&o, NULL, destroy, 1, 0));
	OK(cuUserObjectRelease(o, 2));
	expect_destroyed(2);
}

static void user_objects_go_with_the_last_reference(void **state)
{
	(void)state;
	run_in_child(references, &truth);
	assert_int_equal(truth.count, 1); /* destroying is no operation of a stream */
}

/* ---- attributes --------------------------------------------------------------------------------------------- */

static void attributes(void)
{
	CUgraphExecUpdateResultInfo info;
	CUkernelNodeAttrValue value = { 0 };
	CUlaunchAttribute cluster = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
				      .value = { .clusterDim = { 2, 1, 1 } } };
	CUlaunchConfig config = { 2, 1, 1, 32, 1, 1, 0, NULL, &cluster, 1 };
	CUgraphNode one, other, empty, nodes[3];
	CUgraph graph, second;
	CUgraphExec exec;
	size_t count = 3;
	CUstream s;

	start();
	graph = new_graph();
	one = kernel(graph, "k", NULL);
	other = kernel(graph, "l", one);
	exec = instantiate(graph, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
	OK(cuGraphKernelNodeGetAttribute(one, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
	EXPECT(0, value.priority);
	value.priority = -3;
	OK(cuGraphKernelNodeSetAttribute(one, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
	OK(cuGraphKernelNodeCopyAttributes(other, one));
	value.priority = 0;
	OK(cuGraphKernelNodeGetAttribute(other, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
	EXPECT(-3, value.priority);
	EXPECT(CUDA_ERROR_INVALID_VALUE,
	       cuGraphKernelNodeGetAttribute(one, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
	OK(cuGraphAddEmptyNode(&empty, graph, NULL, 0));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphKernelNodeGetAttribute(empty, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuGraphKernelNodeGetAttribute(NULL, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
	OK(cuGraphDestroyNode(empty));
	EXPECT(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate(exec, graph, &info));
	EXPECT(CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED, info.result);
	EXPECT(1, info.errorNode == one);
	exec = instantiate(graph, 0);
	value.priority = -1; /* no matter to this one; whether it is cooperative is */
	OK(cuGraphKernelNodeSetAttribute(one, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
	OK(cuGraphExecUpdate(exec, graph, &info));
	value.cooperative = 1;
	OK(cuGraphKernelNodeSetAttribute(other, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
	EXPECT(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate(exec, graph, &info));
	EXPECT(CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED, info.result);
	/* A captured kernel has its stream's priority. */
	OK(cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, -2));
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	launch("k", s);
	OK(cuLaunchCooperativeKernel(function("k"), 1, 1, 1, 32, 1, 1, 0, s, NULL));
	config.hStream = s;
	OK(cuLaunchKernelEx(&config, function("k"), NULL, NULL));
	OK(cuStreamEndCapture(s, &second));
	OK(cuGraphGetNodes(second, nodes, &count));
	OK(cuGraphKernelNodeGetAttribute(nodes[0], CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
	EXPECT(-2, value.priority);
	OK(cuGraphKernelNodeGetAttribute(nodes[0], CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
	EXPECT(0, value.cooperative);
	OK(cuGraphKernelNodeGetAttribute(nodes[1], CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
	EXPECT(1, value.cooperative);
	OK(cuGraphKernelNodeGetAttribute(nodes[2], CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value));
	EXPECT(2, value.clusterDim.x);
}

static void attributes_are_kept_and_forbid_updates(void **state)
{
	(void)state;
	run_in_child(attributes, NULL);
}

/* ---- DOT ---------------------------------------------------------------------------------------------------- */

static void expect_in(const char *text, const char *part, bool expected)
{
	if (!strstr(text, part) == expected) {
		fprintf(stderr, "%s: %s in:\n%s", part, expected ? "not" : "unexpected", text);
		_exit(1);
	}
}

static void expect_file(CUgraph graph, unsigned flags, char *text, size_t room)
{
	char path[] = "/tmp/simgpu-dot-XXXXXX";
	int file = mkstemp(path);
	ssize_t bytes;

	EXPECT(1, file >= 0);
	OK(cuGraphDebugDotPrint(graph, path, flags));
	bytes = read(file, text, room - 1);
	EXPECT(1, bytes > 0);
	text[bytes] = 0;
	close(file);
	unlink(path);
}

static void dot(void)
{
	CUgraphNode first, child;
	CUgraph graph, inner;
	char text[4096];

	start();
	graph = new_graph();
	first = kernel(graph, "a \"quoted\" name", NULL);
	inner = new_graph();
	kernel(inner, "inside", NULL);
	OK(cuGraphAddChildGraphNode(&child, graph, &first, 1, inner));
	expect_file(graph, 0, text, sizeof(text));
	expect_in(text, "digraph dot {\nsubgraph cluster_", true);
	expect_in(text, "_node_0\" [label=\"0\\nKERNEL\\na \\\"quoted\\\" name\"];\n", true);
	expect_in(text, "_node_1\" [label=\"1\\nGRAPH\"];\n", true);
	expect_in(text, "KERNEL\\ninside\"];\n", true);
	expect_in(text, "_node_0\" -> \"graph_", true);
	expect_in(text, "2x1x1", false);
	expect_file(graph, CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE, text, sizeof(text));
	expect_in(text, "\\n2x1x1 blocks of 32x1x1, 0 bytes shared\\n0x", true);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphDebugDotPrint(graph, NULL, 0));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphDebugDotPrint(NULL, "/tmp/none", 0));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphDebugDotPrint(graph, "/tmp/none", 1u << 20));
	EXPECT(CUDA_ERROR_OPERATING_SYSTEM, cuGraphDebugDotPrint(graph, "/nonexistent/folder/dot", 0));
}

static void dot_shows_nodes_names_and_edges(void **state)
{
	(void)state;
	run_in_child(dot, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_of_a_launch_stays_until_it_is_freed),
		cmocka_unit_test(memory_freed_in_its_graph_is_there_in_between),
		cmocka_unit_test(auto_free_frees_before_the_next_launch),
		cmocka_unit_test(a_launch_without_room_leaves_nothing_behind),
		cmocka_unit_test(stream_ordered_memory_is_captured),
		cmocka_unit_test(user_objects_go_with_the_last_reference),
		cmocka_unit_test(attributes_are_kept_and_forbid_updates),
		cmocka_unit_test(dot_shows_nodes_names_and_edges),
	};

	settings_clear();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
