/* SPDX-License-Identifier: BSD-2-Clause */
/* graph_exec.c: instantiating, and changing single nodes of what was instantiated.
 * An executable graph is a copy that remembers which node each of its nodes was: the client names nodes by the originals. */
#include "graph_exec.h"

#include "call.h"
#include "graph.h"
#include "graph_node.h"
#include "graph_params.h"
#include "graph_update.h"
#include "user_object.h"

#include <string.h>

enum {
	INSTANTIATE_NS = 20000, /* host time, and for each node */
	INSTANTIATE_NODE_NS = 1000
};

struct slab exec_slab = SLAB(struct CUgraphExec_st, 1 << 16);

static unsigned last_number;
static struct CUgraphExec_st *with_memory;

/* Child graphs too. On a cycle *offender is a node of it, or behind it. */
static CUresult put_in_order(CUgraph graph, CUgraphNode *offender, unsigned *nodes)
{
	CUresult result = CUDA_SUCCESS;

	if (!graph_order(graph, &graph->order, offender))
		return *offender ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
	*nodes += graph->nodes.count;
	for (unsigned i = 0; i < graph->nodes.count && !result; i++)
		if (graph->nodes.nodes[i]->params.type == CU_GRAPH_NODE_TYPE_GRAPH)
			result = put_in_order(graph->nodes.nodes[i]->params.graph.graph, offender, nodes);
	return result;
}

/* The node of the client's graph that became this one. */
static CUgraphNode original_of(CUgraph graph, CUgraphNode copy)
{
	for (unsigned i = 0; i < graph->nodes.count; i++)
		if (graph->nodes.nodes[i]->serial == copy->origin)
			return graph->nodes.nodes[i];
	return NULL;
}

static bool exists(CUgraph graph)
{
	const struct CUgraphExec_st *exec = with_memory;

	while (exec && exec->source != graph->serial)
		exec = exec->next;
	return exec;
}

static void remember(struct CUgraphExec_st *exec, CUgraph graph)
{
	exec->source = graph->serial;
	if (!graph_has_memory(graph))
		return;
	exec->next = with_memory;
	with_memory = exec;
}

static void forget(struct CUgraphExec_st *exec)
{
	struct CUgraphExec_st **at = &with_memory;

	while (*at && *at != exec)
		at = &(*at)->next;
	if (*at)
		*at = exec->next;
}

static CUresult instantiate(CUgraph graph, cuuint64_t flags, CUgraphExec *exec, CUgraphNode *offender)
{
	CUgraphNode bad = NULL;
	struct CUgraphExec_st *made;
	CUresult result;

	*offender = NULL;
	if (!graph_valid(graph))
		return CUDA_ERROR_INVALID_VALUE;
	if (graph->capturing)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (graph_has_memory(graph) && exists(graph))
		return CUDA_ERROR_NOT_SUPPORTED;
	made = slab_take(&exec_slab);
	if (!made)
		return CUDA_ERROR_OUT_OF_MEMORY;
	made->graph = graph_copy(graph, true);
	result = made->graph ? put_in_order(made->graph, &bad, &made->nodes) : CUDA_ERROR_OUT_OF_MEMORY;
	if (result) {
		if (bad)
			*offender = original_of(graph, bad);
		if (made->graph)
			graph_free(made->graph);
		slab_give(&exec_slab, made);
		return result;
	}
	remember(made, graph);
	made->number = ++last_number;
	made->flags = flags;
	*exec = made;
	return CUDA_SUCCESS;
}

static CUresult instantiate_call(const struct call *call, CUgraphExec *exec, CUgraph graph, cuuint64_t flags,
				 cuuint64_t known, CUgraphNode *offender)
{
	uint64_t host_ns = 0;
	CUresult result;

	*offender = NULL;
	if (!exec || (flags & ~known))
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
		return CUDA_ERROR_NOT_SUPPORTED; /* nothing runs on the device that could launch */
	sim_lock();
	result = instantiate(graph, flags, exec, offender);
	if (!result)
		host_ns = INSTANTIATE_NS + (uint64_t)(*exec)->nodes * INSTANTIATE_NODE_NS;
	sim_unlock();
	clock_spin_until(call->entry_ns + host_ns);
	return result;
}

static const cuuint64_t plain_flags = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
				      CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH |
				      CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;

