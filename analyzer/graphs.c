/* SPDX-License-Identifier: BSD-2-Clause */
#include "graphs.h"

#include "alloc.h"
#include "graph_order.h"
#include "names.h"
#include "trace.h"

#include <stdlib.h>
#include <string.h>

/* Nodes in versions made by changes. Beyond, changes of names and sizes are not followed, and what a graph runs after its nodes are
 * switched off or on is not known. */
#define COPIED_MAX (1u << 22)

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

static bool node_stalls(const struct graph_node *n)
{
	return n->type == NODE_HOST || n->type == NODE_WAIT_EVENT || n->type == NODE_SEMAPHORE_WAIT ||
	       n->type >= NODE_MEM_OP;
}

static void count(struct graph *g)
{
	g->work = 0;
	g->devices = 0;
	g->stalls = g->anywhere = g->open;
	for (size_t i = 0; i < g->n; i++) {
		const struct graph_node *n = &g->nodes[i];

		g->stalls |= node_stalls(n);
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

static bool copy_nodes(struct graph *g, const struct graph *from)
{
	g->nodes = array_new(from->n, sizeof(*g->nodes));
	if (!g->nodes)
		return false;
	if (from->n)
		memcpy(g->nodes, from->nodes, from->n * sizeof(*g->nodes));
	g->n = from->n;
	return true;
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
	count(g);
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

/* ---- changes of single nodes ---------------------------------------------------------------------------- */

struct state {
	uint32_t now; /* version in force */
	bool ran;     /* a launch runs it, or another structure has it too: a change makes a new one */
	size_t next;  /* node behind the one changed last: programs change one after the other */
};

struct apply {
	struct trace *t;
	struct state *states; /* by structure */
	size_t cap, copied;
	size_t begun; /* structures that took over what was switched off in their base */
};

/* A version of its own for the state, if the one in force has run or has nodes in common with others. False: no memory. */
static bool own_version(struct apply *a, struct state *s)
{
	struct trace *t = a->t;
	struct graph g = t->graphs[s->now];

	if (!s->ran && !g.shared && !g.lent)
		return true;
	if (!copy_nodes(&g, &t->graphs[s->now]))
		return false;
	if (!array_room(t->graphs, t->n_graphs, a->cap)) {
		free(g.nodes);
		return false;
	}
	g.shared = g.lent = false;
	a->copied += g.n;
	s->now = (uint32_t)t->n_graphs;
	s->ran = false;
	t->graphs[t->n_graphs++] = g;
	return true;
}

/* From here on nobody knows what its launches run. */
static void lose_track(struct state *s)
{
	s->now = 0;
}

static bool same_off(const struct graph *g, const struct graph *base)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->nodes[i].off != (base->nodes[i].off && base->nodes[i].node == g->nodes[i].node))
			return false;
	return true;
}

/* Nodes that were switched off stay so through an update. */
static bool begin_structure(struct apply *a, size_t index)
{
	struct state *s = &a->states[index], *before = &a->states[a->t->graphs[index].base];
	const struct graph *base = &a->t->graphs[before->now];
	struct graph *g = &a->t->graphs[index];

	if (g->lent) { /* all is as it was */
		s->now = before->now;
		s->ran = before->ran = true;
		return true;
	}
	if (!g->base || !g->whole || base->n != g->n || same_off(g, base))
		return true;
	if (a->copied + g->n > COPIED_MAX) {
		lose_track(s);
		return true;
	}
	if (!own_version(a, s))
		return false;
	g = &a->t->graphs[s->now];
	base = &a->t->graphs[before->now];
	for (size_t i = 0; i < g->n; i++)
		g->nodes[i].off = base->nodes[i].off && base->nodes[i].node == g->nodes[i].node;
	count(g);
	return true;
}

/* And all made before it: any of them may be its base, launched or not. */
static bool begin_up_to(struct apply *a, size_t index)
{
	bool ok = true;

	for (; ok && a->begun <= index; a->begun++)
		ok = begin_structure(a, a->begun);
	return ok;
}

static bool changes(const struct graph_node *n, const struct call *c)
{
	if (c->detail == GST_CHANGE_OFF || c->detail == GST_CHANGE_ON)
		return n->off != (c->detail == GST_CHANGE_OFF);
	return n->arg != c->args[1] || (n->type == NODE_KERNEL && n->name != c->name) ||
	       (n->type == NODE_COPY && n->kind != c->detail);
}

static void change_node(struct graph *g, struct graph_node *n, const struct call *c)
{
	if (c->detail == GST_CHANGE_OFF || c->detail == GST_CHANGE_ON) {
		g->work -= graph_node_works(n);
		n->off = c->detail == GST_CHANGE_OFF;
		g->work += graph_node_works(n);
		return;
	}
	n->arg = c->args[1];
	if (n->type == NODE_KERNEL)
		n->name = c->name;
	if (n->type == NODE_COPY)
		n->kind = c->detail;
}

/* Index of the node, n where there is none. */
static size_t find_node(const struct graph *g, uint64_t node, size_t from)
{
	for (size_t i = 0; i < g->n; i++) {
		size_t at = from + i < g->n ? from + i : from + i - g->n;

		if (g->nodes[at].node == node)
			return at;
	}
	return g->n;
}

static bool apply_change(struct apply *a, const struct call *c)
{
	struct state *s = &a->states[c->graph];
	struct graph *g;
	size_t i;

	if (!begin_up_to(a, c->graph))
		return false;
	g = &a->t->graphs[s->now];
	i = find_node(g, c->args[0], s->next < g->n ? s->next : 0);
	s->next = i + 1;
	if (i == g->n || !changes(&g->nodes[i], c))
		return true;
	if (a->copied + g->n > COPIED_MAX && (c->detail == GST_CHANGE_OFF || c->detail == GST_CHANGE_ON)) {
		lose_track(s);
		return true;
	}
	if (a->copied + g->n > COPIED_MAX)
		return true;
	if (!own_version(a, s))
		return false;
	g = &a->t->graphs[s->now];
	change_node(g, &g->nodes[i], c);
	return true;
}

bool graphs_apply(struct trace *t)
{
	struct apply a = {
		.t = t, .states = array_new(t->n_graphs, sizeof(*a.states)), .cap = t->n_graphs, .begun = 1
	};
	bool ok = a.states != NULL;

	for (size_t i = 0; ok && i < t->n_graphs; i++)
		a.states[i] = (struct state){ .now = (uint32_t)i };
	for (size_t i = 0; ok && i < t->n_calls; i++) {
		struct call *c = &t->calls[i];

		if (!c->graph || c->result != 0)
			continue;
		if (c->family == GST_FAMILY_GRAPH_CHANGE) {
			ok = apply_change(&a, c);
		} else {
			ok = begin_up_to(&a, c->graph);
			a.states[c->graph].ran = true;
			c->graph = a.states[c->graph].now;
		}
	}
	free(a.states);
	return ok;
}
