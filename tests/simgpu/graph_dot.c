/* SPDX-License-Identifier: BSD-2-Clause */
/* graph_dot.c: cuGraphDebugDotPrint. Always the nodes with their numbers, types, kernel names and copy directions, and the
 * edges; a child graph is a cluster of its own that its node points into. Flags add parameters and handles. The layout is ours:
 * cuda.h promises none. */
#include "call.h"
#include "graph.h"
#include "launch.h"

#include <stdio.h>

static const char *const type_names[] = {
	[CU_GRAPH_NODE_TYPE_KERNEL] = "KERNEL",         [CU_GRAPH_NODE_TYPE_MEMCPY] = "MEMCPY",
	[CU_GRAPH_NODE_TYPE_MEMSET] = "MEMSET",         [CU_GRAPH_NODE_TYPE_HOST] = "HOST",
	[CU_GRAPH_NODE_TYPE_GRAPH] = "GRAPH",           [CU_GRAPH_NODE_TYPE_EMPTY] = "EMPTY",
	[CU_GRAPH_NODE_TYPE_WAIT_EVENT] = "EVENT_WAIT", [CU_GRAPH_NODE_TYPE_EVENT_RECORD] = "EVENT_RECORD",
	[CU_GRAPH_NODE_TYPE_MEM_ALLOC] = "MEM_ALLOC",   [CU_GRAPH_NODE_TYPE_MEM_FREE] = "MEM_FREE",
};

enum { ALL_FLAGS = (CU_GRAPH_DEBUG_DOT_FLAGS_CONDITIONAL_NODE_PARAMS << 1) - 1 };

/* A name in a DOT string. */
static void put_quoted(FILE *file, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', file);
		fputc(*text, file);
	}
}

static void put_kernel(FILE *file, const CUDA_KERNEL_NODE_PARAMS_v3 *k, bool parameters)
{
	CUfunction f = launch_function(k);

	fprintf(file, "\\n");
	put_quoted(file, f ? f->name : "?");
	if (parameters)
		fprintf(file, "\\n%ux%ux%u blocks of %ux%ux%u, %u bytes shared", k->gridDimX, k->gridDimY, k->gridDimZ,
			k->blockDimX, k->blockDimY, k->blockDimZ, k->sharedMemBytes);
}

static const char *place(CUmemorytype type)
{
	return type == CU_MEMORYTYPE_HOST ? "host" : type == CU_MEMORYTYPE_ARRAY ? "array" : "device";
}

static void put_copy(FILE *file, const CUDA_MEMCPY3D *copy, bool parameters)
{
	fprintf(file, "\\n%s to %s", place(copy->srcMemoryType), place(copy->dstMemoryType));
	if (parameters)
		fprintf(file, "\\n%zu bytes x %zu x %zu", copy->WidthInBytes, copy->Height, copy->Depth);
}

static void put_set(FILE *file, const CUDA_MEMSET_NODE_PARAMS_v2 *set, bool parameters)
{
	if (parameters)
		fprintf(file, "\\n%zu x %zu of %u bytes, value %u", set->width, set->height, set->elementSize,
			set->value);
}

static void put_node(FILE *file, CUgraphNode node, unsigned long long cluster, unsigned flags)
{
	const CUgraphNodeParams *params = &node->params;
	bool all = flags & CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE;

	fprintf(file, "\"graph_%llu_node_%u\" [label=\"%u\\n%s", cluster, node->waits, node->waits,
		type_names[params->type]);
	if (params->type == CU_GRAPH_NODE_TYPE_KERNEL)
		put_kernel(file, &params->kernel, all || (flags & CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS));
	else if (params->type == CU_GRAPH_NODE_TYPE_MEMCPY)
		put_copy(file, &params->memcpy.copyParams,
			 all || (flags & CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS));
	else if (params->type == CU_GRAPH_NODE_TYPE_MEMSET)
		put_set(file, &params->memset, all || (flags & CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS));
	if (all || (flags & CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES))
		fprintf(file, "\\n%p", (void *)node);
	fprintf(file, "\"];\n");
}

/* waits holds a node's number in its graph. */
static void put_graph(FILE *file, CUgraph graph, unsigned flags)
{
	unsigned long long cluster = graph->serial;

	for (unsigned i = 0; i < graph->nodes.count; i++)
		graph->nodes.nodes[i]->waits = i;
	fprintf(file, "subgraph cluster_%llu {\nlabel=\"graph_%llu\";\n", cluster, cluster);
	for (unsigned i = 0; i < graph->nodes.count; i++)
		put_node(file, graph->nodes.nodes[i], cluster, flags);
	for (unsigned i = 0; i < graph->nodes.count; i++) {
		const struct node_list *after = &graph->nodes.nodes[i]->after;

		for (unsigned k = 0; k < after->count; k++)
			fprintf(file, "\"graph_%llu_node_%u\" -> \"graph_%llu_node_%u\";\n", cluster, i, cluster,
				after->nodes[k]->waits);
	}
	fprintf(file, "}\n");
	for (unsigned i = 0; i < graph->nodes.count; i++) {
		const CUgraphNodeParams *params = &graph->nodes.nodes[i]->params;

		if (params->type != CU_GRAPH_NODE_TYPE_GRAPH)
			continue;
		put_graph(file, params->graph.graph, flags);
		if (params->graph.graph->nodes.count)
			fprintf(file, "\"graph_%llu_node_%u\" -> \"graph_%llu_node_0\" [style=dashed];\n", cluster, i,
				(unsigned long long)params->graph.graph->serial);
	}
}

CUresult api_graph_dot(CALL, CUgraph graph, const char *path, unsigned int flags)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;
	FILE *file;

	if (!path || (flags & ~(unsigned)ALL_FLAGS))
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	if (graph_valid(graph)) {
		file = fopen(path, "we");
		result = CUDA_ERROR_OPERATING_SYSTEM;
		if (file) {
			fprintf(file, "digraph dot {\n");
			put_graph(file, graph, flags);
			fprintf(file, "}\n");
			if (!ferror(file))
				result = CUDA_SUCCESS;
			if (fclose(file))
				result = CUDA_ERROR_OPERATING_SYSTEM;
		}
	}
	sim_unlock();
	return result;
}
