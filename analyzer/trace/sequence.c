/* SPDX-License-Identifier: BSD-2-Clause */
#include "sequence.h"

#include "tools/alloc.h"
#include "trace_rare.h"

#include <math.h>
#include <stdlib.h>

/* Of a trace whose beginning is gone: numbers may have gone round already, and the first one seen need not be the lowest. */
#define LATER (1ull << 32)

#define LINK_MS \
	4200.0f /* bases are renewed before; at a larger distance a float of milliseconds has steps of 0.5 us and more */

/* The number nearest to *last whose low 32 bits are `low`. 0 stays 0: "not known". */
static uint64_t unwrap(uint64_t *last, uint64_t low)
{
	int64_t step = (int32_t)((uint32_t)low - (uint32_t)*last);

	if (low == 0)
		return 0;
	if (*last == LATER) /* the first one seen: others may stand before it */
		step = (int64_t)low;
	if (step < 0 && (uint64_t)-step > *last)
		*last = low;
	else
		*last += (uint64_t)step;
	return *last;
}

enum err_kind sequence_unwrap(struct trace *t, struct error *e)
{
	uint64_t *last = array_new(t->n_streams, sizeof(*last)); /* per stream */
	size_t edge = 0, poll = 0;

	if (!last)
		return err_set(e, ERR_SYSTEM, t->path, ERR_NO_BYTE, "out of memory");
	for (size_t i = 0; t->recycled && i < t->n_streams; i++)
		last[i] = LATER;
	trace_rare_begin(t);
	for (size_t i = 0; i <= t->n_calls; i++) {
		int64_t now = i < t->n_calls ? t->calls[i].begin_ns : INT64_MAX;

		for (; edge < t->n_edges && t->edges[edge].begin_ns < now; edge++)
			if (t->edges[edge].stream != GST_NONE)
				t->edges[edge].covers = unwrap(&last[t->edges[edge].stream], t->edges[edge].covers);
		for (; poll < t->n_polls && t->polls[poll].begin_ns < now; poll++)
			if (t->polls[poll].stream != GST_NONE)
				t->polls[poll].covers = unwrap(&last[t->polls[poll].stream], t->polls[poll].covers);
		if (i < t->n_calls)
			trace_rare_note(t, i);
		if (i < t->n_calls && t->calls[i].stream != GST_NONE)
			t->calls[i].seq = unwrap(&last[t->calls[i].stream], t->calls[i].seq);
	}
	/* what the device did lies in the order of the stream, not of the calls */
	for (size_t i = 0; i < t->n_streams; i++)
		last[i] = t->recycled ? LATER : 0;
	for (size_t i = 0; i < t->n_measured; i++)
		if (t->measured[i].stream != GST_NONE)
			t->measured[i].seq = unwrap(&last[t->measured[i].stream], t->measured[i].seq);
	free(last);
	return ERR_NONE;
}

/* ---- edges ------------------------------------------------------------------------------------------ */

struct by_id {
	uint32_t id;
	uint32_t edge; /* index */
};

static int compare_id(const void *a, const void *b)
{
	const struct by_id *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->edge > y->edge) - (x->edge < y->edge);
}

static bool lower_id(const void *element, const void *key)
{
	return ((const struct by_id *)element)->id < *(const uint32_t *)key;
}

static uint32_t find_edge(const struct by_id *order, size_t n, uint32_t id)
{
	size_t at = array_first(order, n, sizeof(*order), lower_id, &id);

	return at < n && order[at].id == id ? order[at].edge : GST_NONE;
}

/* One edge from its base, which must be done. NULL: its record was given up; the edges that share it count from it all the same.
 * is_base: of others. What is measured from there on is as exact as ever, and only so far from what was before. */
static void place_edge(struct edge *edge, const struct edge *from, bool is_base)
{
	double elapsed_ns = (double)edge->elapsed_ms * 1e6, step_ns;

	if (edge->base == edge->id) {
		edge->device_ns = 0;
		edge->root = edge->section = edge->id;
		return;
	}
	/* a week: beyond any base's life, and far from where doubles lose nanoseconds */
	if (edge->done_ns == INT64_MAX || !(fabs(elapsed_ns) < 6.048e14) ||
	    (from && (isnan(from->device_ns) || from->device != edge->device)))
		return;
	step_ns = (double)(nextafterf(fabsf(edge->elapsed_ms), INFINITY) - fabsf(edge->elapsed_ms)) * 1e6;
	edge->device_ns = from ? from->device_ns + elapsed_ns : elapsed_ns;
	edge->root = from ? from->root : edge->base;
	if (is_base || fabsf(edge->elapsed_ms) > LINK_MS) {
		edge->section = edge->id;
		edge->link_ns = step_ns;
	} else {
		edge->section = edge->base;
		edge->link_ns = from ? from->link_ns : 0;
		edge->step_ns = step_ns;
	}
}

struct placing {
	const struct by_id *order;
	uint32_t *base_of; /* per edge: its base, GST_NONE: not there */
	uint32_t *way;     /* from an edge to its first base that is placed */
	bool *seen, *is_base;
};

/* Bases first, whatever their number: an edge may fire after one that was recorded later. */
static void place_from(struct trace *t, struct placing *p, uint32_t at)
{
	size_t n = 0;

	for (; at != GST_NONE && !p->seen[at];
	     at = p->base_of[at]) { /* a base that is on this way already is nobody's */
		p->seen[at] = true;
		p->way[n++] = at;
	}
	while (n-- > 0) {
		uint32_t edge = p->way[n], base = p->base_of[edge];

		place_edge(&t->edges[edge], base == GST_NONE ? NULL : &t->edges[base], p->is_base[edge]);
	}
}

static void place_edges(struct trace *t, struct placing *p)
{
	for (size_t i = 0; i < t->n_edges; i++) {
		p->base_of[i] = find_edge(p->order, t->n_edges, t->edges[i].base);
		if (p->base_of[i] != GST_NONE && p->base_of[i] != i)
			p->is_base[p->base_of[i]] = true;
	}
	for (size_t i = 0; i < t->n_edges; i++)
		place_from(t, p, p->order[i].edge);
}

enum err_kind sequence_edges(struct trace *t, struct error *e)
{
	struct by_id *order = array_new(t->n_edges, sizeof(*order));
	struct placing p = { .order = order,
			     .base_of = array_new(t->n_edges, sizeof(*p.base_of)),
			     .way = array_new(t->n_edges, sizeof(*p.way)),
			     .seen = array_new(t->n_edges, sizeof(*p.seen)),
			     .is_base = array_new(t->n_edges, sizeof(*p.is_base)) };
	bool ok = order && p.base_of && p.way && p.seen && p.is_base;

	if (ok) {
		for (size_t i = 0; i < t->n_edges; i++)
			order[i] = (struct by_id){ t->edges[i].id, (uint32_t)i };
		array_sort(order, t->n_edges, sizeof(*order), compare_id);
		place_edges(t, &p);
	}
	free(order);
	free(p.base_of);
	free(p.way);
	free(p.seen);
	free(p.is_base);
	return ok ? ERR_NONE : err_set(e, ERR_SYSTEM, t->path, ERR_NO_BYTE, "out of memory");
}
