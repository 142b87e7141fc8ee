/* SPDX-License-Identifier: BSD-2-Clause */
/* test_simgpu_graphs.h: what the tests of graphs share, for children of a case. */
#pragma once

#include "test_simgpu.h"

#include <stdbool.h>

enum { GAP_NS = 500 }; /* between dependent nodes */

static struct truth truth;

APART static CUgraph new_graph(void)
{
	CUgraph graph;

	OK(cuGraphCreate(&graph, 0));
	return graph;
}

APART static CUDA_KERNEL_NODE_PARAMS kernel_params(const char *name)
{
	return (CUDA_KERNEL_NODE_PARAMS){ .func = function(name),
					  .gridDimX = 2,
					  .gridDimY = 1,
					  .gridDimZ = 1,
					  .blockDimX = 32,
					  .blockDimY = 1,
					  .blockDimZ = 1 };
}

/* A kernel behind up to two nodes. */
APART static CUgraphNode kernel(CUgraph graph, const char *name, CUgraphNode one, CUgraphNode other)
{
	CUDA_KERNEL_NODE_PARAMS params = kernel_params(name);
	CUgraphNode node, before[2] = { one, other };

	OK(cuGraphAddKernelNode(&node, graph, before, other ? 2 : one ? 1 : 0, &params));
	return node;
}

APART static CUgraphExec instantiate_with(CUgraph graph, unsigned long long flags)
{
	CUgraphExec exec;

	OK(cuGraphInstantiate(&exec, graph, flags));
	return exec;
}

static inline CUgraphExec instantiate(CUgraph graph)
{
	return instantiate_with(graph, 0);
}

static inline void run(CUgraphExec exec, CUstream s)
{
	OK(cuGraphLaunch(exec, s));
	OK(cuStreamSynchronize(s));
}

static inline void run_once(CUgraph graph)
{
	CUgraphExec exec = instantiate(graph);

	run(exec, NULL);
	OK(cuGraphExecDestroy(exec));
}

static inline void add_one(void *argument)
{
	(*(int *)argument)++;
}

static inline CUDA_MEMCPY3D copy_of(CUmemorytype to_type, void *to, CUmemorytype from_type, void *from, size_t bytes)
{
	return (CUDA_MEMCPY3D){ .srcMemoryType = from_type,
				.srcHost = from,
				.srcDevice = (CUdeviceptr)(uintptr_t)from,
				.dstMemoryType = to_type,
				.dstHost = to,
				.dstDevice = (CUdeviceptr)(uintptr_t)to,
				.WidthInBytes = bytes,
				.Height = 1,
				.Depth = 1 };
}
