/* SPDX-License-Identifier: BSD-2-Clause */
/* export_sqlite_idle.c: gaps with their causes, evidence, chains and stacks; call sites; advice. */
#include <stdlib.h>

#include "advice/advice.h"
#include "export_sqlite_parts.h"
#include "report/report_stacks.h"
#include "summary/call_sites.h"

/* ---- gaps ------------------------------------------------------------------------------------------------------------------ */

static void evidence(struct rows *r, int64_t piece, const struct gap_cause *c)
{
	for (size_t i = 0; i < c->n_evidence; i++) {
		row_begin(r, TABLE_evidence);
		row_int(r, piece);
		row_int(r, (int64_t)i);
		row_text(r, c->evidence[i]);
		row_end(r);
	}
}

static void chain(struct rows *r, int64_t piece, const struct gap_cause *c)
{
	for (size_t i = 0; i < c->n_chain; i++) {
		const struct chain_link *link = &c->chain[i];
		const struct chain_file none = { .path = NULL }, *file = link->file ? link->file : &none;
		bool placed = link->file && file->offset != UINT64_MAX;

		row_begin(r, TABLE_chain);
		row_int(r, piece);
		row_int(r, (int64_t)i);
		row_int(r, link->pid);
		row_int(r, link->tid);
		row_text(r, link->name);
		row_text(r, link->state);
		row_text(r, file->path);
		row_int_or_null(r, placed, (int64_t)(file->offset & INT64_MAX));
		row_int_or_null(r, placed, (int64_t)(file->last_offset & INT64_MAX));
		row_int_or_null(r, file->bytes > 0, (int64_t)(file->bytes & INT64_MAX));
		row_int(r, link->begin_ns);
		row_int(r, link->end_ns);
		row_text(r, link->woken_by);
		row_end(r);
	}
}

static void held(struct rows *r, int64_t piece, const struct gap_cause *c)
{
	bool any = false;

	for (size_t i = 0; i < c->n_held; i++)
		any |= c->held[i].by != HELD_UNKNOWN;
	for (size_t i = 0; any && i < c->n_held; i++) {
		const struct held *h = &c->held[i];
		const struct frame *f = held_frame(h);

		row_begin(r, TABLE_held);
		row_int(r, piece);
		row_int(r, h->begin_ns);
		row_int(r, h->end_ns);
		row_text(r, report_held_by(h->by));
		row_name(r, f ? f->function : NULL);
		row_name(r, f ? f->file : NULL);
		row_int_or_null(r, f && f->line, f ? f->line : 0);
		row_int_or_null(r, f && h->from_line, h->from_line);
		row_name(r, f && f->object ? f->object->file.path : NULL);
		row_end(r);
	}
}

/* Its number, if it is of that device. */
static void operation(struct tables *t, size_t device, const struct op *op)
{
	const struct device_timeline *d = t->s->devices[device].timeline;
	bool known = op && op >= d->ops && op < d->ops + d->n_ops;

	row_int_or_null(&t->rows, known, known ? t->first_operation[device] + (op - d->ops) : 0);
}

static void gaps(struct tables *t)
{
	struct rows *r = &t->rows;
	int64_t piece = 0;

	for (size_t i = 0; i < t->s->n_devices; i++) {
		const struct summary_device *d = &t->s->devices[i];

		for (size_t k = 0; k < d->attribution.n_gaps; k++) {
			const struct gap_story *g = &d->attribution.gaps[k];

			row_begin(r, TABLE_gaps);
			row_int(r, (int64_t)(d->first_gap + k));
			row_int(r, d->number);
			row_int(r, g->gap->begin_ns);
			row_int(r, g->gap->end_ns);
			row_int(r, g->gap->begin_error_ns);
			row_int(r, g->gap->end_error_ns);
			operation(t, i, g->gap->before);
			operation(t, i, g->gap->after);
			row_end(r);
			for (size_t c = 0; c < g->n_causes; c++, piece++) {
				row_begin(r, TABLE_gap_causes);
				row_int(r, piece);
				row_int(r, (int64_t)(d->first_gap + k));
				row_text(r, cause_name(g->causes[c].cause));
				row_int(r, g->causes[c].begin_ns);
				row_int(r, g->causes[c].end_ns);
				row_text(r, confidence_name(g->causes[c].confidence));
				row_end(r);
				evidence(r, piece, &g->causes[c]);
				chain(r, piece, &g->causes[c]);
				held(r, piece, &g->causes[c]);
			}
		}
	}
}

