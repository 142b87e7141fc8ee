/* SPDX-License-Identifier: BSD-2-Clause */
#include "report_devices.h"

#include <inttypes.h>
#include <string.h>

#include "tools/ns.h"
#include "tools/text.h"

#define LABEL 19 /* columns of a row's name */
#define NUMBERS 31
#define WIDEST 110    /* columns of a bar of everything */
#define EACH_DEVICE 2 /* up to so many devices, each gets its own table */
#define ROWS 8        /* of one screen: devices, of more the idlest … */
#define CAUSES 5      /* … and causes of a device that is alone, */
#define CAUSES_EACH 4 /* or of each */

static unsigned bar_width(const struct page *p)
{
	unsigned width = p->style->columns - LABEL - NUMBERS - 2;

	return width > 60 ? 60 : width;
}

static void row(const struct page *p, enum ink ink, const char *name, int64_t ns, int64_t span, int64_t idle)
{
	char time[TEXT_SHORT], of_span[TEXT_SHORT], of_idle[TEXT_SHORT];

	fprintf(p->out, "  %-*s", LABEL, name);
	page_bar(p, ink, ns, span, bar_width(p));
	fprintf(p->out, " %10s %9s", text_duration(time, ns), text_percent(of_span, ns, span));
	if (idle > 0)
		fprintf(p->out, " %9s", text_percent(of_idle, ns, idle));
	fputc('\n', p->out);
}

static void row_if(const struct page *p, enum ink ink, const char *name, int64_t ns, int64_t span)
{
	if (ns)
		row(p, ink, name, ns, span, 0);
}

/* What of it is waiting for another rank, where that is known of any. */
static void communication(const struct page *p, const struct totals *t)
{
	int64_t split = sum64(t->comm_wait, t->comm_transfer);

	row_if(p, INK_COMM, "communication", t->comm, t->span);
	row_if(p, INK_COMM, "  wait for ranks", t->comm_wait, t->span);
	row_if(p, INK_COMM, "  transfer", t->comm_transfer, t->span);
	row_if(p, INK_COMM, "  unsplit", split ? t->comm - split : 0, t->span);
}

/* Each kind; of one screen all in one row, unless there is one kind anyway. */
static void copies(const struct page *p, const struct totals *t)
{
	const struct {
		const char *name;
		int64_t ns;
	} kinds[] = { { "copy h2d pageable", t->h2d_pageable },
		      { "copy h2d pinned", t->h2d_pinned },
		      { "copy d2h", t->d2h },
		      { "copy d2d", t->d2d },
		      { "copy peer", t->peer },
		      { "memset", t->memset } };
	const size_t n = sizeof(kinds) / sizeof(kinds[0]);
	int64_t all = 0;
	size_t shown = 0;

	for (size_t i = 0; i < n; i++) {
		all = sum64(all, kinds[i].ns);
		shown += kinds[i].ns != 0;
	}
	if (!p->style->full && shown > 1)
		row(p, INK_COPY, "copies, memsets", all, t->span, 0);
	else
		for (size_t i = 0; i < n; i++)
			row_if(p, INK_COPY, kinds[i].name, kinds[i].ns, t->span);
}

static void partition(const struct page *p, const struct totals *t)
{
	row(p, INK_COMPUTE, "compute", t->compute, t->span, 0);
	communication(p, t);
	copies(p, t);
	row(p, INK_IDLE, "idle", t->idle, t->span, 0);
}

/* Those that do not fit. A row less is won only by two. */
static void other_causes(const struct page *p, const struct totals *t, const enum cause_id *order, int n)
{
	int64_t ns = 0;
	char name[32];

	for (int i = 0; i < n; i++)
		ns = sum64(ns, t->causes[order[i]]);
	snprintf(name, sizeof(name), "%d more", n);
	row(p, INK_DIM, name, ns, t->span, t->idle);
}

