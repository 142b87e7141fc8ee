/* SPDX-License-Identifier: BSD-2-Clause */
/* graphs_linked CASE [N]: graphs that are launched in every way. */
#include "graphs.h"

#include <stdbool.h>

static void plain(void)
{
	CUgraph g = diamond();
	CUstream s = stream_new();
	CUgraphExec exec = instantiate(g);

	show("diamond", g);
	run(exec, s, 5);
	DO(cuGraphDestroy(g));
	for (int i = 0; i < 20; i++) /* queued, then waited for once */
		DO(cuGraphLaunch(exec, s));
	DO(cuStreamSynchronize(s));
	DO(cuGraphExecDestroy(exec));
	launch(s, "after__100us");
	DO(cuStreamSynchronize(s));
}

static void nested(void)
{
	CUgraph inner = diamond(), middle = graph_new(), outer = graph_new();
	CUgraphNode node = add_kernel(middle, "middle__20us", NULL, 0), twice[2];

	DO(cuGraphAddChildGraphNode(&twice[0], middle, &node, 1, inner));
	DO(cuGraphAddChildGraphNode(&twice[1], outer, NULL, 0, middle));
	DO(cuGraphAddChildGraphNode(&twice[0], outer, NULL, 0, inner));
	add_kernel(outer, "end__20us", twice, 2);
	show("outer", outer);
	run(instantiate(outer), stream_new(), 5);
}

static void host(void)
{
	CUgraph g = graph_new(), only = graph_new();
	CUgraphNode node = add_kernel(g, "before__200us", NULL, 0);
	CUstream s = stream_new();
	CUgraphExec exec;

	node = add_host(g, 3000, &node, 1);
	add_kernel(g, "behind__200us", &node, 1);
	exec = instantiate(g);
	run(exec, s, 3);
	DO(cuGraphLaunch(exec, s));
	launch(s, "queued__100us"); /* stands behind the graph's host node */
	DO(cuStreamSynchronize(s));
	add_host(only, 2000, NULL, 0);
	exec = instantiate(only);
	launch(s, "lone__100us");
	DO(cuGraphLaunch(exec, s));
	launch(s, "lone__100us");
	DO(cuStreamSynchronize(s));
}

/* One stream waits for an event that a graph in another records; a graph waits for an event of a stream. */
static void events(void)
{
	CUstream a = stream_new(), b = stream_new();
	CUgraph recording = graph_new(), waiting = graph_new();
	CUgraphNode node = add_kernel(recording, "record__500us", NULL, 0), record, wait;
	CUgraphExec records, waits;
	CUevent inside, outside;

	DO(cuEventCreate(&inside, CU_EVENT_DISABLE_TIMING));
	DO(cuEventCreate(&outside, CU_EVENT_DISABLE_TIMING));
	DO(cuGraphAddEventRecordNode(&record, recording, &node, 1, inside));
	add_kernel(recording, "tail__1000us", &record, 1);
	DO(cuGraphAddEventWaitNode(&wait, waiting, NULL, 0, outside));
	add_kernel(waiting, "waited__300us", &wait, 1);
	records = instantiate(recording);
	waits = instantiate(waiting);
	for (int i = 0; i < 3; i++) {
		DO(cuGraphLaunch(records, a));
		DO(cuStreamWaitEvent(b, inside, 0));
		launch(b, "consumer__100us");
		DO(cuEventSynchronize(inside));
		DO(cuStreamSynchronize(b));
		DO(cuStreamSynchronize(a));
		usleep(PAUSE_US);
		launch(a, "producer__700us");
		DO(cuLaunchHostFunc(a, sleep_us, (void *)2000));
		DO(cuEventRecord(outside, a));
		DO(cuGraphLaunch(waits, b));
		DO(cuStreamSynchronize(b));
		usleep(PAUSE_US);
	}
}

/* The same executable graph in two streams: the second launch waits for the first, which waits for a host function. */
static void two_streams(void)
{
	CUstream a = stream_new(), b = stream_new();
	CUgraphExec exec = instantiate(diamond());

	for (int i = 0; i < 3; i++) {
		DO(cuLaunchHostFunc(a, sleep_us, (void *)3000));
		DO(cuGraphLaunch(exec, a));
		DO(cuGraphLaunch(exec, b));
		DO(cuStreamSynchronize(b));
		DO(cuStreamSynchronize(a));
		usleep(PAUSE_US);
	}
}

static void update(void)
{
	CUgraph g = diamond(), other = diamond();
	CUgraphNode nodes[8];
	CUgraphExecUpdateResultInfo info;
	CUDA_KERNEL_NODE_PARAMS p = kernel_params("changed__150us");
	size_t n = 8;
	CUgraphExec exec = instantiate(g);
	CUstream s = stream_new();

	DO(cuGraphGetNodes(g, nodes, &n));
	run(exec, s, 2);
	DO(cuGraphExecKernelNodeSetParams(exec, nodes[0], &p));
	run(exec, s, 1);
	DO(cuGraphNodeSetEnabled(exec, nodes[1], 0));
	run(exec, s, 3);
	DO(cuGraphNodeSetEnabled(exec, nodes[1], 1));
	run(exec, s, 1);
	n = 8;
	DO(cuGraphGetNodes(other, nodes, &n));
	p = kernel_params("updated__120us");
	DO(cuGraphKernelNodeSetParams(nodes[0], &p));
	DO(cuGraphExecUpdate(exec, other, &info));
	run(exec, s, 4);
	add_kernel(other, "too_much__10us", NULL, 0);
	DO(cuGraphExecUpdate(exec, other, &info)); /* refused: nothing changes */
	run(exec, s, 1);
}

