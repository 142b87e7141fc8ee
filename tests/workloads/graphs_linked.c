/* SPDX-License-Identifier: BSD-2-Clause */
/* graphs_linked CASE [N]: graphs, built node by node and captured, and captures that end in every way. What a graph holds is printed, so
 * that a run with a recorder can be compared with one without. Linked to the driver. */
#include <cuda.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NODES_SHOWN 64
#define BUFFER_BYTES (1u << 20)
#define PAUSE_US 3000 /* long enough for a recorder that looks at silent threads */

static CUcontext context;
static CUmodule module;
static CUdeviceptr device_memory;
static void *host_memory;

static CUresult said(CUresult rc, const char *what)
{
	const char *name = "?";

	if (rc != CUDA_SUCCESS) {
		cuGetErrorName(rc, &name);
		printf("%s: %s\n", what, name);
	}
	return rc;
}

#define DO(call) said(call, #call)

static CUfunction kernel(const char *name)
{
	CUfunction f = NULL;

	DO(cuModuleGetFunction(&f, module, name));
	return f;
}

static void start(void)
{
	DO(cuInit(0));
	DO(cuDevicePrimaryCtxRetain(&context, 0));
	DO(cuCtxSetCurrent(context));
	DO(cuModuleLoadData(&module, "x"));
	DO(cuMemAlloc(&device_memory, BUFFER_BYTES));
	DO(cuMemAllocHost(&host_memory, BUFFER_BYTES));
}