/* ---- call sites ------------------------------------------------------------------------------------------------------------ */

static void site(struct tables *t, int64_t number, const struct call_site *c)
{
	struct rows *r = &t->rows;
	const struct frame *f = c->frame;

	row_begin(r, TABLE_call_sites);
	row_int(r, number);
	row_int(r, t->s->devices[c->device].number);
	row_int(r, c->idle_ns);
	row_int(r, (int64_t)c->gaps);
	row_int(r, (int64_t)c->longest_gap);
	row_text(r, report_held_by(c->held->by));
	row_text(r, f ? f->function : NULL);
	row_text(r, f ? f->file : NULL);
	row_int_or_null(r, f && f->line, f ? f->line : 0);
	row_text(r, f && f->object ? f->object->file.path : NULL);
	row_int_or_null(r, f, f ? f->own : 0);
	row_end(r);
	for (int i = 0; i < CAUSE_COUNT; i++) {
		if (!c->causes[i])
			continue;
		row_begin(r, TABLE_call_site_causes);
		row_int(r, number);
		row_text(r, cause_name((enum cause_id)i));
		row_int(r, c->causes[i]);
		row_end(r);
	}
}

/* ---- advice ---------------------------------------------------------------------------------------------------------------- */

static void figures(struct rows *r, int64_t number, const struct advice *a)
{
	for (size_t i = 0; i < a->n_figures; i++) {
		const struct figure *f = &a->figures[i];
		bool is_text = f->kind == FIGURE_TEXT, is_real = f->kind == FIGURE_REAL || f->kind == FIGURE_SHARE;

		row_begin(r, TABLE_advice_figures);
		row_int(r, number);
		row_text(r, f->name);
		row_int_or_null(r, !is_text && !is_real, f->n);
		if (is_real)
			row_real(r, f->real);
		else
			row_null(r);
		row_text(r, is_text ? f->text : NULL);
		row_end(r);
	}
}

static void losses(struct rows *r, const struct summary_device *d, const struct recovery *of)
{
	for (size_t i = 0; i < of->n; i++) {
		const struct recoverable *x = &of->of[of->order[i]];

		row_begin(r, TABLE_recoverable);
		row_int(r, d->number);
		row_text(r, recover_name(x->id));
		row_int(r, x->lost_ns);
		row_int(r, x->observed_ns);
		row_int(r, x->likely_ns);
		row_int(r, x->recoverable_ns);
		row_real(r, x->ceiling);
		row_text(r, x->next);
		row_int(r, x->next_ns);
		row_end(r);
	}
}

static enum err_kind advice(struct tables *t, struct error *e)
{
	struct rows *r = &t->rows;
	struct advices list;
	enum err_kind kind = advices_build(&list, t->s, e);

	if (kind)
		return kind;
	for (size_t i = 0; i < list.n_devices; i++)
		losses(r, &t->s->devices[i], &list.devices[i]);
	for (size_t i = 0; i < list.n; i++) {
		const struct advice *a = &list.at[i];

		row_begin(r, TABLE_advice);
		row_int(r, (int64_t)i);
		row_text(r, advice_name(a));
		row_text(r, recover_name(a->about));
		row_int(r, t->s->devices[a->device].number);
		row_int(r, a->lost_ns);
		row_int(r, a->recoverable_ns);
		row_real(r, a->ceiling);
		row_text(r, a->why);
		row_text(r, a->what);
		row_end(r);
		figures(r, (int64_t)i, a);
	}
	advices_free(&list);
	return ERR_NONE;
}

enum err_kind tables_idle(struct tables *t, struct error *e)
{
	size_t n;
	struct call_site *sites;

	gaps(t);
	sites = call_sites_build(t->s, &n);
	if (!sites)
		return err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	for (size_t i = 0; i < n; i++)
		site(t, (int64_t)i, &sites[i]);
	free(sites);
	return advice(t, e);
}
