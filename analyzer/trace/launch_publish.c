/* SPDX-License-Identifier: BSD-2-Clause */
#include "launch_publish.h"

#include "tools/alloc.h"
#include "tools/pool.h"
#include "tools/spill.h"
#include "trace_decode.h"

#include <stdlib.h>

#define STRETCH_LEAST 16 /* rows: fewer are not worth a stretch */

struct piece { /* launches [at, end) of a row, among which there is nothing else */
	const struct launch_row *row;
	uint32_t at, end;
	bool fold;
};

/* Rows that begin one behind the other, and the calls that were there before and begin between them: side by side with the others. */
struct row_stretch {
	size_t first, end;           /* rows */
	size_t first_kept, end_kept; /* calls */
	struct piece *pieces;
	size_t n, cap;
	size_t calls; /* that its rows come to */
	size_t folded;
	size_t near;      /* where the last launch lies in the file */
	struct call *out; /* as many, and those that were there */
};

struct publisher {
	struct trace *t;
	struct launch_row *rows;
	size_t n; /* of all parts, by their begins */
	bool fold;
	struct launch_cuts cuts;
	struct row_stretch *stretches;
	size_t n_stretches;
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
	size_t n = 0;

	for (size_t i = 0; i < n_parts; i++)
		n += parts[i]->n;
	all->parts = array_new(n_parts, sizeof(*all->parts));
	p->rows = spill_new(n, sizeof(*p->rows));
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

/* ---- pieces ---- */

static bool add_piece(struct row_stretch *s, struct piece p)
{
	uint32_t n = p.end - p.at;

	p.fold = p.fold && n >= FOLD_LEAST + 2 * FOLD_MARGIN;
	if (!spill_room(s->pieces, s->n, s->cap))
		return false;
	s->pieces[s->n++] = p;
	s->calls += p.fold ? 2 * FOLD_MARGIN + 1 : n;
	return true;
}

static bool cut_row(const struct publisher *p, struct row_stretch *s, const struct launch_row *row,
		    struct cuts_near *near)
{
	for (uint32_t at = 0, end = row->n; at < row->n; at = end) {
		bool fold = p->fold && row->stream != GST_NONE;

		if (fold)
			launch_cuts_next(&p->cuts, near, row, at, &end, &fold);
		if (!add_piece(s, (struct piece){ row, at, end, fold }))
			return false;
	}
	return true;
}

static enum err_kind cut_stretch(void *publisher, size_t i, struct error *e)
{
	const struct publisher *p = publisher;
	struct row_stretch *s = &p->stretches[i];
	struct cuts_near near = { 0 };

	for (size_t k = s->first; k < s->end; k++)
		if (!cut_row(p, s, &p->rows[k], &near))
			return err_no_memory(e, "");
	return ERR_NONE;
}

/* ---- calls ---- */

/* A launch that stands in a row, as a call that is folded: launch_call takes it from there. */
static struct call call_at(const struct launches *all, struct row_stretch *s, const struct launch_row *row, uint32_t i)
{
	const struct launch *l = &all->parts[row->part].at[row->first + i];
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
			      .byte = launch_byte(all, launch_ref(row->part, row->first + i), &s->near) };
}

/* Behind the calls that were there and begin before it. */
static void put(const struct publisher *p, struct row_stretch *s, const struct call *c)
{
	const struct call *kept = p->t->calls;

	while (s->first_kept < s->end_kept && call_by_time(&kept[s->first_kept], c) < 0)
		*s->out++ = kept[s->first_kept++];
	*s->out++ = *c;
}

/* Launches [at, end) of a row, each by itself. */
static void put_each(const struct publisher *p, struct row_stretch *s, const struct launch_row *row, uint32_t at,
		     uint32_t end)
{
	for (; at < end; at++) {
		struct call c = call_at(&p->t->launches, s, row, at), one = launch_elsewhere(p->t, &c, 0);

		one.end_ns = c.end_ns;
		put(p, s, &one);
	}
}

static void put_folded(const struct publisher *p, struct row_stretch *s, const struct launch_row *row, uint32_t at,
		       uint32_t end)
{
	struct call c = call_at(&p->t->launches, s, row, at);

	c.folded = end - at - 1;
	c.end_ns = call_at(&p->t->launches, s, row, end - 1).end_ns;
	s->folded += c.folded;
	put(p, s, &c);
}

