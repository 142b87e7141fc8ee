/* SPDX-License-Identifier: BSD-2-Clause */
/* graph_changes.c: an executable graph whose single nodes a program changes has a version for each set of them that was launched. */
#include "graphs.h"

#include "tools/alloc.h"
#include "trace.h"
#include "trace_rare.h"

#include <stdlib.h>
#include <string.h>

/* Nodes in versions made by changes. Beyond, changes of names and sizes are not followed, and what a graph runs after its nodes are
 * switched off or on is not known. */
#define COPIED_MAX (1u << 22)

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
	graph_count(g);
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
	/* where there are none, of which 0 stands for, no call is of one */
	for (size_t i = t->n_graphs > 1 ? trace_rare(t, 0) : t->n_calls; ok && i < t->n_calls;
	     i = trace_rare(t, i + 1)) {
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
