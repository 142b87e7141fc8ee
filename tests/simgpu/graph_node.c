/* SPDX-License-Identifier: BSD-2-Clause */
/* graph_node.c: adding nodes, asking for and changing their parameters. Every call is cuGraphAddNode, cuGraphNodeSetParams or
 * cuGraphExecNodeSetParams with its own way of saying what the node does. */
#include "graph_node.h"

#include "call.h"
#include "graph.h"
#include "graph_memory.h"
#include "graph_params.h"

#include <string.h>

/* The address of an allocation is known when the node is made; one node frees it. */
static CUresult take_memory(CUgraph graph, CUgraphNodeParams *params)
{
	if (!graph_params_memory(params))
		return CUDA_SUCCESS;
	if (graph->owner)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		return graph_memory_reserve(&params->alloc);
	return graph_memory_claim(params->free.dptr) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult graph_node_add(CUgraph graph, const struct node_list *before, CUgraphNodeParams *params, CUgraphNode *node)
{
	CUresult result = take_memory(graph, params);

	if (result)
		return result;
	result = graph_add(graph, before, params, node);
	if (params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		graph_memory_unref(params->alloc.dptr); /* the node has its own */
	else if (result && params->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
		graph_memory_unclaim(params->free.dptr);
	return result;
}

CUresult api_graph_add_data(CALL, CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
			    const CUgraphEdgeData *data, size_t count, CUgraphNodeParams *params)
{
	struct node_list before = { 0 };
	CUresult result = CUDA_SUCCESS;

	if (!node || !params)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	if (!graph_valid(graph))
		result = CUDA_ERROR_INVALID_VALUE;
	if (!result)
		result = graph_take_list(graph, dependencies, data, count, &before);
	if (!result)
		result = graph_params_check(params);
	if (!result)
		result = graph_node_add(graph, &before, params, node);
	node_list_clear(&before);
	sim_unlock();
	return result;
}

CUresult api_graph_add(CALL, CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
		       CUgraphNodeParams *params)
{
	return api_graph_add_data(call, node, graph, dependencies, NULL, count, params);
}

static CUresult set(CUgraphNode node, const CUgraphNodeParams *params)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	sim_lock();
	if (node_valid(node) && node->params.type == params->type && params->type != CU_GRAPH_NODE_TYPE_GRAPH)
		result = graph_params_memory(params) ? CUDA_ERROR_NOT_SUPPORTED : graph_params_check(params);
	if (!result)
		result = graph_params_replace(&node->params, params);
	sim_unlock();
	return result;
}

CUresult api_graph_node_set(CALL, CUgraphNode node, CUgraphNodeParams *params)
{
	return params ? set(node, params) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult get(CUgraphNode node, CUgraphNodeType type, CUgraphNodeParams *params)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	sim_lock();
	if (node_valid(node) && node->params.type == type) {
		*params = node->params;
		result = CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}

#define ADD_PARAMETERS CALL, CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count

static CUresult add(const struct call *call, CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
		    size_t count, CUgraphNodeParams *params)
{
	return api_graph_add_data(call, node, graph, dependencies, NULL, count, params);
}

/* ---- kernels: the first form is the beginning of the second ------------------------------------------------- */

_Static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS_v2) == sizeof(CUDA_KERNEL_NODE_PARAMS_v3), "one structure, two names");

static CUgraphNodeParams kernel_params(const void *kernel, size_t bytes)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_KERNEL };

	memcpy(&params.kernel, kernel, bytes);
	return params;
}

#define KERNEL_CALLS(suffix, type)                                                                                   \
	CUresult api_graph_add_kernel##suffix(ADD_PARAMETERS, const type *kernel)                                    \
	{                                                                                                            \
		CUgraphNodeParams params;                                                                            \
                                                                                                                     \
		if (!kernel)                                                                                         \
			return CUDA_ERROR_INVALID_VALUE;                                                             \
		params = kernel_params(kernel, sizeof(*kernel));                                                     \
		return add(call, node, graph, dependencies, count, &params);                                         \
	}                                                                                                            \
	CUresult api_graph_kernel##suffix(CALL, CUgraphNode node, type *kernel)                                      \
	{                                                                                                            \
		CUgraphNodeParams params;                                                                            \
		CUresult result = kernel ? get(node, CU_GRAPH_NODE_TYPE_KERNEL, &params) : CUDA_ERROR_INVALID_VALUE; \
                                                                                                                     \
		if (!result)                                                                                         \
			memcpy(kernel, &params.kernel, sizeof(*kernel));                                             \
		return result;                                                                                       \
	}                                                                                                            \
	CUresult api_graph_set_kernel##suffix(CALL, CUgraphNode node, const type *kernel)                            \
	{                                                                                                            \
		CUgraphNodeParams params;                                                                            \
                                                                                                                     \
		if (!kernel)                                                                                         \
			return CUDA_ERROR_INVALID_VALUE;                                                             \
		params = kernel_params(kernel, sizeof(*kernel));                                                     \
		return set(node, &params);                                                                           \
	}                                                                                                            \
	CUresult api_graph_exec_set_kernel##suffix(CALL, CUgraphExec exec, CUgraphNode node, const type *kernel)     \
	{                                                                                                            \
		CUgraphNodeParams params;                                                                            \
                                                                                                                     \
		if (!kernel)                                                                                         \
			return CUDA_ERROR_INVALID_VALUE;                                                             \
		params = kernel_params(kernel, sizeof(*kernel));                                                     \
		return graph_exec_set(exec, node, &params);                                                          \
	}