static enum err_kind put_stretch(void *publisher, size_t i, struct error *e)
{
	const struct publisher *p = publisher;
	struct row_stretch *s = &p->stretches[i];

	(void)e;
	for (size_t k = 0; k < s->n; k++) {
		const struct piece *piece = &s->pieces[k];

		if (!piece->fold) {
			put_each(p, s, piece->row, piece->at, piece->end);
			continue;
		}
		put_each(p, s, piece->row, piece->at, piece->at + FOLD_MARGIN);
		put_folded(p, s, piece->row, piece->at + FOLD_MARGIN, piece->end - FOLD_MARGIN);
		put_each(p, s, piece->row, piece->end - FOLD_MARGIN, piece->end);
	}
	while (s->first_kept < s->end_kept)
		*s->out++ = p->t->calls[s->first_kept++];
	return ERR_NONE;
}

/* ---- all of them ---- */

static int by_begin(const void *a, const void *b)
{
	const struct launch_row *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

static bool begins_before(const void *call, const void *ns)
{
	return ((const struct call *)call)->begin_ns < *(const int64_t *)ns;
}

/* As many rows each; a few more stretches than threads, as one may have more pieces than another. */
static bool share_out(struct publisher *p)
{
	size_t most = p->n / STRETCH_LEAST + 1, n = 4 * (size_t)pool_threads(), row = 0, kept = 0;

	p->n_stretches = n < most ? n : most;
	p->stretches = array_new(p->n_stretches, sizeof(*p->stretches));
	for (size_t i = 0; p->stretches && i < p->n_stretches; i++) {
		struct row_stretch *s = &p->stretches[i];

		s->first = row;
		s->first_kept = kept;
		row += (p->n - row) / (p->n_stretches - i);
		kept = row < p->n ? array_first(p->t->calls, p->t->n_calls, sizeof(*p->t->calls), begins_before,
						&p->rows[row].begin_ns)
				  : p->t->n_calls;
		s->end = row;
		s->end_kept = kept;
	}
	return p->stretches != NULL;
}

/* The pieces' calls, and those that were there, in the order of time but for rows of several threads at once. */
static bool put_all(struct publisher *p, size_t *cap)
{
	struct trace *t = p->t;
	size_t n = t->n_calls;
	struct call *calls, *out;

	for (size_t i = 0; i < p->n_stretches; i++)
		n += p->stretches[i].calls;
	out = calls = spill_new(n, sizeof(*calls));
	if (!calls)
		return false;
	for (size_t i = 0; i < p->n_stretches; i++) {
		struct row_stretch *s = &p->stretches[i];

		s->out = out;
		out += s->calls + (s->end_kept - s->first_kept);
	}
	pool_run(p->n_stretches, put_stretch, p, NULL);
	for (size_t i = 0; i < p->n_stretches; i++)
		t->launches.folded += p->stretches[i].folded;
	spill_free(t->calls);
	t->calls = calls;
	t->n_calls = *cap = n;
	return true;
}

static bool publish(struct publisher *p, size_t *cap)
{
	struct trace *t = p->t;

	array_sort(p->rows, p->n, sizeof(*p->rows), by_begin);
	array_sort(t->calls, t->n_calls, sizeof(*t->calls), call_by_time);
	p->fold = launch_cuts_allow(t);
	return (!p->fold || launch_cuts_find(&p->cuts, t, p->rows, p->n)) && share_out(p) &&
	       !pool_run(p->n_stretches, cut_stretch, p, NULL) && put_all(p, cap);
}

bool launch_publish(struct trace *t, struct launch_rows *parts[], size_t n_parts, const struct names *names,
		    size_t *cap, int64_t *end_ns)
{
	struct publisher p = { .t = t };
	bool ok = take_parts(&p, parts, n_parts, names, end_ns) && (!p.n || publish(&p, cap));

	for (size_t i = 0; p.stretches && i < p.n_stretches; i++)
		spill_free(p.stretches[i].pieces);
	free(p.stretches);
	launch_cuts_free(&p.cuts);
	spill_free(p.rows);
	if (ok && !t->launches.folded)
		launches_free(&t->launches);
	return ok;
}
