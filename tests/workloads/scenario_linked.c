/* SPDX-License-Identifier: BSD-2-Clause */
/* scenario_linked ROUNDS [eager] [graphs] [peers]: what a training program does, on every device at once, with all of it counted.
 *
 * A thread for each device, eight streams each. eager: copies, kernels and memsets over all streams, which wait for each other's
 * events, and each way of waiting for them in turn. graphs: launches of three graphs made before: captured in global mode across three
 * streams; captured with a launch of the first in it; made of nodes, with graphs in graphs. peers: each device hands a buffer to the
 * next. Between rounds every thread sleeps, so that every device is idle for longer than anybody could miss.
 *
 * Prints for each device how many operations it was given, and for each graph the nodes that were put into it. */
#include "sample.h"

#include <pthread.h>
#include <unistd.h>

#define DEVICES_MAX 8
#define STREAMS 8
#define BYTES (256u * 1024u)
#define PAUSE_US 3000

struct graph { /* one that can be launched, and the operations of a launch */
	CUgraphExec executable;
	unsigned operations;
};

struct place {
	int ordinal;
	CUcontext context;
	CUfunction fast, slow; /* 15 and 120 us */
	CUstream streams[STREAMS];
	CUevent events[STREAMS];
	CUdeviceptr buffers[STREAMS];
	void *host[STREAMS]; /* pinned */
	struct graph captured, capturing, nested;
	struct place *next;
	unsigned long operations;
};

static struct place places[DEVICES_MAX];
static int devices, rounds;
static bool eager, graphs, peers;

static void launch(CUfunction kernel, CUstream stream)
{
	CHECK(cuLaunchKernel(kernel, 64, 1, 1, 128, 1, 1, 0, stream, NULL, NULL));
}

/* ---- graphs: operations are counted where they are put in -------------------------------------------------------------- */

/* From stream 0 to streams 1 and 2 and back: what is captured is copy, then set and kernel and two kernels side by side, then copy. */
static unsigned capture_work(struct place *p)
{
	CHECK(cuMemcpyHtoDAsync(p->buffers[0], p->host[0], BYTES, p->streams[0]));
	CHECK(cuEventRecord(p->events[0], p->streams[0]));
	CHECK(cuStreamWaitEvent(p->streams[1], p->events[0], CU_EVENT_WAIT_DEFAULT));
	CHECK(cuStreamWaitEvent(p->streams[2], p->events[0], CU_EVENT_WAIT_DEFAULT));
	CHECK(cuMemsetD32Async(p->buffers[1], 1, BYTES / 4, p->streams[1]));
	launch(p->fast, p->streams[1]);
	launch(p->slow, p->streams[2]);
	launch(p->fast, p->streams[0]);
	for (int i = 1; i <= 2; i++) {
		CHECK(cuEventRecord(p->events[i], p->streams[i]));
		CHECK(cuStreamWaitEvent(p->streams[0], p->events[i], CU_EVENT_WAIT_DEFAULT));
	}
	CHECK(cuMemcpyDtoHAsync(p->host[0], p->buffers[0], BYTES, p->streams[0]));
	return 6;
}

static unsigned capture_with_launch(struct place *p)
{
	launch(p->fast, p->streams[0]);
	CHECK(cuGraphLaunch(p->captured.executable, p->streams[0]));
	launch(p->fast, p->streams[0]);
	return 2;
}

static void require_nodes(CUgraph graph, size_t expected, const char *what, int ordinal)
{
	size_t nodes = 0;

	CHECK(cuGraphGetNodes(graph, NULL, &nodes));
	REQUIRE(nodes == expected);
	printf("device %d: graph %s: %zu nodes\n", ordinal, what, nodes);
}

/* While earlier work is still on its way, so that whoever asks after it at this moment breaks the capture. */
static CUgraph capture(struct place *p, unsigned (*work)(struct place *p), unsigned *operations)
{
	CUgraph graph;

	launch(p->slow, p->streams[3]);
	p->operations++;
	CHECK(cuStreamBeginCapture(p->streams[0], CU_STREAM_CAPTURE_MODE_GLOBAL));
	usleep(1000);
	*operations = work(p);
	CHECK(cuStreamEndCapture(p->streams[0], &graph));
	CHECK(cuStreamSynchronize(p->streams[3]));
	return graph;
}