static CUstream stream_new(void)
{
	CUstream s = NULL;

	DO(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	return s;
}

static void launch(CUstream s, const char *name)
{
	DO(cuLaunchKernel(kernel(name), 4, 1, 1, 32, 1, 1, 0, s, NULL, NULL));
}

/* ---- building ---------------------------------------------------------------------------------------- */

static CUDA_KERNEL_NODE_PARAMS kernel_params(const char *name)
{
	return (CUDA_KERNEL_NODE_PARAMS){ .func = kernel(name),
					  .gridDimX = 4,
					  .gridDimY = 1,
					  .gridDimZ = 1,
					  .blockDimX = 32,
					  .blockDimY = 1,
					  .blockDimZ = 1 };
}

static CUgraphNode add_kernel(CUgraph g, const char *name, const CUgraphNode *after, size_t n)
{
	CUDA_KERNEL_NODE_PARAMS p = kernel_params(name);
	CUgraphNode node = NULL;

	DO(cuGraphAddKernelNode(&node, g, after, n, &p));
	return node;
}

static CUgraphNode add_copy(CUgraph g, size_t bytes, const CUgraphNode *after, size_t n)
{
	CUDA_MEMCPY3D p = { .srcMemoryType = CU_MEMORYTYPE_HOST,
			    .srcHost = host_memory,
			    .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			    .dstDevice = device_memory,
			    .WidthInBytes = bytes,
			    .Height = 1,
			    .Depth = 1 };
	CUgraphNode node = NULL;

	DO(cuGraphAddMemcpyNode(&node, g, after, n, &p, context));
	return node;
}

static CUgraphNode add_memset(CUgraph g, size_t bytes, const CUgraphNode *after, size_t n)
{
	CUDA_MEMSET_NODE_PARAMS p = { .dst = device_memory, .value = 7, .elementSize = 1, .width = bytes, .height = 1 };
	CUgraphNode node = NULL;

	DO(cuGraphAddMemsetNode(&node, g, after, n, &p, context));
	return node;
}

static void CUDA_CB sleep_us(void *us)
{
	usleep((useconds_t)(uintptr_t)us);
}

static CUgraphNode add_host(CUgraph g, unsigned us, const CUgraphNode *after, size_t n)
{
	CUDA_HOST_NODE_PARAMS p = { .fn = sleep_us, .userData = (void *)(uintptr_t)us };
	CUgraphNode node = NULL;

	DO(cuGraphAddHostNode(&node, g, after, n, &p));
	return node;
}

static CUgraph graph_new(void)
{
	CUgraph g = NULL;

	DO(cuGraphCreate(&g, 0));
	return g;
}

static CUgraphExec instantiate(CUgraph g)
{
	CUgraphExec exec = NULL;

	DO(cuGraphInstantiate(&exec, g, 0));
	return exec;
}

/* kernel -> (kernel | copy -> memset) -> kernel */
static CUgraph diamond(void)
{
	CUgraph g = graph_new();
	CUgraphNode first = add_kernel(g, "first__100us", NULL, 0), both[2];

	both[0] = add_kernel(g, "left__300us", &first, 1);
	both[1] = add_copy(g, 65536, &first, 1);
	both[1] = add_memset(g, 4096, &both[1], 1);
	add_kernel(g, "last__50us", both, 2);
	return g;
}

/* ---- showing ------------------------------------------------------------------------------------------- */

static unsigned number_of(const CUgraphNode *nodes, size_t n, CUgraphNode node)
{
	for (unsigned i = 0; i < n; i++)
		if (nodes[i] == node)
			return i;
	return NODES_SHOWN;
}

static void show_node(unsigned number, CUgraphNode node)
{
	CUgraphNodeType type = 0;
	CUDA_KERNEL_NODE_PARAMS p;
	const char *name;

	DO(cuGraphNodeGetType(node, &type));
	printf("  node %u: type %d", number, (int)type);
	if (type == CU_GRAPH_NODE_TYPE_KERNEL && cuGraphKernelNodeGetParams(node, &p) == CUDA_SUCCESS &&
	    cuFuncGetName(&name, p.func) == CUDA_SUCCESS)
		printf(", %s", name);
	putchar('\n');
}

static void show(const char *what, CUgraph g)
{
	CUgraphNode nodes[NODES_SHOWN], from[NODES_SHOWN], to[NODES_SHOWN];
	size_t n = NODES_SHOWN, n_edges = NODES_SHOWN;

	if (!g || cuGraphGetNodes(g, nodes, &n) != CUDA_SUCCESS ||
	    cuGraphGetEdges(g, from, to, NULL, &n_edges) != CUDA_SUCCESS) {
		printf("%s: no graph\n", what);
		return;
	}
	printf("%s: %zu nodes, %zu edges\n", what, n, n_edges);
	for (unsigned i = 0; i < n; i++)
		show_node(i, nodes[i]);
	for (unsigned i = 0; i < n_edges; i++)
		printf("  edge %u -> %u\n", number_of(nodes, n, from[i]), number_of(nodes, n, to[i]));
}

static void run(CUgraphExec exec, CUstream s, int times)
{
	for (int i = 0; i < times; i++) {
		DO(cuGraphLaunch(exec, s));
		DO(cuStreamSynchronize(s));
		usleep(PAUSE_US);
	}
}

/* ---- cases: launches ----------------------------------------------------------------------------------- */

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

static void only(const char *what)
{
	CUgraph g = graph_new();
	CUgraphNode node = NULL;

	for (int i = 0; i < 3; i++)
		node = strcmp(what, "copies") == 0 ? add_copy(g, BUFFER_BYTES, &node, i > 0)
						   : add_memset(g, BUFFER_BYTES, &node, i > 0);
	run(instantiate(g), stream_new(), 5);
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

static void big(size_t n)
{
	CUgraph g = graph_new();
	CUgraphNode node = NULL;
	CUDA_KERNEL_NODE_PARAMS p = kernel_params("many__1us");
	CUgraphExec exec;
	CUstream s = stream_new();

	for (size_t i = 0; i < n; i++)
		DO(cuGraphAddKernelNode(&node, g, &node, i > 0, &p));
	exec = instantiate(g);
	DO(cuGraphLaunch(exec, s));
	DO(cuStreamSynchronize(s));
}

/* More executable graphs at once than anybody remembers. */
static void many(size_t n)
{
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

/* ---- cases: captures ----------------------------------------------------------------------------------- */

static void *train(void *stop)
{
	CUstream s;

	cuCtxSetCurrent(context);
	s = stream_new();
	while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED)) {
		launch(s, "training__50us");
		cuStreamSynchronize(s);
		usleep(300);
	}
	return NULL;
}

/* A fork and a join, slowly, so that a recorder's own thread has every occasion to disturb. */
static CUgraph capture(CUstream s, CUstream side, CUstreamCaptureMode mode)
{
	CUevent fork, join;
	CUgraph g = NULL;

	DO(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
	DO(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
	DO(cuStreamBeginCapture(s, mode));
	launch(s, "captured__100us");
	DO(cuEventRecord(fork, s));
	DO(cuStreamWaitEvent(side, fork, 0));
	launch(side, "aside__200us");
	usleep(PAUSE_US);
	DO(cuMemcpyHtoDAsync(device_memory, host_memory, BUFFER_BYTES, s));
	DO(cuMemsetD8Async(device_memory, 1, 4096, s));
	usleep(PAUSE_US);
	DO(cuEventRecord(join, side));
	DO(cuStreamWaitEvent(s, join, 0));
	launch(s, "joined__100us");
	DO(cuStreamEndCapture(s, &g));
	DO(cuEventDestroy(fork));
	DO(cuEventDestroy(join));
	return g;
}

/* alone: no other thread works meanwhile, whose calls a capture in mode `global` would forbid. */
static void captured(CUstreamCaptureMode mode, bool alone)
{
	CUstream s = stream_new(), side = stream_new();
	pthread_t thread;
	int stop = 0;
	CUgraph g;

	launch(s, "warm__300us"); /* unmarked work, in both */
	launch(side, "warm__300us");
	if (!alone && pthread_create(&thread, NULL, train, &stop) != 0)
		exit(3);
	g = capture(s, side, mode);
	if (!alone) {
		__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
		pthread_join(thread, NULL);
	}
	show("captured", g);
	if (g)
		run(instantiate(g), s, 5);
	launch(side, "free__100us");
	DO(cuStreamSynchronize(side));
}

static void to_graph(void)
{
	CUstream s = stream_new();
	CUgraph g = graph_new(), same = NULL;
	CUgraphNode root = add_kernel(g, "root__100us", NULL, 0);

	DO(cuStreamBeginCaptureToGraph(s, g, &root, NULL, 1, CU_STREAM_CAPTURE_MODE_GLOBAL));
	launch(s, "appended__100us");
	usleep(PAUSE_US);
	launch(s, "appended__100us");
	DO(cuStreamEndCapture(s, &same));
	printf("same graph: %d\n", same == g);
	show("appended", g);
	run(instantiate(g), s, 5);
}

/* Ends that end nothing, while a capture is open in another stream. */
static void wrong_ends(void)
{
	CUstream s = stream_new(), other = stream_new();
	CUgraph g = NULL;

	launch(other, "warm__100us");
	DO(cuStreamSynchronize(other));
	DO(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	launch(s, "one__100us");
	DO(cuStreamEndCapture(other, &g));
	DO(cuStreamEndCapture(other, &g));
	for (int i = 0; i < 5; i++) { /* as long as the capture is open, nothing may be added to it */
		launch(s, "more__100us");
		launch(other, "meanwhile__100us");
		usleep(PAUSE_US);
		DO(cuStreamSynchronize(other));
	}
	DO(cuStreamEndCapture(s, &g));
	show("one graph", g);
}

static void work_after(const char *what)
{
	CUstream s = stream_new();

	puts(what);
	for (int i = 0; i < 5; i++) {
		launch(s, "after__200us");
		DO(cuStreamSynchronize(s));
		usleep(PAUSE_US);
	}
}

static void invalidated(void)
{
	CUstream s = stream_new();
	CUgraph g = NULL;

	DO(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	launch(s, "lost__100us");
	DO(cuStreamSynchronize(s)); /* not allowed: the capture is broken */
	launch(s, "lost__100us");
	DO(cuStreamEndCapture(s, &g));
	show("broken", g);
	work_after("invalidated");
}

static void unjoined(void)
{
	CUstream s = stream_new(), side = stream_new();
	CUgraph g = NULL;
	CUevent fork;

	DO(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
	DO(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	DO(cuEventRecord(fork, s));
	DO(cuStreamWaitEvent(side, fork, 0));
	launch(side, "lost__100us");
	DO(cuStreamEndCapture(side, &g)); /* it began in the other */
	DO(cuStreamEndCapture(s, &g));
	show("unjoined", g);
	work_after("unjoined");
}

static void stream_gone(void)
{
	CUstream s = stream_new();

	DO(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	launch(s, "lost__100us");
	DO(cuStreamDestroy(s));
	work_after("stream gone");
}

static void context_gone(void)
{
	CUcontext own;
	CUstream s;

	DO(cuCtxCreate(&own, NULL, 0, 0));
	s = stream_new();
	DO(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	DO(cuCtxDestroy(own));
	DO(cuCtxSetCurrent(context));
	work_after("context gone");
}

int main(int argc, char **argv)
{
	const char *which = argc > 1 ? argv[1] : "";
	size_t n = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;

	start();
	if (strcmp(which, "plain") == 0)
		plain();
	else if (strcmp(which, "nested") == 0)
		nested();
	else if (strcmp(which, "host") == 0)
		host();
	else if (strcmp(which, "events") == 0)
		events();
	else if (strcmp(which, "two-streams") == 0)
		two_streams();
	else if (strcmp(which, "update") == 0)
		update();
	else if (strcmp(which, "copies") == 0 || strcmp(which, "memsets") == 0)
		only(which);
	else if (strcmp(which, "two-devices") == 0)
		two_devices();
	else if (strcmp(which, "big") == 0)
		big(n);
	else if (strcmp(which, "many") == 0)
		many(n);
	else if (strcmp(which, "global") == 0)
		captured(CU_STREAM_CAPTURE_MODE_GLOBAL, true);
	else if (strcmp(which, "thread-local") == 0)
		captured(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, false);
	else if (strcmp(which, "relaxed") == 0)
		captured(CU_STREAM_CAPTURE_MODE_RELAXED, false);
	else if (strcmp(which, "to-graph") == 0)
		to_graph();
	else if (strcmp(which, "wrong-ends") == 0)
		wrong_ends();
	else if (strcmp(which, "invalidated") == 0)
		invalidated();
	else if (strcmp(which, "unjoined") == 0)
		unjoined();
	else if (strcmp(which, "stream-gone") == 0)
		stream_gone();
	else if (strcmp(which, "context-gone") == 0)
		context_gone();
	else
		return 2;
	DO(cuCtxSynchronize());
	puts("end");
	return 0;
}