static void only(bool copies)
{
	CUgraph g = graph_new();
	CUgraphNode node = NULL;

	for (int i = 0; i < 3; i++)
		node = copies ? add_copy(g, BUFFER_BYTES, &node, i > 0) : add_memset(g, BUFFER_BYTES, &node, i > 0);
	run(instantiate(g), stream_new(), 5);
}

static void copies(void)
{
	only(true);
}

static void memsets(void)
{
	only(false);
}

static CUcontext enter_device(int ordinal)
{
	CUcontext other = NULL;

	DO(cuDevicePrimaryCtxRetain(&other, ordinal));
	DO(cuCtxSetCurrent(other));
	return other;
}

/* One graph: a kernel of device 0, a copy to device 1, two kernels and a memset there, a kernel of device 0 again. */
static CUgraph over_two_devices(CUmodule theirs, CUcontext there, CUdeviceptr theirs_memory)
{
	CUDA_MEMCPY3D copy = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
			       .srcDevice = device_memory,
			       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			       .dstDevice = theirs_memory,
			       .WidthInBytes = BUFFER_BYTES,
			       .Height = 1,
			       .Depth = 1 };
	CUDA_MEMSET_NODE_PARAMS set = {
		.dst = theirs_memory, .value = 7, .elementSize = 1, .width = 4096, .height = 1
	};
	CUDA_KERNEL_NODE_PARAMS p = kernel_params("there__400us");
	CUgraph g = graph_new();
	CUgraphNode node = add_kernel(g, "here__200us", NULL, 0);

	DO(cuModuleGetFunction(&p.func, theirs, "there__400us"));
	DO(cuGraphAddMemcpyNode(&node, g, &node, 1, &copy, context));
	DO(cuGraphAddKernelNode(&node, g, &node, 1, &p));
	DO(cuGraphAddMemsetNode(&node, g, &node, 1, &set, there));
	DO(cuGraphAddKernelNode(&node, g, &node, 1, &p));
	add_kernel(g, "back__100us", &node, 1);
	return g;
}

/* The other device has work of its own before and after; in between only the graph's launches use it. */
static void two_devices(void)
{
	CUcontext there = enter_device(1);
	CUstream a, b = stream_new();
	CUmodule theirs = NULL, ours = module;
	CUdeviceptr theirs_memory = 0;
	CUgraphExec exec;

	DO(cuModuleLoadData(&theirs, "x"));
	DO(cuMemAlloc(&theirs_memory, BUFFER_BYTES));
	module = theirs;
	launch(b, "own__300us");
	DO(cuStreamSynchronize(b));
	module = ours;
	DO(cuCtxSetCurrent(context));
	a = stream_new();
	exec = instantiate(over_two_devices(theirs, there, theirs_memory));
	run(exec, a, 5);
	for (int i = 0; i < 5; i++) /* queued, then waited for once */
		DO(cuGraphLaunch(exec, a));
	DO(cuStreamSynchronize(a));
	usleep(PAUSE_US);
	DO(cuCtxSetCurrent(there));
	module = theirs;
	launch(b, "own__300us");
	DO(cuStreamSynchronize(b));
	DO(cuCtxSetCurrent(context));
}

static void big(void)
{
	CUgraph g = graph_new();
	CUgraphNode node = NULL;
	CUDA_KERNEL_NODE_PARAMS p = kernel_params("many__4us");
	CUgraphExec exec;
	CUstream s = stream_new();

	for (size_t i = 0; i < case_count; i++)
		DO(cuGraphAddKernelNode(&node, g, &node, i > 0, &p));
	exec = instantiate(g);
	DO(cuGraphLaunch(exec, s));
	DO(cuStreamSynchronize(s));
}

/* More executable graphs at once than anybody remembers. */
static void many(void)
{
	size_t n = case_count;
	CUgraph g = graph_new();
	CUgraphExec *all = calloc(n, sizeof(*all));
	CUstream s = stream_new();

	add_kernel(g, "one__1us", NULL, 0);
	add_kernel(g, "two__1us", NULL, 0);
	for (size_t i = 0; all && i < n; i++)
		DO(cuGraphInstantiate(&all[i], g, 0));
	for (size_t i = 0; all && i < n; i++)
		DO(cuGraphLaunch(all[i], s));
	DO(cuStreamSynchronize(s));
	free(all);
}

static const struct graph_case cases[] = {
	{ "plain", plain },
	{ "nested", nested },
	{ "host", host },
	{ "events", events },
	{ "two-streams", two_streams },
	{ "update", update },
	{ "copies", copies },
	{ "memsets", memsets },
	{ "two-devices", two_devices },
	{ "big", big },
	{ "many", many },
};

int main(int argc, char **argv)
{
	return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
