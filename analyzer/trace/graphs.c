/* SPDX-License-Identifier: BSD-2-Clause */
#include "graphs.h"

#include "graph_order.h"
#include "names.h"
#include "tools/alloc.h"
#include "trace.h"

#include <stdlib.h>
#include <string.h>

struct listed_node {
	uint32_t graph;
	size_t order;
	struct gst_graph_node node;
};

struct listed_edge {
	uint32_t graph;
	struct gst_graph_edge edge;
};

struct graphs {
	struct gst_graph *all;
	size_t n, cap;
	struct listed_node *nodes;
	size_t n_nodes, cap_nodes;
	struct listed_edge *edges;
	size_t n_edges, cap_edges;
	uint32_t *unsure; /* ids */
	size_t n_unsure, cap_unsure;
};

enum err_kind graphs_new(struct graphs **out, struct error *e)
{
	*out = calloc(1, sizeof(**out));
	return *out ? ERR_NONE : err_set(e, ERR_SYSTEM, "", ERR_NO_BYTE, "out of memory");
}

void graphs_free(struct graphs *g)
{
	if (!g)
		return;
	free(g->all);
	free(g->nodes);
	free(g->edges);
	free(g->unsure);
	free(g);
}

/* ---- collecting ------------------------------------------------------------------------------------- */

#define NOT_KEPT (SIZE_MAX / 2) /* behind all that was copied */

static bool add_nodes(struct graphs *g, const struct gst_graph_list *list, bool kept)
{
	const struct gst_graph_node *node = (const void *)(list + 1);

	for (uint32_t i = 0; i < list->count; i++) {
		if (!array_room(g->nodes, g->n_nodes, g->cap_nodes))
			return false;
		g->nodes[g->n_nodes] = (struct listed_node){ list->graph, g->n_nodes + (kept ? 0 : NOT_KEPT), node[i] };
		g->n_nodes++;
	}
	return true;
}

static bool add_edges(struct graphs *g, const struct gst_graph_list *list)
{
	const struct gst_graph_edge *edge = (const void *)(list + 1);

	for (uint32_t i = 0; i < list->count; i++) {
		if (!array_room(g->edges, g->n_edges, g->cap_edges))
			return false;
		g->edges[g->n_edges++] = (struct listed_edge){ list->graph, edge[i] };
	}
	return true;
}

bool graphs_add(struct graphs *g, const struct gst_record *r, bool kept)
{
	if (r->type == GST_GRAPH_NODES)
		return add_nodes(g, (const struct gst_graph_list *)r, kept);
	if (r->type == GST_GRAPH_EDGES)
		return add_edges(g, (const struct gst_graph_list *)r);
	if (!array_room(g->all, g->n, g->cap))
		return false;
	g->all[g->n++] = *(const struct gst_graph *)r;
	return true;
}

