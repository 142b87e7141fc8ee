/* SPDX-License-Identifier: BSD-2-Clause */
/* sample_graph_linked: the same work as a graph twice over: made node by node, and captured from a stream. Numbers go in, two kernels
 * work on one half each, side by side, and a third on all; then they come back. Prints the nodes of each graph. */
#include "sample.h"

#define N (1u << 16)
#define BYTES (N * sizeof(unsigned))
#define THREADS 256
#define LAUNCHES 10
#define KERNEL "add__25us"

static const char ptx[] = PTX_HEADER ".visible .entry " KERNEL "(.param .u64 to, .param .u32 n, .param .u32 value)\n"
				     "{\n"
				     ".reg .pred %p0;\n"
				     ".reg .u32 %r<7>;\n"
				     ".reg .u64 %d<2>;\n" PTX_INDEX "ld.param.u32 %r4, [n];\n"
				     "setp.ge.u32 %p0, %r0, %r4;\n"
				     "@%p0 bra DONE;\n"
				     "ld.param.u64 %d0, [to];\n"
				     "ld.param.u32 %r6, [value];\n"
				     "cvta.to.global.u64 %d0, %d0;\n"
				     "mul.wide.u32 %d1, %r0, 4;\n"
				     "add.u64 %d0, %d0, %d1;\n"
				     "ld.global.u32 %r5, [%d0];\n"
				     "add.u32 %r5, %r5, %r6;\n"
				     "st.global.u32 [%d0], %r5;\n"
				     "DONE:\n"
				     "ret;\n"
				     "}\n";

/* A kernel's arguments live as long as its node: a graph keeps copies, but they are read when it is made. */
struct part {
	CUdeviceptr to;
	unsigned n, value;
	void *parameters[3];
};

struct work {
	CUcontext context;
	CUfunction add;
	CUdeviceptr numbers;
	unsigned *host; /* pinned */
	struct part parts[3];
};

static void part_set(struct part *p, CUdeviceptr to, unsigned n, unsigned value)
{
	*p = (struct part){ .to = to, .n = n, .value = value };
	p->parameters[0] = &p->to;
	p->parameters[1] = &p->n;
	p->parameters[2] = &p->value;
}

static CUgraphNode add_copy(CUgraph graph, const struct work *w, bool to_device, const CUgraphNode *after,
			    size_t n_after)
{
	CUDA_MEMCPY3D copy = { .WidthInBytes = BYTES, .Height = 1, .Depth = 1 };
	CUgraphNode node;

	copy.srcMemoryType = to_device ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
	copy.dstMemoryType = to_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
	copy.srcHost = copy.dstHost = w->host;
	copy.srcDevice = copy.dstDevice = w->numbers;
	CHECK(cuGraphAddMemcpyNode(&node, graph, after, n_after, &copy, w->context));
	return node;
}

static CUgraphNode add_kernel(CUgraph graph, struct work *w, int part, const CUgraphNode *after, size_t n_after)
{
	CUDA_KERNEL_NODE_PARAMS kernel = { .func = w->add,
					   .gridDimX = sample_blocks(w->parts[part].n, THREADS),
					   .gridDimY = 1,
					   .gridDimZ = 1,
					   .blockDimX = THREADS,
					   .blockDimY = 1,
					   .blockDimZ = 1,
					   .kernelParams = w->parts[part].parameters };
	CUgraphNode node;

	CHECK(cuGraphAddKernelNode(&node, graph, after, n_after, &kernel));
	return node;
}

static CUgraph make_by_hand(struct work *w)
{
	CUgraph graph;
	CUgraphNode in, halves[2], all;

	CHECK(cuGraphCreate(&graph, 0));
	in = add_copy(graph, w, true, NULL, 0);
	halves[0] = add_kernel(graph, w, 0, &in, 1);
	halves[1] = add_kernel(graph, w, 1, &in, 1);
	all = add_kernel(graph, w, 2, halves, 2);
	add_copy(graph, w, false, &all, 1);
	return graph;
}

static void launch(struct work *w, int part, CUstream stream)
{
	CHECK(cuLaunchKernel(w->add, sample_blocks(w->parts[part].n, THREADS), 1, 1, THREADS, 1, 1, 0, stream,
			     w->parts[part].parameters, NULL));
}

/* The second stream joins the capture by waiting for an event of the first, and comes back the same way. */
static CUgraph make_by_capture(struct work *w, CUstream stream, CUstream side)
{
	CUevent fork, join;
	CUgraph graph;

	CHECK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
	CHECK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
	CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CHECK(cuMemcpyHtoDAsync(w->numbers, w->host, BYTES, stream));
	CHECK(cuEventRecord(fork, stream));
	CHECK(cuStreamWaitEvent(side, fork, CU_EVENT_WAIT_DEFAULT));
	launch(w, 0, stream);
	launch(w, 1, side);
	CHECK(cuEventRecord(join, side));
	CHECK(cuStreamWaitEvent(stream, join, CU_EVENT_WAIT_DEFAULT));
	launch(w, 2, stream);
	CHECK(cuMemcpyDtoHAsync(w->host, w->numbers, BYTES, stream));
	CHECK(cuStreamEndCapture(stream, &graph));
	CHECK(cuEventDestroy(fork));
	CHECK(cuEventDestroy(join));
	return graph;
}

/* Launches it a few times and takes it away. Prints how many nodes it has. */
static void run(const char *made, CUgraph graph, CUstream stream)
{
	CUgraphExec executable;
	size_t nodes = 0;

	CHECK(cuGraphGetNodes(graph, NULL, &nodes));
	CHECK(cuGraphInstantiate(&executable, graph, 0));
	for (int i = 0; i < LAUNCHES; i++)
		CHECK(cuGraphLaunch(executable, stream));
	CHECK(cuStreamSynchronize(stream));
	CHECK(cuGraphExecDestroy(executable));
	CHECK(cuGraphDestroy(graph));
	printf("graph %s: %zu nodes, launched %d times\n", made, nodes, LAUNCHES);
}

int main(void)
{
	CUdevice device = sample_device(0);
	CUmodule module = sample_module(ptx);
	struct work w = { .add = sample_function(module, KERNEL) };
	unsigned added = sample_computes(device) ? 2 * LAUNCHES : 0;
	CUstream stream, side;

	CHECK(cuCtxGetCurrent(&w.context));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc(&w.numbers, BYTES));
	CHECK(cuMemHostAlloc((void **)&w.host, BYTES, 0));
	for (unsigned i = 0; i < N; i++)
		w.host[i] = i;
	part_set(&w.parts[0], w.numbers, N / 2, 1);
	part_set(&w.parts[1], w.numbers + BYTES / 2, N / 2, 2);
	part_set(&w.parts[2], w.numbers, N, 10);
	run("by hand", make_by_hand(&w), stream);
	run("by capture", make_by_capture(&w, stream, side), stream);
	for (unsigned i = 0; i < N; i++)
		REQUIRE(w.host[i] == i + added * (i < N / 2 ? 11 : 12));
	CHECK(cuMemFreeHost(w.host));
	CHECK(cuMemFree(w.numbers));
	CHECK(cuStreamDestroy(side));
	CHECK(cuStreamDestroy(stream));
	CHECK(cuModuleUnload(module));
	CHECK(cuDevicePrimaryCtxRelease(device));
	return 0;
}
