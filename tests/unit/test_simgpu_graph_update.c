/* SPDX-License-Identifier: BSD-2-Clause */
/* cuGraphExecUpdate: what may change between two graphs of one topology. */
#include "test_simgpu_graphs.h"

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
		cmocka_unit_test(an_update_needs_the_same_topology),
		cmocka_unit_test(a_kernel_keeps_its_context),
		cmocka_unit_test(child_graphs_of_an_executable_graph_can_change),
	};

	settings_clear();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
