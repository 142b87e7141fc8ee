/* SPDX-License-Identifier: BSD-2-Clause */
#include "gst_words.h"

#include <stdlib.h>

/* The structure that a line's first word names. */
static struct gst_graph *graph_named(struct parser *p)
{
	unsigned long id = p->n_words > 1 ? strtoul(p->words[1], NULL, 0) : 0;

	p->bad |= id == 0 || id >= GRAPHS;
	p->graphs[id % GRAPHS].graph = (uint32_t)id;
	return &p->graphs[id % GRAPHS];
}

void text_node(struct parser *p)
{
	static const char *const types[] = { "kernel", "copy", "memset", "host",        "child",
					     "empty",  "wait", "record", "signal",      "semaphore",
					     "alloc",  "free", "memop",  "conditional", NULL };
	struct gst_graph *g = graph_named(p);
	struct {
		struct gst_graph_list list;
		struct gst_graph_node node;
	} r = { .list = { .graph = g->graph, .count = 1 } };

	r.node.node = word_number(p, "handle", 0);
	r.node.parent = word_number(p, "parent", 0);
	r.node.arg = word_number(p, "event", word_number(p, "bytes", 0));
	r.node.type = (uint8_t)word_choice(p, word_value(p, "type"), types, 0);
	r.node.kind = (uint8_t)word_choice(p, word_value(p, "kind"), word_copy_kinds, GST_COPY_UNKNOWN);
	r.node.device = (uint8_t)(word_number(p, "device", UINT64_MAX) + 1);
	r.node.other = (uint8_t)(word_number(p, "other", UINT64_MAX) + 1);
	r.node.name = record_name(p, GST_SPACE_KERNEL, word_value(p, "kernel"));
	g->nodes++;
	g->described++;
	g->work += r.node.type <= 2;
	record_add(p, GST_GRAPH_NODES, &r, sizeof(r));
}

void text_depends(struct parser *p)
{
	struct gst_graph *g = graph_named(p);
	struct {
		struct gst_graph_list list;
		struct gst_graph_edge edge;
	} r = { .list = { .graph = g->graph, .count = 1 } };

	r.edge = (struct gst_graph_edge){ word_number(p, "from", 0), word_number(p, "to", 0) };
	g->edges++;
	record_add(p, GST_GRAPH_EDGES, &r, sizeof(r));
}

void text_structure(struct parser *p)
{
	struct gst_graph r = *graph_named(p);
	uint64_t begin;

	word_span(p, &begin, &r.end);
	r.base = (uint32_t)word_number(p, "base", 0);
	r.exec = word_number(p, "exec", 9);
	r.nodes = (uint32_t)word_number(p, "nodes", r.nodes);
	r.work = (uint32_t)word_number(p, "work", r.work);
	r.described = (uint32_t)word_number(p, "described", r.described);
	r.edges = (uint32_t)word_number(p, "edges", r.edges);
	r.flags = (uint16_t)((word_flag(p, "open") ? GST_GRAPH_OPEN : 0) | (word_flag(p, "same") ? GST_GRAPH_SAME : 0) |
			     (word_flag(p, "no-edges") ? GST_GRAPH_NO_EDGES : 0));
	record_add(p, GST_GRAPH, &r, sizeof(r));
}