static CUgraphNode add_kernel(CUgraph graph, CUfunction kernel, const CUgraphNode *after, size_t n_after)
{
	CUDA_KERNEL_NODE_PARAMS parameters = { .func = kernel,
					       .gridDimX = 64,
					       .gridDimY = 1,
					       .gridDimZ = 1,
					       .blockDimX = 128,
					       .blockDimY = 1,
					       .blockDimZ = 1 };
	CUgraphNode node;

	CHECK(cuGraphAddKernelNode(&node, graph, after, n_after, &parameters));
	return node;
}

/* Two kernels around the captured graph. */
static CUgraph make_inner(struct place *p, CUgraph captured)
{
	CUgraphNode first, child;
	CUgraph graph;

	CHECK(cuGraphCreate(&graph, 0));
	first = add_kernel(graph, p->fast, NULL, 0);
	CHECK(cuGraphAddChildGraphNode(&child, graph, &first, 1, captured));
	add_kernel(graph, p->fast, &child, 1);
	return graph;
}

/* A set, then the inner graph and the captured one side by side, an empty node behind both, and a kernel. */
static CUgraph make_outer(struct place *p, CUgraph inner, CUgraph captured)
{
	CUDA_MEMSET_NODE_PARAMS set = {
		.dst = p->buffers[2], .value = 3, .elementSize = 4, .width = BYTES / 4, .height = 1
	};
	CUgraphNode begin, sides[2], join;
	CUgraph graph;

	CHECK(cuGraphCreate(&graph, 0));
	CHECK(cuGraphAddMemsetNode(&begin, graph, NULL, 0, &set, p->context));
	CHECK(cuGraphAddChildGraphNode(&sides[0], graph, &begin, 1, inner));
	CHECK(cuGraphAddChildGraphNode(&sides[1], graph, &begin, 1, captured));
	CHECK(cuGraphAddEmptyNode(&join, graph, sides, 2));
	add_kernel(graph, p->slow, &join, 1);
	return graph;
}

static void make_graphs(struct place *p)
{
	unsigned in_captured, own;
	CUgraph captured, capturing, inner, outer;

	captured = capture(p, capture_work, &in_captured);
	require_nodes(captured, in_captured, "captured", p->ordinal);
	CHECK(cuGraphInstantiate(&p->captured.executable, captured, 0));
	p->captured.operations = in_captured;

	capturing = capture(p, capture_with_launch, &own);
	require_nodes(capturing, own + 1, "captured with a launch in it", p->ordinal);
	CHECK(cuGraphInstantiate(&p->capturing.executable, capturing, 0));
	p->capturing.operations = own + in_captured;

	inner = make_inner(p, captured);
	outer = make_outer(p, inner, captured);
	require_nodes(outer, 5, "of graphs in graphs", p->ordinal);
	CHECK(cuGraphInstantiate(&p->nested.executable, outer, 0));
	p->nested.operations = 2 + (2 + in_captured) + in_captured;
	CHECK(cuGraphDestroy(captured));
	CHECK(cuGraphDestroy(capturing));
	CHECK(cuGraphDestroy(inner));
	CHECK(cuGraphDestroy(outer));
}

/* ---- a round ---------------------------------------------------------------------------------------------------------- */

static void wait_for_all(struct place *p, int way)
{
	switch (way % 3) {
	case 0:
		for (int i = 0; i < STREAMS; i++)
			CHECK(cuStreamSynchronize(p->streams[i]));
		break;
	case 1:
		CHECK(cuCtxSynchronize());
		break;
	default:
		for (int i = 0; i < STREAMS; i++)
			CHECK(cuEventRecord(p->events[i], p->streams[i]));
		for (int i = 0; i < STREAMS; i++)
			CHECK(cuEventSynchronize(p->events[i]));
	}
}

/* In each stream: in, compute behind the stream before it, set, out. */
static void work_eagerly(struct place *p)
{
	for (int i = 0; i < STREAMS; i++) {
		CHECK(cuMemcpyHtoDAsync(p->buffers[i], p->host[i], BYTES, p->streams[i]));
		launch(p->fast, p->streams[i]);
		CHECK(cuEventRecord(p->events[i], p->streams[i]));
		if (i)
			CHECK(cuStreamWaitEvent(p->streams[i], p->events[i - 1], CU_EVENT_WAIT_DEFAULT));
		launch(i % 2 ? p->slow : p->fast, p->streams[i]);
		CHECK(cuMemsetD8Async(p->buffers[i], (unsigned char)i, 1024, p->streams[i]));
		CHECK(cuMemcpyDtoHAsync(p->host[i], p->buffers[i], BYTES, p->streams[i]));
	}
	p->operations += 5 * STREAMS;
}

