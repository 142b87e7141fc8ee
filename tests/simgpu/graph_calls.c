/* SPDX-License-Identifier: BSD-2-Clause */
/* graph_calls.c: graphs and their edges: creating, asking, connecting, copying, destroying. A handle that is none is
 * CUDA_ERROR_INVALID_VALUE, as cuda.h documents for graphs. */
#include "call.h"
#include "graph.h"

CUresult api_graph_create(CALL, CUgraph *graph, unsigned int flags)
{
	if (!graph || flags)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	*graph = graph_new();
	sim_unlock();
	return *graph ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* An embedded graph belongs to its node, one that is captured into to the capture. */
CUresult api_graph_destroy(CALL, CUgraph graph)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	sim_lock();
	if (graph_valid(graph) && graph->capturing) {
		result = CUDA_ERROR_ILLEGAL_STATE;
	} else if (graph_valid(graph) && !graph->owner) {
		graph_free(graph);
		result = CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}

CUresult api_graph_destroy_node(CALL, CUgraphNode node)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	sim_lock();
	if (node_valid(node) && node->graph->capturing) {
		result = CUDA_ERROR_ILLEGAL_STATE;
	} else if (node_valid(node) && graph_has_memory(node->graph)) {
		result = CUDA_ERROR_NOT_SUPPORTED;
	} else if (node_valid(node)) {
		graph_remove(node);
		result = CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}

CUresult api_graph_clone(CALL, CUgraph *clone, CUgraph graph)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	if (!clone)
		return result;
	sim_lock();
	if (graph_valid(graph) && graph_has_memory(graph)) {
		result = CUDA_ERROR_NOT_SUPPORTED;
	} else if (graph_valid(graph)) {
		*clone = graph_copy(graph, false);
		result = *clone ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	sim_unlock();
	return result;
}

CUresult api_graph_find_in_clone(CALL, CUgraphNode *found, CUgraphNode original, CUgraph clone)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	if (!found)
		return result;
	sim_lock();
	if (node_valid(original) && graph_valid(clone) && clone->origin == original->graph->serial) {
		*found = graph_find_copy(clone, original);
		result = *found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	}
	sim_unlock();
	return result;
}

CUresult api_graph_node_type(CALL, CUgraphNode node, CUgraphNodeType *type)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	sim_lock();
	if (type && node_valid(node)) {
		*type = node->params.type;
		result = CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}

/* ---- lists: *count is the room, then how many there were; NULL asks for the number alone --------------------- */

static void give(CUgraphNode *to, size_t room, size_t at, CUgraphNode node)
{
	if (to && at < room)
		to[at] = node;
}

static void give_end(CUgraphNode *to, CUgraphEdgeData *data, size_t *count, size_t found)
{
	for (size_t i = found; to && i < *count; i++)
		to[i] = NULL;
	for (size_t i = 0; data && i < *count; i++)
		data[i] = (CUgraphEdgeData){ 0 };
	if (!to || found < *count)
		*count = found;
}

static void give_list(const struct node_list *list, CUgraphNode *to, CUgraphEdgeData *data, size_t *count)
{
	for (size_t i = 0; i < list->count; i++)
		give(to, *count, i, list->nodes[i]);
	give_end(to, data, count, list->count);
}

CUresult api_graph_nodes(CALL, CUgraph graph, CUgraphNode *nodes, size_t *count)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	sim_lock();
	if (count && graph_valid(graph)) {
		give_list(&graph->nodes, nodes, NULL, count);
		result = CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}

CUresult api_graph_root_nodes(CALL, CUgraph graph, CUgraphNode *nodes, size_t *count)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;
	size_t found = 0;

	sim_lock();
	if (count && graph_valid(graph)) {
		for (unsigned i = 0; i < graph->nodes.count; i++)
			if (!graph->nodes.nodes[i]->before.count)
				give(nodes, *count, found++, graph->nodes.nodes[i]);
		give_end(nodes, NULL, count, found);
		result = CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}

CUresult api_graph_edges_data(CALL, CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data,
			      size_t *count)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;
	size_t found = 0, room;

	sim_lock();
	if (count && graph_valid(graph) && !from == !to && !(data && !from)) {
		room = *count;
		for (unsigned i = 0; i < graph->nodes.count; i++) {
			CUgraphNode node = graph->nodes.nodes[i];

			for (unsigned k = 0; k < node->after.count; k++, found++) {
				give(from, room, found, node);
				give(to, room, found, node->after.nodes[k]);
			}
		}
		give_end(from, NULL, &room, found);
		give_end(to, data, count, found);
		result = CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}

CUresult api_graph_edges(CALL, CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
	return api_graph_edges_data(call, graph, from, to, NULL, count);
}

CUresult api_graph_before_data(CALL, CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *data, size_t *count)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	sim_lock();
	if (count && node_valid(node) && !(data && !nodes)) {
		give_list(&node->before, nodes, data, count);
		result = CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}

CUresult api_graph_before(CALL, CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
	return api_graph_before_data(call, node, nodes, NULL, count);
}

CUresult api_graph_after_data(CALL, CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *data, size_t *count)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	sim_lock();
	if (count && node_valid(node) && !(data && !nodes)) {
		give_list(&node->after, nodes, data, count);
		result = CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}

CUresult api_graph_after(CALL, CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
	return api_graph_after_data(call, node, nodes, NULL, count);
}

/* ---- edges ------------------------------------------------------------------------------------------------- */

static CUresult check_edges(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *data,
			    size_t count, bool exist)
{
	if (!graph_valid(graph) || (count && (!from || !to)))
		return CUDA_ERROR_INVALID_VALUE;
	if (!graph_edges_plain(data, count))
		return CUDA_ERROR_NOT_SUPPORTED;
	for (size_t i = 0; i < count; i++) {
		if (!node_valid(from[i]) || !node_valid(to[i]) || from[i]->graph != graph || to[i]->graph != graph)
			return CUDA_ERROR_INVALID_VALUE;
		if (from[i] == to[i] || node_list_has(&from[i]->after, to[i]) != exist)
			return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult api_graph_add_edges_data(CALL, CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
				  const CUgraphEdgeData *data, size_t count)
{
	CUresult result;

	sim_lock();
	result = check_edges(graph, from, to, data, count, false);
	for (size_t i = 0; i < count && !result; i++)
		if (!node_list_has(&from[i]->after, to[i]) && !graph_connect(from[i], to[i]))
			result = CUDA_ERROR_OUT_OF_MEMORY;
	sim_unlock();
	return result;
}

CUresult api_graph_add_edges(CALL, CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
	return api_graph_add_edges_data(call, graph, from, to, NULL, count);
}

CUresult api_graph_remove_edges_data(CALL, CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
				     const CUgraphEdgeData *data, size_t count)
{
	CUresult result;

	sim_lock();
	result = check_edges(graph, from, to, data, count, true);
	if (!result && count && graph_has_memory(graph))
		result = CUDA_ERROR_NOT_SUPPORTED;
	for (size_t i = 0; i < count && !result; i++)
		graph_disconnect(from[i], to[i]);
	sim_unlock();
	return result;
}

CUresult api_graph_remove_edges(CALL, CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
	return api_graph_remove_edges_data(call, graph, from, to, NULL, count);
}
