/* SPDX-License-Identifier: BSD-2-Clause */
/* graph_copy.c: a graph once more, which node became which, and the order its nodes can run in. */
#include "graph.h"

#include "graph_attributes.h"
#include "user_object.h"

/* The copies stand in the same order as the nodes: waits holds a node's place meanwhile. */
static bool copy_edges(CUgraph from, CUgraph to)
{
	for (unsigned i = 0; i < from->nodes.count; i++)
		from->nodes.nodes[i]->waits = i;
	for (unsigned i = 0; i < from->nodes.count; i++) {
		const struct node_list *before = &from->nodes.nodes[i]->before;

		for (unsigned k = 0; k < before->count; k++)
			if (!graph_connect(to->nodes.nodes[before->nodes[k]->waits], to->nodes.nodes[i]))
				return false;
	}
	return true;
}

static void set_executable(CUgraph graph)
{
	graph->executable = true;
	for (unsigned i = 0; i < graph->nodes.count; i++)
		if (graph->nodes.nodes[i]->params.type == CU_GRAPH_NODE_TYPE_GRAPH)
			set_executable(graph->nodes.nodes[i]->params.graph.graph);
}

struct CUgraph_st *graph_copy(CUgraph graph, bool executable)
{
	const struct node_list none = { 0 };
	struct CUgraph_st *copy = graph_new();

	if (!copy)
		return NULL;
	copy->origin = graph->serial;
	for (unsigned i = 0; i < graph->nodes.count; i++) {
		CUgraphNode made, node = graph->nodes.nodes[i];

		if (graph_add(copy, &none, &node->params, &made))
			goto out_of_memory;
		made->origin = node->serial;
		if (!attributes_copy(made, node))
			goto out_of_memory;
	}
	if (!copy_edges(graph, copy) || !object_holds_copy(&copy->objects, graph->objects))
		goto out_of_memory;
	if (executable)
		set_executable(copy);
	return copy;
out_of_memory:
	graph_free(copy);
	return NULL;
}

CUgraphNode graph_find_copy(CUgraph graph, CUgraphNode original)
{
	for (unsigned i = 0; i < graph->nodes.count; i++) {
		CUgraphNode node = graph->nodes.nodes[i], inner;

		if (node->origin == original->serial)
			return node;
		if (node->params.type != CU_GRAPH_NODE_TYPE_GRAPH)
			continue;
		inner = graph_find_copy(node->params.graph.graph, original);
		if (inner)
			return inner;
	}
	return NULL;
}

bool graph_order(CUgraph graph, struct node_list *order, CUgraphNode *offender)
{
	*offender = NULL;
	for (unsigned i = 0; i < graph->nodes.count; i++) {
		CUgraphNode node = graph->nodes.nodes[i];

		node->waits = node->before.count;
		if (!node->waits && !node_list_push(order, node))
			return false;
	}
	for (unsigned done = 0; done < order->count; done++) {
		const struct node_list *after = &order->nodes[done]->after;

		for (unsigned i = 0; i < after->count; i++)
			if (--after->nodes[i]->waits == 0 && !node_list_push(order, after->nodes[i]))
				return false;
	}
	for (unsigned i = 0; i < graph->nodes.count && !*offender; i++)
		if (graph->nodes.nodes[i]->waits)
			*offender = graph->nodes.nodes[i];
	return !*offender;
}
