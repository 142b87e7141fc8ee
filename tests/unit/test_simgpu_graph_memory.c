/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that launches of graphs allocate and free. */
#include "test_simgpu_graphs.h"

enum { BYTES = 4 << 20 };

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
	exec = instantiate(graph);
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
	freeing = instantiate(other);
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
	exec = instantiate(graph);
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
	exec = instantiate(graph);
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
	exec = instantiate_with(graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
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
	exec = instantiate(graph);
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
	exec = instantiate(graph);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_of_a_launch_stays_until_it_is_freed),
		cmocka_unit_test(memory_freed_in_its_graph_is_there_in_between),
		cmocka_unit_test(auto_free_frees_before_the_next_launch),
		cmocka_unit_test(a_launch_without_room_leaves_nothing_behind),
		cmocka_unit_test(stream_ordered_memory_is_captured),
	};

	settings_clear();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
