/* SPDX-License-Identifier: BSD-2-Clause */
/* graph.c: nodes, edges and lists of them. */
#include "graph.h"

#include "graph_params.h"
#include "user_object.h"

#include <stdlib.h>
#include <string.h>

struct slab graph_slab = SLAB(struct CUgraph_st, 1 << 16);
struct slab node_slab = SLAB(struct CUgraphNode_st, 1 << 20);

static uint64_t last_serial;

bool node_list_has(const struct node_list *list, CUgraphNode node)
{
	for (unsigned i = 0; i < list->count; i++)
		if (list->nodes[i] == node)
			return true;
	return false;
}

bool node_list_push(struct node_list *list, CUgraphNode node)
{
	if (list->count == list->room) {
		unsigned room = list->room ? list->room * 2 : 4;
		CUgraphNode *nodes = realloc(list->nodes, room * sizeof(CUgraphNode));

		if (!nodes)
			return false;
		list->nodes = nodes;
		list->room = room;
	}
	list->nodes[list->count++] = node;
	return true;
}

bool node_list_add(struct node_list *list, CUgraphNode node)
{
	return node_list_has(list, node) || node_list_push(list, node);
}

bool node_list_add_all(struct node_list *list, const struct node_list *more)
{
	for (unsigned i = 0; i < more->count; i++)
		if (!node_list_add(list, more->nodes[i]))
			return false;
	return true;
}

void node_list_remove(struct node_list *list, CUgraphNode node)
{
	for (unsigned i = 0; i < list->count; i++) {
		if (list->nodes[i] != node)
			continue;
		memmove(&list->nodes[i], &list->nodes[i + 1], (list->count - i - 1) * sizeof(CUgraphNode));
		list->count--;
		return;
	}
}

void node_list_clear(struct node_list *list)
{
	free(list->nodes);
	*list = (struct node_list){ 0 };
}

struct CUgraph_st *graph_new(void)
{
	struct CUgraph_st *graph = slab_take(&graph_slab);

	if (graph)
		graph->serial = ++last_serial;
	return graph;
}

static void node_free(CUgraphNode node)
{
	graph_params_free(&node->params);
	free(node->attributes);
	node_list_clear(&node->before);
	node_list_clear(&node->after);
	slab_give(&node_slab, node);
}

void graph_free(struct CUgraph_st *graph)
{
	for (unsigned i = 0; i < graph->nodes.count; i++)
		node_free(graph->nodes.nodes[i]);
	node_list_clear(&graph->nodes);
	node_list_clear(&graph->order);
	object_holds_free(&graph->objects, NULL);
	slab_give(&graph_slab, graph);
}

bool graph_valid(CUgraph graph)
{
	return slab_holds(&graph_slab, graph) && !graph->executable;
}

bool node_valid(CUgraphNode node)
{
	return slab_holds(&node_slab, node) && !node->graph->executable;
}

bool graph_edges_plain(const CUgraphEdgeData *data, size_t count)
{
	const CUgraphEdgeData plain = { 0 };

	for (size_t i = 0; data && i < count; i++)
		if (memcmp(&data[i], &plain, sizeof(plain)) != 0)
			return false;
	return true;
}

const CUgraphEdgeData *graph_plain_edges(size_t count)
{
	static CUgraphEdgeData *edges;
	static size_t room;

	if (count > room) {
		CUgraphEdgeData *grown = calloc(count, sizeof(*grown));

		if (!grown)
			return NULL;
		free(edges);
		edges = grown;
		room = count;
	}
	return edges;
}

CUresult graph_take_list(CUgraph graph, const CUgraphNode *nodes, const CUgraphEdgeData *data, size_t count,
			 struct node_list *list)
{
	if (count && !nodes)
		return CUDA_ERROR_INVALID_VALUE;
	if (!graph_edges_plain(data, count))
		return CUDA_ERROR_NOT_SUPPORTED;
	for (size_t i = 0; i < count; i++) {
		CUresult result = CUDA_SUCCESS;

		if (!node_valid(nodes[i]) || nodes[i]->graph != graph || node_list_has(list, nodes[i]))
			result = CUDA_ERROR_INVALID_VALUE;
		else if (!node_list_push(list, nodes[i]))
			result = CUDA_ERROR_OUT_OF_MEMORY;
		if (!result)
			continue;
		node_list_clear(list);
		return result;
	}
	return CUDA_SUCCESS;
}

bool graph_connect(CUgraphNode from, CUgraphNode to)
{
	if (!node_list_push(&from->after, to))
		return false;
	if (node_list_push(&to->before, from))
		return true;
	from->after.count--;
	return false;
}

void graph_disconnect(CUgraphNode from, CUgraphNode to)
{
	node_list_remove(&from->after, to);
	node_list_remove(&to->before, from);
}

void graph_remove(CUgraphNode node)
{
	for (unsigned i = 0; i < node->before.count; i++)
		node_list_remove(&node->before.nodes[i]->after, node);
	for (unsigned i = 0; i < node->after.count; i++)
		node_list_remove(&node->after.nodes[i]->before, node);
	node_list_remove(&node->graph->nodes, node);
	node_free(node);
}

CUresult graph_add(CUgraph graph, const struct node_list *before, const CUgraphNodeParams *params, CUgraphNode *node)
{
	CUgraphNode made = slab_take(&node_slab);

	if (!made)
		return CUDA_ERROR_OUT_OF_MEMORY;
	made->graph = graph;
	made->serial = ++last_serial;
	if (!graph_params_copy(&made->params, params) || !node_list_push(&graph->nodes, made)) {
		node_free(made);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (made->params.type == CU_GRAPH_NODE_TYPE_GRAPH)
		made->params.graph.graph->owner = made;
	for (unsigned i = 0; i < before->count; i++) {
		if (graph_connect(before->nodes[i], made))
			continue;
		graph_remove(made);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*node = made;
	return CUDA_SUCCESS;
}

bool graph_has_memory(CUgraph graph)
{
	for (unsigned i = 0; i < graph->nodes.count; i++)
		if (graph_params_memory(&graph->nodes.nodes[i]->params))
			return true;
	return false;
}

bool graph_mark_before(CUgraph graph, const struct node_list *last)
{
	struct node_list todo = { 0 };
	bool complete = true;

	for (unsigned i = 0; i < graph->nodes.count; i++)
		graph->nodes.nodes[i]->marked = false;
	for (unsigned i = 0; i < last->count; i++) {
		last->nodes[i]->marked = true;
		complete = complete && node_list_push(&todo, last->nodes[i]);
	}
	while (todo.count) {
		const struct node_list *before = &todo.nodes[--todo.count]->before;

		for (unsigned i = 0; i < before->count; i++) {
			if (before->nodes[i]->marked)
				continue;
			before->nodes[i]->marked = true;
			complete = complete && node_list_push(&todo, before->nodes[i]);
		}
	}
	node_list_clear(&todo);
	return complete;
}