static void cause_rows(const struct page *p, const struct totals *t, int most)
{
	enum cause_id order[CAUSE_COUNT];
	int n = totals_rank(t->causes, order), shown = p->style->full || n <= most + 1 ? n : most;

	if (!n)
		return;
	fputc('\n', p->out);
	page_ink(p, INK_TITLE, "  %-*s", (int)(LABEL + bar_width(p)), "why idle");
	page_ink(p, INK_DIM, " %10s %9s %9s\n", "time", "of span", "of idle");
	for (int i = 0; i < shown; i++)
		row(p, order[i] == CAUSE_unexplained ? INK_DIM : INK_CAUSE, cause_name(order[i]), t->causes[order[i]],
		    t->span, t->idle);
	if (n > shown)
		other_causes(p, t, order + shown, n - shown);
}

/* ---- what bursts say -------------------------------------------------------------------------------- */

struct guess { /* of one device's unresolved time, or of several devices' */
	int64_t span_ns, unresolved_ns, idle_ns, low_ns, high_ns, causes[CAUSE_COUNT];
	uint64_t bursts;
	bool measured; /* on one of them at least; of the others the interval holds all there is */
};

static void guess_add(struct guess *g, const struct summary_device *d)
{
	const struct estimate *e = &d->timeline->estimate;

	if (!e->made)
		return;
	g->span_ns = sum64(g->span_ns, d->span_ns);
	g->unresolved_ns = sum64(g->unresolved_ns, d->timeline->unresolved_ns);
	g->idle_ns = sum64(g->idle_ns, e->unresolved.ns);
	g->low_ns = sum64(g->low_ns, e->unresolved.low_ns);
	g->high_ns = sum64(g->high_ns, e->unresolved.high_ns);
	g->bursts += e->bursts;
	g->measured |= e->measured;
	for (int i = 0; i < CAUSE_COUNT; i++)
		g->causes[i] = sum64(g->causes[i], d->unresolved_causes[i]);
}

/* What bursts say of the time that is not proven either way, beside what is. A hundredth of the time has no place on one screen. */
static void guess_line(const struct page *p, const struct guess *g)
{
	char unresolved[TEXT_SHORT], idle[TEXT_SHORT], low[TEXT_SHORT], high[TEXT_SHORT], line[512];
	size_t used;

	if (!g->unresolved_ns || (!p->style->full && g->unresolved_ns < g->span_ns / 100))
		return;
	text_duration(unresolved, g->unresolved_ns);
	if (!g->measured) {
		snprintf(line, sizeof(line),
			 "of the %s that cannot be told busy from idle nobody knows how much: too few bursts (%" PRIu64
			 ")",
			 unresolved, g->bursts);
	} else {
		used = (size_t)snprintf(line, sizeof(line),
					"of the %s that cannot be told, about %s (%s to %s, 95 %%) idle", unresolved,
					text_duration(idle, g->idle_ns), text_duration(low, g->low_ns),
					text_duration(high, g->high_ns));
		if (g->idle_ns)
			totals_causes(g->causes, g->idle_ns, line + used, sizeof(line) - used);
	}
	fputs("  ", p->out);
	page_wrap(p, INK_DIM, 2, 4, line);
}

/* ---- devices ---------------------------------------------------------------------------------------- */

static void stack(const struct page *p, const struct summary_device *d, unsigned width)
{
	static const enum ink inks[] = { INK_COMPUTE, INK_COMM, INK_COPY, INK_IDLE };
	const int64_t parts[] = { d->timeline->compute_ns, d->timeline->comm_ns, d->copy_exposed_ns,
				  d->timeline->idle_ns };

	page_stack(p, parts, inks, width);
}

