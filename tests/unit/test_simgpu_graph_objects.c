/* SPDX-License-Identifier: BSD-2-Clause */
/* What graphs own besides nodes and memory: user objects and attributes; and their description as DOT. */
#include "test_simgpu_graphs.h"

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
	kernel(graph, "long__300000us", NULL, NULL);
	OK(cuGraphRetainUserObject(graph, o, 1, CU_GRAPH_USER_OBJECT_MOVE)); /* now the graph's alone */
	OK(cuGraphRetainUserObject(graph, o, 2, 0));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphReleaseUserObject(graph, o, 4));
	OK(cuGraphReleaseUserObject(graph, o, 2));
	OK(cuGraphClone(&clone, graph));
	exec = instantiate(graph);
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
	one = kernel(graph, "k", NULL, NULL);
	other = kernel(graph, "l", one, NULL);
	exec = instantiate_with(graph, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
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
	exec = instantiate(graph);
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
	first = kernel(graph, "a \"quoted\" name", NULL, NULL);
	inner = new_graph();
	kernel(inner, "inside", NULL, NULL);
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
		cmocka_unit_test(user_objects_go_with_the_last_reference),
		cmocka_unit_test(attributes_are_kept_and_forbid_updates),
		cmocka_unit_test(dot_shows_nodes_names_and_edges),
	};

	settings_clear();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