CUresult api_graph_instantiate_flags(CALL, CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	CUgraphNode offender;

	return instantiate_call(call, exec, graph, flags, plain_flags, &offender);
}

/* The first form has a buffer for a message: an empty one, as where everything is said by the result. */
CUresult api_graph_instantiate(CALL, CUgraphExec *exec, CUgraph graph, CUgraphNode *error, char *log, size_t bytes)
{
	CUgraphNode offender;
	CUresult result = instantiate_call(call, exec, graph, 0, 0, &offender);

	if (error)
		*error = offender;
	if (log && bytes)
		*log = 0;
	return result;
}

CUresult api_graph_instantiate_params(CALL, CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	CUresult result;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	result = instantiate_call(call, exec, graph, params->flags, plain_flags | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD,
				  &params->hErrNode_out);
	params->result_out = !result                ? CUDA_GRAPH_INSTANTIATE_SUCCESS
			     : params->hErrNode_out ? CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
						    : CUDA_GRAPH_INSTANTIATE_ERROR;
	if (!result && (params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD))
		result = api_graph_upload(call, *exec, params->hUploadStream);
	return result;
}

CUresult api_graph_exec_destroy(CALL, CUgraphExec exec)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	sim_lock();
	if (slab_holds(&exec_slab, exec)) {
		forget(exec);
		object_holds_free(&exec->graph->objects, exec->last);
		graph_free(exec->graph);
		op_unref(exec->last); /* a launch that still runs goes on */
		slab_give(&exec_slab, exec);
		result = CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}

CUresult api_graph_exec_flags(CALL, CUgraphExec exec, cuuint64_t *flags)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	sim_lock();
	if (flags && slab_holds(&exec_slab, exec)) {
		*flags = exec->flags;
		result = CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}

/* ---- single nodes ------------------------------------------------------------------------------------------ */

/* NULL: no such executable graph, no such node, or the node was not in it. */
static CUgraphNode find(CUgraphExec exec, CUgraphNode original)
{
	if (!slab_holds(&exec_slab, exec) || !node_valid(original))
		return NULL;
	return graph_find_copy(exec->graph, original);
}

static CUresult set_params(CUgraphExec exec, CUgraphNode original, const CUgraphNodeParams *params)
{
	CUgraphNode node = find(exec, original);
	CUresult result;

	if (!node || node->params.type != params->type)
		return CUDA_ERROR_INVALID_VALUE;
	if (graph_params_memory(params))
		return CUDA_ERROR_NOT_SUPPORTED;
	if (params->type == CU_GRAPH_NODE_TYPE_GRAPH)
		return graph_valid(params->graph.graph) ? graph_update_child(node, params->graph.graph)
							: CUDA_ERROR_INVALID_VALUE;
	result = graph_params_check(params);
	if (!result && !graph_params_may_become(&node->params, params))
		result = CUDA_ERROR_INVALID_VALUE;
	return result ? result : graph_params_replace(&node->params, params);
}

CUresult graph_exec_set(CUgraphExec exec, CUgraphNode original, const CUgraphNodeParams *params)
{
	CUresult result;

	sim_lock();
	result = set_params(exec, original, params);
	sim_unlock();
	return result;
}

CUresult api_graph_exec_set(CALL, CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params)
{
	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	return graph_exec_set(exec, node, params);
}

static bool can_be_disabled(const CUgraphNodeParams *params)
{
	return params->type == CU_GRAPH_NODE_TYPE_KERNEL || params->type == CU_GRAPH_NODE_TYPE_MEMCPY ||
	       params->type == CU_GRAPH_NODE_TYPE_MEMSET;
}

CUresult api_graph_set_enabled(CALL, CUgraphExec exec, CUgraphNode original, unsigned int enabled)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;
	CUgraphNode node;

	sim_lock();
	node = find(exec, original);
	if (node && can_be_disabled(&node->params)) {
		node->disabled = !enabled;
		result = CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}

CUresult api_graph_enabled(CALL, CUgraphExec exec, CUgraphNode original, unsigned int *enabled)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;
	CUgraphNode node;

	sim_lock();
	node = find(exec, original);
	if (enabled && node && can_be_disabled(&node->params)) {
		*enabled = !node->disabled;
		result = CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}