/* One of many: a row. with_likely: a column for what bursts say of all its idle time. */
static void device_row(const struct page *p, const struct summary_device *d, bool with_likely)
{
	const struct estimate *e = &d->timeline->estimate;
	char span[TEXT_SHORT], idle[TEXT_SHORT], likely[TEXT_SHORT], name[64], title[80];

	snprintf(title, sizeof(title), "%u  %s", d->number, d->name);
	fprintf(p->out, "  %-*s", LABEL, text_clean(name, sizeof(name), title, LABEL - 1));
	stack(p, d, bar_width(p));
	fprintf(p->out, " %10s ", text_duration(span, d->span_ns));
	page_ink(p, INK_IDLE, "%9s", text_percent(idle, d->timeline->idle_ns, d->span_ns));
	if (with_likely)
		fprintf(p->out, " %9s", e->measured ? text_percent(likely, e->whole.ns, d->span_ns) : "-");
	fputc('\n', p->out);
}

/* One of few: a title and a wide bar; they end at one column. */
static void device_title(const struct page *p, const struct summary_device *d)
{
	char span[TEXT_SHORT], idle[TEXT_SHORT], name[64], title[128];
	unsigned width = p->style->columns - 4 > WIDEST ? WIDEST : p->style->columns - 4;
	unsigned figures;

	snprintf(title, sizeof(title), "device %u  %s", d->number, text_clean(name, sizeof(name), d->name, 32));
	text_duration(span, d->span_ns);
	text_percent(idle, d->timeline->idle_ns, d->span_ns);
	figures = text_columns(span) + (unsigned)strlen(", idle ") + text_columns(idle);
	fputc('\n', p->out);
	page_ink(p, INK_TITLE, "%s", title);
	fprintf(p->out, "%*s%s, idle ", (int)(width + 2 - figures - text_columns(title)), "", span);
	page_ink(p, INK_IDLE, "%s\n", idle);
	fputs("  ", p->out);
	stack(p, d, width);
	fputc('\n', p->out);
}

static void few_devices(const struct page *p, const struct summary *s)
{
	for (size_t i = 0; i < s->n_devices; i++) {
		struct totals one = { 0 };
		struct guess guess = { 0 };

		device_title(p, &s->devices[i]);
		totals_add(&one, &s->devices[i]);
		partition(p, &one);
		cause_rows(p, &one, s->n_devices == 1 ? CAUSES : CAUSES_EACH);
		guess_add(&guess, &s->devices[i]);
		guess_line(p, &guess);
	}
}

static double idle_share(const struct summary_device *d)
{
	return d->span_ns > 0 ? (double)d->timeline->idle_ns / (double)d->span_ns : 0;
}

/* Are fewer than ROWS idler? Of equal ones the first. */
static bool is_idlest(const struct summary *s, size_t device)
{
	double own = idle_share(&s->devices[device]);
	size_t idler = 0;

	for (size_t i = 0; i < s->n_devices; i++) {
		double share = idle_share(&s->devices[i]);

		idler += share > own || (share >= own && i < device);
	}
	return idler < ROWS;
}

static void many_devices(const struct page *p, const struct summary *s, const struct totals *all)
{
	struct guess guess = { 0 };

	for (size_t i = 0; i < s->n_devices; i++)
		guess_add(&guess, &s->devices[i]);
	fputc('\n', p->out);
	page_ink(p, INK_TITLE, "  %-*s", (int)(LABEL + bar_width(p)), "devices");
	page_ink(p, INK_DIM, " %10s %9s%s\n", "span", "idle", guess.measured ? "    likely" : "");
	for (size_t i = 0; i < s->n_devices; i++)
		if (p->style->full || s->n_devices <= ROWS + 1 || is_idlest(s, i))
			device_row(p, &s->devices[i], guess.measured);
	if (!p->style->full && s->n_devices > ROWS + 1)
		page_ink(p, INK_DIM, "  and %zu more that were idle less: --full\n", s->n_devices - ROWS);
	page_ink(p, INK_TITLE, "\nall %zu devices\n", s->n_devices);
	partition(p, all);
	cause_rows(p, all, CAUSES);
	guess_line(p, &guess);
}

void report_devices(const struct page *p, const struct summary *s, const struct totals *all)
{
	if (s->n_devices <= EACH_DEVICE)
		few_devices(p, s);
	else
		many_devices(p, s, all);
}
