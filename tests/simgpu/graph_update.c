/* SPDX-License-Identifier: BSD-2-Clause */
/* graph_update.c: cuGraphExecUpdate. Nodes are paired in the order of their creation, dependencies in the order they were
 * given, as cuda.h asks of the client. Everything is checked before anything changes. */
#include "graph_update.h"

#include "call.h"
#include "graph.h"
#include "graph_attributes.h"
#include "graph_exec.h"
#include "graph_params.h"

static bool fail(CUgraphExecUpdateResultInfo *info, CUgraphExecUpdateResult result, CUgraphNode node, CUgraphNode from)
{
	*info = (CUgraphExecUpdateResultInfo){ .result = result, .errorNode = node, .errorFromNode = from };
	return false;
}

static unsigned exits(CUgraph graph, CUgraphNode *last)
{
	unsigned count = 0;

	*last = NULL;
	for (unsigned i = 0; i < graph->nodes.count; i++) {
		if (graph->nodes.nodes[i]->after.count)
			continue;
		*last = graph->nodes.nodes[i];
		count++;
	}
	return count;
}

/* waits holds a node's place in its graph. */
static bool same_edges(CUgraphNode old, CUgraphNode new, CUgraphExecUpdateResultInfo *info)
{
	if (old->before.count != new->before.count)
		return fail(info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, new, NULL);
	for (unsigned i = 0; i < new->before.count; i++)
		if (old->before.nodes[i]->waits != new->before.nodes[i]->waits)
			return fail(info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, new, new->before.nodes[i]);
	return true;
}

static CUdeviceptr address_of(const CUgraphNodeParams *params)
{
	return params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ? params->alloc.dptr : params->free.dptr;
}

static bool check_graph(CUgraph old, CUgraph new, bool node_priorities, CUgraphExecUpdateResultInfo *info);

static bool check_node(CUgraphNode old, CUgraphNode new, bool node_priorities, CUgraphExecUpdateResultInfo *info)
{
	if (old->params.type != new->params.type)
		return fail(info, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, new, NULL);
	if (new->params.type == CU_GRAPH_NODE_TYPE_GRAPH)
		return check_graph(old->params.graph.graph, new->params.graph.graph, node_priorities, info);
	if (graph_params_memory(&new->params) && address_of(&new->params) != address_of(&old->params))
		return fail(info, CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED, new, NULL);
	if (new->params.type == CU_GRAPH_NODE_TYPE_KERNEL && !attributes_may_become(old, new, node_priorities))
		return fail(info, CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED, new, NULL);
	if (graph_params_check(&new->params))
		return fail(info, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, new, NULL);
	if (graph_params_may_become(&old->params, &new->params))
		return true;
	return fail(info,
		    new->params.type == CU_GRAPH_NODE_TYPE_KERNEL
			    ? CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE
			    : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED,
		    new, NULL);
}

static bool check_graph(CUgraph old, CUgraph new, bool node_priorities, CUgraphExecUpdateResultInfo *info)
{
	CUgraphNode old_exit, new_exit;

	if (old->nodes.count != new->nodes.count)
		return fail(info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, NULL, NULL);
	if (exits(new, &new_exit) > exits(old, &old_exit))
		return fail(info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, new_exit, NULL);
	for (unsigned i = 0; i < new->nodes.count; i++)
		old->nodes.nodes[i]->waits = new->nodes.nodes[i]->waits = i;
	for (unsigned i = 0; i < new->nodes.count; i++)
		if (!same_edges(old->nodes.nodes[i], new->nodes.nodes[i], info))
			return false;
	for (unsigned i = 0; i < new->nodes.count; i++)
		if (!check_node(old->nodes.nodes[i], new->nodes.nodes[i], node_priorities, info))
			return false;
	return true;
}

/* An executable node keeps its place, its edges and whether it is enabled. */
static CUresult apply(CUgraph old, CUgraph new)
{
	CUresult result = CUDA_SUCCESS;

	for (unsigned i = 0; i < new->nodes.count && !result; i++) {
		CUgraphNodeParams *to = &old->nodes.nodes[i]->params;
		const CUgraphNodeParams *from = &new->nodes.nodes[i]->params;

		if (from->type == CU_GRAPH_NODE_TYPE_GRAPH)
			result = apply(to->graph.graph, from->graph.graph);
		else
			result = graph_params_replace(to, from);
		if (!result && !attributes_copy(old->nodes.nodes[i], new->nodes.nodes[i]))
			result = CUDA_ERROR_OUT_OF_MEMORY;
	}
	return result;
}

CUresult graph_update_child(CUgraphNode node, CUgraph graph)
{
	CUgraphExecUpdateResultInfo info;

	if (!check_graph(node->params.graph.graph, graph, false, &info))
		return CUDA_ERROR_INVALID_VALUE;
	return apply(node->params.graph.graph, graph);
}

static CUresult update(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
	*info = (CUgraphExecUpdateResultInfo){ .result = CU_GRAPH_EXEC_UPDATE_ERROR };
	if (!slab_holds(&exec_slab, exec) || !graph_valid(graph))
		return CUDA_ERROR_INVALID_VALUE;
	if (!check_graph(exec->graph, graph, exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY, info))
		return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	*info = (CUgraphExecUpdateResultInfo){ .result = CU_GRAPH_EXEC_UPDATE_SUCCESS };
	return apply(exec->graph, graph);
}

CUresult api_graph_exec_update_info(CALL, CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
	CUresult result;

	if (!info)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	result = update(exec, graph, info);
	sim_unlock();
	return result;
}

CUresult api_graph_exec_update(CALL, CUgraphExec exec, CUgraph graph, CUgraphNode *error, CUgraphExecUpdateResult *why)
{
	CUgraphExecUpdateResultInfo info;
	CUresult result;

	if (!why)
		return CUDA_ERROR_INVALID_VALUE;
	result = api_graph_exec_update_info(call, exec, graph, &info);
	*why = info.result;
	if (error)
		*error = info.errorNode;
	return result;
}
