/* SPDX-License-Identifier: BSD-2-Clause */
#include "launch_publish.h"

#include "alloc.h"
#include "spill.h"
#include "trace_decode.h"

#include <stdlib.h>

struct publisher {
	struct trace *t;
	struct launch_row *rows;
	size_t n, n_rows; /* of all parts */
	size_t *cap;      /* of t->calls */
	size_t near;      /* where the last call lay */
	bool fold;
};

bool launch_rows_suit(const struct trace *t, bool damaged)
{
	return !damaged && t->life != LIFE_RUNNING && t->seen_ns == INT64_MAX && t->header.version == GST_VERSION &&
	       t->header.device_level <= GST_LEVEL_EDGES && t->n_levels == 0;
}

/* ---- what the parts hold ---- */

static void take_part(struct launch_part *out, struct launch_part *from, const struct names *names)
{
	*out = *from;
	*from = (struct launch_part){ 0 };
	for (size_t i = 0; i < out->n_shapes; i++)
		out->shapes[i].name = out->shapes[i].name ? names_kernel(names, out->shapes[i].name) : 0;
}

static bool take_parts(struct publisher *p, struct launch_rows *parts[], size_t n_parts, const struct names *names,
		       int64_t *end_ns)
{
	struct launches *all = &p->t->launches;

	for (size_t i = 0; i < n_parts; i++)
		p->n_rows += parts[i]->n;
	all->parts = array_new(n_parts, sizeof(*all->parts));
	p->rows = spill_new(p->n_rows, sizeof(*p->rows));
	if (!all->parts || !p->rows)
		return false;
	all->n_parts = n_parts;
	for (size_t i = 0; i < n_parts; i++) {
		take_part(&all->parts[i], &parts[i]->launches, names);
		for (size_t k = 0; k < parts[i]->n; k++) {
			struct launch_row row = parts[i]->at[k];

			row.stream = trace_stream(p->t, row.stream);
			*end_ns = row.end_ns > *end_ns ? row.end_ns : *end_ns;
			p->rows[p->n++] = row;
		}
	}
	return true;
}

/* ---- calls ---- */

/* A launch that stands in a row, as a call that is folded: launch_call takes it from there. */
static struct call call_at(struct publisher *p, const struct launch_row *row, uint32_t i)
{
	const struct launch *l = &p->t->launches.parts[row->part].at[row->first + i];
	int64_t begin_ns = row->base_ns + l->begin;

	return (struct call){ .begin_ns = begin_ns,
			      .end_ns = row->n == 1 ? row->end_ns : begin_ns + l->took, /* it may be long, then */
			      .seq = row->seq + i,
			      .stream = row->stream,
			      .tid = row->tid,
			      .hook = row->hook,
			      .device = row->device,
			      .family = GST_FAMILY_LAUNCH,
			      .flags = GST_SUBMISSION,
			      .args = { launch_ref(row->part, row->first + i) },
			      .byte = launch_byte(&p->t->launches, launch_ref(row->part, row->first + i), &p->near) };
}

/* Launches [at, end) of a row, each by itself. */
static bool add_each(struct publisher *p, const struct launch_row *row, uint32_t at, uint32_t end)
{
	struct trace *t = p->t;

	for (; at < end; at++) {
		struct call c = call_at(p, row, at);

		if (!spill_room(t->calls, t->n_calls, *p->cap))
			return false;
		t->calls[t->n_calls] = launch_call(t, &c, 0, &p->near);
		t->calls[t->n_calls++].end_ns = c.end_ns;
	}
	return true;
}

static bool add_folded(struct publisher *p, const struct launch_row *row, uint32_t at, uint32_t end)
{
	struct trace *t = p->t;
	struct call c = call_at(p, row, at), last = call_at(p, row, end - 1);

	if (!spill_room(t->calls, t->n_calls, *p->cap))
		return false;
	c.folded = end - at - 1;
	c.end_ns = last.end_ns;
	t->calls[t->n_calls++] = c;
	t->launches.folded += c.folded;
	return true;
}

/* Launches [at, end) of a row, among which there is nothing else. */
static bool add_piece(struct publisher *p, const struct launch_row *row, uint32_t at, uint32_t end, bool fold)
{
	if (!fold || end - at < FOLD_LEAST + 2 * FOLD_MARGIN)
		return add_each(p, row, at, end);
	return add_each(p, row, at, at + FOLD_MARGIN) && add_folded(p, row, at + FOLD_MARGIN, end - FOLD_MARGIN) &&
	       add_each(p, row, end - FOLD_MARGIN, end);
}

static bool add_row(struct publisher *p, const struct launch_row *row, struct launch_cuts *cuts)
{
	for (uint32_t at = 0, end = row->n; at < row->n; at = end) {
		bool fold = p->fold && row->stream != GST_NONE;

		if (fold)
			launch_cuts_next(cuts, row, at, &end, &fold);
		if (!add_piece(p, row, at, end, fold))
			return false;
	}
	return true;
}

static int by_thread(const void *a, const void *b)
{
	const struct launch_row *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

/* Thread by thread: what lies around a row is found near what lies around the one before. */
static bool publish(struct publisher *p)
{
	struct launch_cuts cuts = { 0 };
	bool ok;

	array_sort(p->rows, p->n, sizeof(*p->rows), by_thread);
	p->fold = launch_cuts_allow(p->t);
	ok = !p->fold || launch_cuts_find(&cuts, p->t, p->rows, p->n);
	for (size_t i = 0; i < p->n && ok; i++)
		ok = add_row(p, &p->rows[i], &cuts);
	launch_cuts_free(&cuts);
	return ok;
}

bool launch_publish(struct trace *t, struct launch_rows *parts[], size_t n_parts, const struct names *names,
		    size_t *cap, int64_t *end_ns)
{
	struct publisher p = { .t = t, .cap = cap };
	bool ok = take_parts(&p, parts, n_parts, names, end_ns) && publish(&p);

	spill_free(p.rows);
	if (ok && !t->launches.folded)
		launches_free(&t->launches);
	return ok;
}
