/* SPDX-License-Identifier: BSD-2-Clause */
/* graphs.h: what graphs_linked and captures_linked share: how graphs are built, and printed, so that a run with a recorder can be compared
 * with one without. Each is `X CASE [N]`, linked to the driver. */
#pragma once

#include <cuda.h>
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

static inline CUresult said(CUresult rc, const char *what)
{
	const char *name = "?";

	if (rc != CUDA_SUCCESS) {
		cuGetErrorName(rc, &name);
		printf("%s: %s\n", what, name);
	}
	return rc;
}

#define DO(call) said(call, #call)

static inline CUfunction kernel(const char *name)
{
	CUfunction f = NULL;

	DO(cuModuleGetFunction(&f, module, name));
	return f;
}

static inline void start(void)
{
	DO(cuInit(0));
	DO(cuDevicePrimaryCtxRetain(&context, 0));
	DO(cuCtxSetCurrent(context));
	DO(cuModuleLoadData(&module, "x"));
	DO(cuMemAlloc(&device_memory, BUFFER_BYTES));
	DO(cuMemAllocHost(&host_memory, BUFFER_BYTES));
}

static inline CUstream stream_new(void)
{
	CUstream s = NULL;

	DO(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	return s;
}

static inline void launch(CUstream s, const char *name)
{
	DO(cuLaunchKernel(kernel(name), 4, 1, 1, 32, 1, 1, 0, s, NULL, NULL));
}

/* ---- building ---------------------------------------------------------------------------------------- */

static inline CUDA_KERNEL_NODE_PARAMS kernel_params(const char *name)
{
	return (CUDA_KERNEL_NODE_PARAMS){ .func = kernel(name),
					  .gridDimX = 4,
					  .gridDimY = 1,
					  .gridDimZ = 1,
					  .blockDimX = 32,
					  .blockDimY = 1,
					  .blockDimZ = 1 };
}

static inline CUgraphNode add_kernel(CUgraph g, const char *name, const CUgraphNode *after, size_t n)
{
	CUDA_KERNEL_NODE_PARAMS p = kernel_params(name);
	CUgraphNode node = NULL;

	DO(cuGraphAddKernelNode(&node, g, after, n, &p));
	return node;
}

static inline CUgraphNode add_copy(CUgraph g, size_t bytes, const CUgraphNode *after, size_t n)
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

static inline CUgraphNode add_memset(CUgraph g, size_t bytes, const CUgraphNode *after, size_t n)
{
	CUDA_MEMSET_NODE_PARAMS p = { .dst = device_memory, .value = 7, .elementSize = 1, .width = bytes, .height = 1 };
	CUgraphNode node = NULL;

	DO(cuGraphAddMemsetNode(&node, g, after, n, &p, context));
	return node;
}

static inline void CUDA_CB sleep_us(void *us)
{
	usleep((useconds_t)(uintptr_t)us);
}

static inline CUgraphNode add_host(CUgraph g, unsigned us, const CUgraphNode *after, size_t n)
{
	CUDA_HOST_NODE_PARAMS p = { .fn = sleep_us, .userData = (void *)(uintptr_t)us };
	CUgraphNode node = NULL;

	DO(cuGraphAddHostNode(&node, g, after, n, &p));
	return node;
}

static inline CUgraph graph_new(void)
{
	CUgraph g = NULL;

	DO(cuGraphCreate(&g, 0));
	return g;
}

static inline CUgraphExec instantiate(CUgraph g)
{
	CUgraphExec exec = NULL;

	DO(cuGraphInstantiate(&exec, g, 0));
	return exec;
}

/* kernel -> (kernel | copy -> memset) -> kernel */
static inline CUgraph diamond(void)
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

static inline unsigned number_of(const CUgraphNode *nodes, size_t n, CUgraphNode node)
{
	for (unsigned i = 0; i < n; i++)
		if (nodes[i] == node)
			return i;
	return NODES_SHOWN;
}

static inline void show_node(unsigned number, CUgraphNode node)
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

static inline void show(const char *what, CUgraph g)
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

static inline void run(CUgraphExec exec, CUstream s, int times)
{
	for (int i = 0; i < times; i++) {
		DO(cuGraphLaunch(exec, s));
		DO(cuStreamSynchronize(s));
		usleep(PAUSE_US);
	}
}

/* ---- cases ---------------------------------------------------------------------------------------------- */

struct graph_case {
	const char *name;
	void (*run)(void);
};

static size_t case_count; /* N */

static inline int run_case(const struct graph_case *cases, size_t n_cases, int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < n_cases; i++) {
		if (strcmp(cases[i].name, argv[1]) != 0)
			continue;
		start();
		case_count = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
		cases[i].run();
		DO(cuCtxSynchronize());
		puts("end");
		return 0;
	}
	return 2;
}
