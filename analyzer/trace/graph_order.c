/* SPDX-License-Identifier: BSD-2-Clause */
/* A child graph node is two points, its begin and its end, and all nodes inside lie between them; any other node is one point. Points
 * become free as those before them are done (Kahn, "Topological sorting of large networks", 1962), the earliest listed first. On the way each point
 * learns what it stands behind: the last node before it that does something. */
#include "graph_order.h"

#include "tools/alloc.h"

#include <stdlib.h>
#include <string.h>

struct place {
	uint64_t node;
	uint32_t index;
};

struct arc {
	uint32_t from, to; /* points: node i begins at 2i and ends at 2i + 1 */
};

struct order {
	struct graph *g;
	struct place *places; /* by handle */
	struct arc *arcs;     /* by from */
	size_t n_arcs;
	uint32_t *waits_for; /* by point: arcs into it from points not yet done */
	uint32_t *level;     /* by point: nodes on the longest way to it, its own included */
	uint32_t *behind;    /* by point: as in graph_node, of what becomes free with it */
	uint32_t *queue;
	struct graph_node *sorted;
};

static int by_node(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static bool node_before(const void *element, const void *key)
{
	return ((const struct place *)element)->node < *(const uint64_t *)key;
}

static int by_from(const void *a, const void *b)
{
	const struct arc *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

static bool arc_before(const void *element, const void *key)
{
	return ((const struct arc *)element)->from < *(const uint32_t *)key;
}

static uint32_t find(const struct order *o, uint64_t node)
{
	size_t at = array_first(o->places, o->g->n, sizeof(*o->places), node_before, &node);

	return at < o->g->n && o->places[at].node == node ? o->places[at].index : GST_NONE;
}

static void add_arc(struct order *o, uint32_t from, uint32_t to)
{
	o->arcs[o->n_arcs++] = (struct arc){ from, to };
	o->waits_for[to]++;
}

static void connect(struct order *o, const struct gst_graph_edge *edges, size_t n_edges)
{
	for (uint32_t i = 0; i < o->g->n; i++) {
		uint32_t parent = o->g->nodes[i].parent ? find(o, o->g->nodes[i].parent) : GST_NONE;

		add_arc(o, 2 * i, 2 * i + 1);
		if (parent == GST_NONE)
			continue;
		add_arc(o, 2 * parent, 2 * i);
		add_arc(o, 2 * i + 1, 2 * parent + 1);
	}
	for (size_t i = 0; i < n_edges; i++) {
		uint32_t from = find(o, edges[i].from), to = find(o, edges[i].to);

		if (from != GST_NONE && to != GST_NONE)
			add_arc(o, 2 * from + 1, 2 * to);
	}
	array_sort(o->arcs, o->n_arcs, sizeof(*o->arcs), by_from);
}

/* Counts a node where it begins; a child graph node is no work of its own. */
static uint32_t step(const struct order *o, uint32_t point)
{
	return point % 2 == 0 && o->g->nodes[point / 2].type != NODE_CHILD;
}

/* Of two that a point stands behind: one that may stand still, for work shows when it was over; else the later one. */
static uint32_t later_of(const struct order *o, uint32_t a, uint32_t b)
{
	bool stalls_a = a && graph_node_stalls(&o->sorted[a - 1]), stalls_b = b && graph_node_stalls(&o->sorted[b - 1]);

	if (stalls_a != stalls_b)
		return stalls_a ? a : b;
	return a > b ? a : b;
}

/* What stands behind this point stands behind what it does itself, or else behind what it stood behind. place: of its node + 1. */
static void hand_on(struct order *o, uint32_t point, uint32_t place)
{
	const struct graph_node *n = &o->sorted[place - 1];

	if (n->type != NODE_CHILD && (graph_node_works(n) || graph_node_stalls(n)))
		o->behind[point] = place;
}

/* Returns how many nodes have begun: all, or the dependencies go round in a circle. */
static size_t sort(struct order *o)
{
	size_t n = 0, first = 0, last = 0;

	for (uint32_t p = 0; p < 2 * o->g->n; p++)
		if (!o->waits_for[p])
			o->queue[last++] = p;
	while (first < last) {
		uint32_t p = o->queue[first++];
		uint32_t level = o->level[p] += step(o, p);
		size_t i = array_first(o->arcs, o->n_arcs, sizeof(*o->arcs), arc_before, &p);

		if (p % 2 == 0) {
			o->sorted[n] = o->g->nodes[p / 2];
			o->sorted[n++].behind = o->behind[p];
			hand_on(o, p, (uint32_t)n);
		}
		if (level > o->g->levels)
			o->g->levels = level;
		if (i == o->n_arcs || o->arcs[i].from != p)
			o->g->last = later_of(o, o->g->last, o->behind[p]);
		for (; i < o->n_arcs && o->arcs[i].from == p; i++) {
			uint32_t to = o->arcs[i].to;

			if (o->level[to] < level)
				o->level[to] = level;
			o->behind[to] = later_of(o, o->behind[to], o->behind[p]);
			if (--o->waits_for[to] == 0)
				o->queue[last++] = to;
		}
	}
	return n;
}

static bool make_room(struct order *o, size_t n_edges)
{
	size_t n = o->g->n;

	o->places = array_new(n, sizeof(*o->places));
	o->arcs = array_new(3 * n + n_edges, sizeof(*o->arcs));
	o->waits_for = array_new(2 * n, sizeof(*o->waits_for));
	o->level = array_new(2 * n, sizeof(*o->level));
	o->behind = array_new(2 * n, sizeof(*o->behind));
	o->queue = array_new(2 * n, sizeof(*o->queue));
	o->sorted = array_new(n, sizeof(*o->sorted));
	return o->places && o->arcs && o->waits_for && o->level && o->behind && o->queue && o->sorted;
}

bool graph_order(struct graph *g, const struct gst_graph_edge *edges, size_t n_edges, bool known)
{
	struct order o = { .g = g };
	bool ok = make_room(&o, n_edges);

	g->levels = g->last = 0;
	for (uint32_t i = 0; ok && i < g->n; i++)
		o.places[i] = (struct place){ g->nodes[i].node, i };
	if (ok && known) {
		array_sort(o.places, g->n, sizeof(*o.places), by_node);
		connect(&o, edges, n_edges);
		known = sort(&o) == g->n;
		if (known && g->n)
			memcpy(g->nodes, o.sorted, g->n * sizeof(*g->nodes));
	}
	if (!known) {
		g->levels = (uint32_t)g->n;
		g->last = 0;
	}
	free(o.places);
	free(o.arcs);
	free(o.waits_for);
	free(o.level);
	free(o.behind);
	free(o.queue);
	free(o.sorted);
	return ok;
}