static void launch_graph(struct place *p, const struct graph *graph, CUstream stream)
{
	CHECK(cuGraphLaunch(graph->executable, stream));
	p->operations += graph->operations;
}

/* To the next device, in a stream of this one; counted here, as the truth has it. */
static void hand_on(struct place *p)
{
	CHECK(cuMemcpyPeerAsync(p->next->buffers[7], p->next->context, p->buffers[7], p->context, BYTES,
				p->streams[7]));
	p->operations++;
}

static void *work(void *arg)
{
	struct place *p = arg;

	CHECK(cuCtxSetCurrent(p->context));
	for (int round = 0; round < rounds; round++) {
		if (eager)
			work_eagerly(p);
		if (peers)
			hand_on(p);
		if (graphs) {
			launch_graph(p, &p->captured, p->streams[4]);
			launch_graph(p, &p->nested, p->streams[5]);
			launch_graph(p, &p->capturing, p->streams[4]);
		}
		wait_for_all(p, round);
		usleep(PAUSE_US);
	}
	return NULL;
}

/* ---- before and after ------------------------------------------------------------------------------------------------- */

static void place_open(struct place *p, int ordinal)
{
	CUmodule module;
	CUdevice device;

	p->ordinal = ordinal;
	CHECK(cuDeviceGet(&device, ordinal));
	CHECK(cuDevicePrimaryCtxRetain(&p->context, device));
	CHECK(cuCtxSetCurrent(p->context));
	module = sample_module(PTX_HEADER
			       ".visible .entry fast__15us() { ret; }\n.visible .entry slow__120us() { ret; }\n");
	p->fast = sample_function(module, "fast__15us");
	p->slow = sample_function(module, "slow__120us");
	for (int i = 0; i < STREAMS; i++) {
		CHECK(cuStreamCreate(&p->streams[i], i < 6 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
		CHECK(cuEventCreate(&p->events[i], CU_EVENT_DISABLE_TIMING));
		CHECK(cuMemAlloc(&p->buffers[i], BYTES));
		CHECK(cuMemHostAlloc(&p->host[i], BYTES, 0));
		memset(p->host[i], i, BYTES);
	}
}

static void place_close(struct place *p)
{
	CHECK(cuCtxSetCurrent(p->context));
	if (graphs) {
		CHECK(cuGraphExecDestroy(p->captured.executable));
		CHECK(cuGraphExecDestroy(p->capturing.executable));
		CHECK(cuGraphExecDestroy(p->nested.executable));
	}
	for (int i = 0; i < STREAMS; i++) {
		CHECK(cuMemFreeHost(p->host[i]));
		CHECK(cuMemFree(p->buffers[i]));
		CHECK(cuEventDestroy(p->events[i]));
		CHECK(cuStreamDestroy(p->streams[i]));
	}
	CHECK(cuDevicePrimaryCtxRelease(p->ordinal));
	printf("device %d: %lu operations\n", p->ordinal, p->operations);
}

int main(int argc, char **argv)
{
	pthread_t threads[DEVICES_MAX];

	rounds = argc > 1 ? atoi(argv[1]) : 0;
	for (int i = 2; i < argc; i++) {
		eager |= strcmp(argv[i], "eager") == 0;
		graphs |= strcmp(argv[i], "graphs") == 0;
		peers |= strcmp(argv[i], "peers") == 0;
	}
	CHECK(cuInit(0));
	CHECK(cuDeviceGetCount(&devices));
	REQUIRE(devices <= DEVICES_MAX);
	for (int i = 0; i < devices; i++) {
		places[i].next = &places[(i + 1) % devices];
		place_open(&places[i], i);
	}
	for (int i = 0; i < devices && graphs; i++) {
		CHECK(cuCtxSetCurrent(places[i].context));
		make_graphs(&places[i]);
	}
	for (int i = 0; i < devices; i++)
		REQUIRE(pthread_create(&threads[i], NULL, work, &places[i]) == 0);
	for (int i = 0; i < devices; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < devices; i++)
		place_close(&places[i]);
	return 0;
}
