/* SPDX-License-Identifier: BSD-2-Clause */
/* Graphs as data: nodes, edges, clones and parameters, those of executable graphs too. */
#include "test_simgpu_graphs.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_and_edges_can_be_asked_added_and_removed),
		cmocka_unit_test(a_cycle_cannot_be_instantiated),
		cmocka_unit_test(a_clone_lives_on_its_own),
		cmocka_unit_test(parameters_are_copied_checked_and_given_back),
		cmocka_unit_test(arguments_of_known_kernels_are_copied),
		cmocka_unit_test(nodes_of_an_executable_graph_change_alone),
	};

	settings_clear();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