bool graphs_unsure(struct graphs *g, uint32_t id)
{
	if (!array_room(g->unsure, g->n_unsure, g->cap_unsure))
		return false;
	g->unsure[g->n_unsure++] = id;
	return true;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static bool is_unsure(const struct graphs *g, uint32_t id)
{
	return g->n_unsure && bsearch(&id, g->unsure, g->n_unsure, sizeof(id), by_number);
}

/* ---- one structure ------------------------------------------------------------------------------------ */

static int by_graph_node(const void *a, const void *b)
{
	const struct listed_node *x = a, *y = b;

	if (x->graph != y->graph)
		return x->graph < y->graph ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static int by_graph_edge(const void *a, const void *b)
{
	const struct listed_edge *x = a, *y = b;

	return (x->graph > y->graph) - (x->graph < y->graph);
}

static int by_id(const void *a, const void *b)
{
	const struct gst_graph *x = a, *y = b;

	return (x->graph > y->graph) - (x->graph < y->graph);
}

static bool node_before(const void *element, const void *key)
{
	return ((const struct listed_node *)element)->graph < *(const uint32_t *)key;
}

static bool edge_before(const void *element, const void *key)
{
	return ((const struct listed_edge *)element)->graph < *(const uint32_t *)key;
}

static bool id_before(const void *element, const void *key)
{
	return ((const struct graph *)element)->id < *(const uint32_t *)key;
}

/* Nothing but its number of operations is known, and perhaps not that. */
static struct graph unknown_graph(uint32_t id, uint32_t base, uint32_t work)
{
	return (struct graph){ .id = id, .base = base, .stalls = true, .anywhere = true, .work = work, .levels = 1 };
}

void graph_count(struct graph *g)
{
	g->work = 0;
	g->devices = 0;
	g->stalls = g->anywhere = g->open;
	for (size_t i = 0; i < g->n; i++) {
		const struct graph_node *n = &g->nodes[i];

		g->stalls |= graph_node_stalls(n);
		g->work += graph_node_works(n);
		if (n->type > NODE_MEMSET)
			continue; /* one that is switched off may be switched on */
		g->anywhere |= !n->device;
		if (n->device)
			g->devices |= graph_device_bit(n->device - 1u);
		if (n->other)
			g->devices |= graph_device_bit(n->other - 1u);
	}
}

uint32_t graph_work_on(const struct graph *g, uint32_t device, uint32_t home)
{
	uint32_t work = 0;

	if (!g->whole || !(g->devices & ~graph_device_bit(home)))
		return device == home ? g->work : 0;
	for (size_t i = 0; i < g->n; i++)
		work += graph_node_works(&g->nodes[i]) && graph_node_device(&g->nodes[i], home) == device;
	return work;
}

/* After an update the program goes on naming the nodes of the graph it instantiated first: the node at the same place stands for one. */
static void take_handles(struct graph *g, const struct graph *base)
{
	if (!base->whole || base->n != g->n)
		return;
	for (size_t i = 0; i < g->n; i++)
		if (base->nodes[i].type != g->nodes[i].type)
			return;
	for (size_t i = 0; i < g->n; i++) {
		g->nodes[i].node = base->nodes[i].node;
		g->nodes[i].parent = base->nodes[i].parent;
	}
}

/* A program may update a graph of thousands of nodes in each of its steps: the nodes stay where they are. */
static void fill_same(struct graph *g, struct graph *base)
{
	uint32_t id = g->id, index = g->base;

	base->shared = true;
	*g = *base;
	g->id = id;
	g->base = index;
	g->lent = true;
}

static bool known_device(const struct gst_graph_node *n)
{
	return n->device <= GRAPH_DEVICES && n->other <= GRAPH_DEVICES;
}

/* The nodes as listed, then in the order of their dependencies. */
static bool fill_nodes(struct graph *g, const struct graphs *from, const struct gst_graph *r, const struct names *names)
{
	size_t first = array_first(from->nodes, from->n_nodes, sizeof(*from->nodes), node_before, &r->graph);
	size_t edge = array_first(from->edges, from->n_edges, sizeof(*from->edges), edge_before, &r->graph);
	struct gst_graph_edge *edges = array_new(r->edges, sizeof(*edges));
	bool ok;

	g->nodes = array_new(r->described, sizeof(*g->nodes));
	if (!g->nodes || !edges) {
		free(edges);
		return false;
	}
	g->n = r->described;
	for (size_t i = 0; i < g->n; i++) {
		const struct gst_graph_node *n = &from->nodes[first + i].node;

		g->nodes[i] = (struct graph_node){ .node = n->node,
						   .parent = n->parent,
						   .arg = n->arg,
						   .name = n->name ? names_kernel(names, n->name) : 0,
						   .kind = n->kind,
						   .type = n->type,
						   .device = known_device(n) ? n->device : 0,
						   .other = known_device(n) ? n->other : 0 };
	}
	for (size_t i = 0; i < r->edges; i++)
		edges[i] = from->edges[edge + i].edge;
	ok = graph_order(g, edges, r->edges, !(r->flags & GST_GRAPH_NO_EDGES));
	free(edges);
	return ok;
}

static bool is_complete(const struct graphs *g, const struct gst_graph *r)
{
	size_t node = array_first(g->nodes, g->n_nodes, sizeof(*g->nodes), node_before, &r->graph);
	size_t edge = array_first(g->edges, g->n_edges, sizeof(*g->edges), edge_before, &r->graph);

	return g->n_nodes - node >= r->described && g->n_edges - edge >= r->edges &&
	       (!r->described || g->nodes[node + r->described - 1].graph == r->graph) &&
	       (!r->edges || g->edges[edge + r->edges - 1].graph == r->graph) && r->described <= r->nodes &&
	       r->work <= r->nodes;
}

static bool fill(struct graph *g, const struct graphs *from, const struct gst_graph *r, const struct trace *t,
		 const struct names *names)
{
	struct graph *base;

	*g = unknown_graph(r->graph, graphs_index(t, r->base), 1);
	base = &t->graphs[g->base];
	g->root = r->base ? base->root : r->graph;
	g->unsure = base->unsure || is_unsure(from, r->graph) || (r->base && !g->base);
	if (g->unsure)
		return true;
	if (r->flags & GST_GRAPH_SAME) {
		fill_same(g, base);
		return true;
	}
	if (!is_complete(from, r))
		return true;
	g->counted = true;
	g->open = r->flags & GST_GRAPH_OPEN;
	g->work = r->work;
	if (r->described < r->nodes)
		return true; /* counted, not described */
	g->whole = true;
	if (!fill_nodes(g, from, r, names))
		return false;
	take_handles(g, base);
	graph_count(g);
	return true;
}

uint32_t graphs_index(const struct trace *t, uint32_t id)
{
	size_t at = array_first(t->graphs, t->n_graphs, sizeof(*t->graphs), id_before, &id);

	return id && at < t->n_graphs && t->graphs[at].id == id ? (uint32_t)at : 0;
}

bool graphs_publish(struct graphs *g, struct trace *t, const struct names *names)
{
	bool ok = true;

	t->graphs = array_new(g->n + 1, sizeof(*t->graphs));
	if (!t->graphs)
		return false;
	t->graphs[t->n_graphs++] = unknown_graph(0, 0, 1);
	array_sort(g->all, g->n, sizeof(*g->all), by_id);
	array_sort(g->unsure, g->n_unsure, sizeof(*g->unsure), by_number);
	array_sort(g->nodes, g->n_nodes, sizeof(*g->nodes), by_graph_node);
	array_sort(g->edges, g->n_edges, sizeof(*g->edges), by_graph_edge);
	for (size_t i = 0; i < g->n && ok; i++) {
		/* a base has the smaller id, so it is there already */
		if (g->all[i].graph == t->graphs[t->n_graphs - 1].id)
			continue;
		ok = fill(&t->graphs[t->n_graphs], g, &g->all[i], t, names);
		t->n_graphs++; /* in any case: it may hold nodes that graphs_release is to free */
	}
	return ok;
}

void graphs_release(struct trace *t)
{
	for (size_t i = 0; i < t->n_graphs; i++)
		if (!t->graphs[i].lent)
			free(t->graphs[i].nodes);
	free(t->graphs);
}