KERNEL_CALLS(_1, CUDA_KERNEL_NODE_PARAMS_v1)
KERNEL_CALLS(_2, CUDA_KERNEL_NODE_PARAMS_v2)

/* ---- copies and memsets: their context is a parameter apart ------------------------------------------------- */

static CUgraphNodeParams copy_params(const CUDA_MEMCPY3D *copy, CUcontext context)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_MEMCPY };

	params.memcpy.copyParams = *copy;
	params.memcpy.copyCtx = context;
	return params;
}

static CUgraphNodeParams set_params(const CUDA_MEMSET_NODE_PARAMS *memset, CUcontext context)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_MEMSET };

	memcpy(&params.memset, memset, sizeof(*memset));
	params.memset.ctx = context;
	return params;
}

#define TRANSFER_CALLS(noun, type, to_params, node_type, from_params)                                   \
	CUresult api_graph_add_##noun(ADD_PARAMETERS, const type *given, CUcontext context)             \
	{                                                                                               \
		CUgraphNodeParams params;                                                               \
                                                                                                        \
		if (!given)                                                                             \
			return CUDA_ERROR_INVALID_VALUE;                                                \
		params = to_params(given, context);                                                     \
		return add(call, node, graph, dependencies, count, &params);                            \
	}                                                                                               \
	CUresult api_graph_##noun(CALL, CUgraphNode node, type *given)                                  \
	{                                                                                               \
		CUgraphNodeParams params;                                                               \
		CUresult result = given ? get(node, node_type, &params) : CUDA_ERROR_INVALID_VALUE;     \
                                                                                                        \
		if (!result)                                                                            \
			memcpy(given, &params.from_params, sizeof(*given));                             \
		return result;                                                                          \
	}                                                                                               \
	CUresult api_graph_set_##noun(CALL, CUgraphNode node, const type *given)                        \
	{                                                                                               \
		CUgraphNodeParams params;                                                               \
		CUresult result = given ? get(node, node_type, &params) : CUDA_ERROR_INVALID_VALUE;     \
                                                                                                        \
		if (result)                                                                             \
			return result;                                                                  \
		memcpy(&params.from_params, given, sizeof(*given));                                     \
		return set(node, &params);                                                              \
	}                                                                                               \
	CUresult api_graph_exec_set_##noun(CALL, CUgraphExec exec, CUgraphNode node, const type *given, \
					   CUcontext context)                                           \
	{                                                                                               \
		CUgraphNodeParams params;                                                               \
                                                                                                        \
		if (!given)                                                                             \
			return CUDA_ERROR_INVALID_VALUE;                                                \
		params = to_params(given, context);                                                     \
		return graph_exec_set(exec, node, &params);                                             \
	}
TRANSFER_CALLS(memcpy, CUDA_MEMCPY3D, copy_params, CU_GRAPH_NODE_TYPE_MEMCPY, memcpy.copyParams)
TRANSFER_CALLS(memset, CUDA_MEMSET_NODE_PARAMS, set_params, CU_GRAPH_NODE_TYPE_MEMSET, memset)

/* ---- host functions ---------------------------------------------------------------------------------------- */

static CUgraphNodeParams host_params(const CUDA_HOST_NODE_PARAMS *host)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_HOST };

	params.host = (CUDA_HOST_NODE_PARAMS_v2){ host->fn, host->userData };
	return params;
}

CUresult api_graph_add_host(ADD_PARAMETERS, const CUDA_HOST_NODE_PARAMS *host)
{
	CUgraphNodeParams params;

	if (!host)
		return CUDA_ERROR_INVALID_VALUE;
	params = host_params(host);
	return add(call, node, graph, dependencies, count, &params);
}

CUresult api_graph_host(CALL, CUgraphNode node, CUDA_HOST_NODE_PARAMS *host)
{
	CUgraphNodeParams params;
	CUresult result = host ? get(node, CU_GRAPH_NODE_TYPE_HOST, &params) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*host = (CUDA_HOST_NODE_PARAMS){ params.host.fn, params.host.userData };
	return result;
}

CUresult api_graph_set_host(CALL, CUgraphNode node, const CUDA_HOST_NODE_PARAMS *host)
{
	CUgraphNodeParams params;

	if (!host)
		return CUDA_ERROR_INVALID_VALUE;
	params = host_params(host);
	return set(node, &params);
}

CUresult api_graph_exec_set_host(CALL, CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS *host)
{
	CUgraphNodeParams params;

	if (!host)
		return CUDA_ERROR_INVALID_VALUE;
	params = host_params(host);
	return graph_exec_set(exec, node, &params);
}

/* ---- child graphs, nothing ---------------------------------------------------------------------------------- */

static CUgraphNodeParams child_params(CUgraph child)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_GRAPH };

	params.graph.graph = child;
	return params;
}

CUresult api_graph_add_child(ADD_PARAMETERS, CUgraph child)
{
	CUgraphNodeParams params = child_params(child);

	return add(call, node, graph, dependencies, count, &params);
}

CUresult api_graph_child(CALL, CUgraphNode node, CUgraph *child)
{
	CUgraphNodeParams params;
	CUresult result = child ? get(node, CU_GRAPH_NODE_TYPE_GRAPH, &params) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*child = params.graph.graph;
	return result;
}

CUresult api_graph_exec_set_child(CALL, CUgraphExec exec, CUgraphNode node, CUgraph child)
{
	CUgraphNodeParams params = child_params(child);

	return graph_exec_set(exec, node, &params);
}

CUresult api_graph_add_empty(ADD_PARAMETERS)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_EMPTY };

	return add(call, node, graph, dependencies, count, &params);
}

/* ---- events: records and waits differ in their type alone --------------------------------------------------- */

static CUgraphNodeParams event_params(CUgraphNodeType type, CUevent event)
{
	CUgraphNodeParams params = { .type = type };

	params.eventRecord.event = event;
	return params;
}

#define EVENT_CALLS(noun, type)                                                                     \
	CUresult api_graph_add_##noun(ADD_PARAMETERS, CUevent event)                                \
	{                                                                                           \
		CUgraphNodeParams params = event_params(type, event);                               \
                                                                                                    \
		return add(call, node, graph, dependencies, count, &params);                        \
	}                                                                                           \
	CUresult api_graph_##noun(CALL, CUgraphNode node, CUevent *event)                           \
	{                                                                                           \
		CUgraphNodeParams params;                                                           \
		CUresult result = event ? get(node, type, &params) : CUDA_ERROR_INVALID_VALUE;      \
                                                                                                    \
		if (!result)                                                                        \
			*event = params.eventRecord.event;                                          \
		return result;                                                                      \
	}                                                                                           \
	CUresult api_graph_set_##noun(CALL, CUgraphNode node, CUevent event)                        \
	{                                                                                           \
		CUgraphNodeParams params = event_params(type, event);                               \
                                                                                                    \
		return set(node, &params);                                                          \
	}                                                                                           \
	CUresult api_graph_exec_set_##noun(CALL, CUgraphExec exec, CUgraphNode node, CUevent event) \
	{                                                                                           \
		CUgraphNodeParams params = event_params(type, event);                               \
                                                                                                    \
		return graph_exec_set(exec, node, &params);                                         \
	}
EVENT_CALLS(event_record, CU_GRAPH_NODE_TYPE_EVENT_RECORD)
EVENT_CALLS(event_wait, CU_GRAPH_NODE_TYPE_WAIT_EVENT)

/* ---- memory ------------------------------------------------------------------------------------------------- */

_Static_assert(sizeof(CUDA_MEM_ALLOC_NODE_PARAMS_v1) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS_v2),
	       "one structure, two names");

CUresult api_graph_add_alloc(ADD_PARAMETERS, CUDA_MEM_ALLOC_NODE_PARAMS *alloc)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC };
	CUresult result;

	if (!alloc)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&params.alloc, alloc, sizeof(*alloc));
	result = add(call, node, graph, dependencies, count, &params);
	if (!result)
		alloc->dptr = params.alloc.dptr;
	return result;
}

CUresult api_graph_alloc(CALL, CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *alloc)
{
	CUgraphNodeParams params;
	CUresult result = alloc ? get(node, CU_GRAPH_NODE_TYPE_MEM_ALLOC, &params) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		memcpy(alloc, &params.alloc, sizeof(*alloc));
	return result;
}

CUresult api_graph_add_free(ADD_PARAMETERS, CUdeviceptr address)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_MEM_FREE };

	params.free.dptr = address;
	return add(call, node, graph, dependencies, count, &params);
}

CUresult api_graph_free(CALL, CUgraphNode node, CUdeviceptr *address)
{
	CUgraphNodeParams params;
	CUresult result = address ? get(node, CU_GRAPH_NODE_TYPE_MEM_FREE, &params) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*address = params.free.dptr;
	return result;
}
