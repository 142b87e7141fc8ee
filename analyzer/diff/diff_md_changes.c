/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>

#include "diff_md.h"

#define GAPS 8 /* with their evidence */

/* ---- gaps ---- */

static void gap_side(struct md *m, const struct diff_gap *gap)
{
	char each[DIFF_WORDS], ns[TEXT_SHORT], longest[TEXT_SHORT];

	if (!gap) {
		md_put(m, "not there");
		return;
	}
	md_format(m, "%s a step, %s times; the longest: gap %zu, %s", text_duration(ns, gap->ns_per_step),
		  diff_times(each, gap->per_step), gap->number, text_duration(longest, gap->longest_ns));
	for (size_t i = 0; i < gap->n_lines; i++) {
		md_put(m, "<br>");
		md_clean_code(m, gap->lines[i], MD_LINE);
	}
}

static void gap(struct md *m, const struct diff_gap_change *g)
{
	const struct diff_gap *one = g->now ? g->now : g->base;
	char delta[DIFF_WORDS];

	if (!one)
		return;
	md_format(m, "**%s** a step, between ", diff_delta(delta, g->delta_ns));
	md_symbol_code(m, one->before);
	md_put(m, " and ");
	md_symbol_code(m, one->after);
	md_put(m, "\n\n| base | new |\n|---|---|\n| ");
	gap_side(m, g->base);
	md_put(m, " | ");
	gap_side(m, g->now);
	md_put(m, " |\n\n");
	md_row(m);
}

static void gaps(struct md *m, const struct diff_pair *p)
{
	if (!p->n_gaps || !md_details(m, "Gaps side by side, with their evidence", ""))
		return;
	for (size_t i = 0; i < p->n_gaps && i < GAPS; i++)
		gap(m, &p->gaps[i]);
	if (p->n_gaps > GAPS) {
		md_format(m, "and %zu more\n", p->n_gaps - GAPS);
		md_row(m);
	}
	md_details_end(m);
}

/* ---- kernels, call sites ---- */

static void cell_duration(struct md *m, bool known, int64_t ns)
{
	char text[TEXT_SHORT];

	md_format(m, " %s |", known ? text_duration(text, ns) : "");
}

static void cell_times(struct md *m, bool known, double per_step)
{
	char text[DIFF_WORDS];

	md_format(m, " %s |", known ? diff_times(text, per_step) : "");
}

static const char *kept(const void *base, const void *now)
{
	return !base ? "new" : !now ? "gone" : "";
}

static void kernel(struct md *m, const struct diff_work_change *w)
{
	const struct diff_kernel *one = w->now ? w->now : w->base;
	char bytes[DIFF_WORDS];

	if (!one)
		return;
	md_format(m, "| %s | ", kept(w->base, w->now));
	md_symbol_code(m, one->name);
	md_put(m, " |");
	cell_times(m, w->base, w->base ? w->base->per_step : 0);
	cell_times(m, w->now, w->now ? w->now->per_step : 0);
	cell_duration(m, w->base && w->base->has_ns, w->base ? w->base->ns_per_step : 0);
	cell_duration(m, w->now && w->now->has_ns, w->now ? w->now->ns_per_step : 0);
	md_format(m, " %s |\n", diff_bytes(bytes, w));
	md_row(m);
}

static void work(struct md *m, const char *title, const struct diff_work_change *all, size_t n)
{
	if (!n ||
	    !md_details(
		    m, title,
		    "| | per step | base: times | new: times | base | new | bytes |\n|---|---|--:|--:|--:|--:|--:|\n"))
		return;
	for (size_t i = 0; i < n; i++)
		kernel(m, &all[i]);
	md_details_end(m);
}

static void site(struct md *m, const struct diff_site_change *s)
{
	const struct diff_site *one = s->now ? s->now : s->base;

	if (!one)
		return;
	md_format(m, "| %s | ", kept(s->base, s->now));
	md_clean_code(m, one->where, MD_COLUMNS);
	md_put(m, " |");
	cell_times(m, s->base, s->base ? s->base->gaps : 0);
	cell_times(m, s->now, s->now ? s->now->gaps : 0);
	cell_duration(m, s->base, s->base ? s->base->idle_ns : 0);
	cell_duration(m, s->now, s->now ? s->now->idle_ns : 0);
	md_put(m, "\n");
	md_row(m);
}

static void sites(struct md *m, const struct diff_pair *p)
{
	if (!p->n_sites ||
	    !md_details(m, "Statements that held the host while the device was idle",
			"| | per step | base: gaps | new: gaps | base | new |\n|---|---|--:|--:|--:|--:|\n"))
		return;
	for (size_t i = 0; i < p->n_sites; i++)
		site(m, &p->sites[i]);
	md_details_end(m);
}

/* ---- kinds of steps, memory ---- */

static void class(struct md *m, const struct diff_class_change *c)
{
	const struct diff_compared *step = &c->compared.row[ROW_STEP];
	bool both = c->base_share > 0 && c->new_share > 0;
	char delta[DIFF_WORDS];

	md_put(m, "| ");
	md_clean_code(m, c->words, MD_COLUMNS);
	md_format(m, " | %.1f %% | %.1f %% |", 100 * c->base_share, 100 * c->new_share);
	cell_duration(m, both, step->base_ns);
	cell_duration(m, both, step->new_ns);
	md_format(m, " %s |\n", both ? diff_delta(delta, step->delta_ns) : "");
	md_row(m);
}

static void classes(struct md *m, const struct diff_pair *p)
{
	if (!p->by_class || p->n_classes < 2 ||
	    !md_details(m, "Kinds of steps",
			"| steps with | of base | of new | base | new | change |\n|---|--:|--:|--:|--:|--:|\n"))
		return;
	for (size_t i = 0; i < p->n_classes; i++)
		class(m, &p->classes[i]);
	md_details_end(m);
}

static void memory(struct md *m, const struct diff_pair *p)
{
	const struct diff_memory *b = p->base_memory, *n = p->new_memory;
	char base[TEXT_SHORT], now[TEXT_SHORT], growth[DIFF_WORDS];

	if (!b || !n || !p->memory_changed ||
	    !md_details(m, "Device memory", "| at its peak | base | new | change |\n|---|--:|--:|--:|\n"))
		return;
	md_format(m, "| allocated | %s | %s | %s |\n", text_bytes(base, b->peak_allocated),
		  text_bytes(now, n->peak_allocated), diff_growth(growth, b->peak_allocated, n->peak_allocated));
	md_format(m, "| reserved | %s | %s | %s |\n", text_bytes(base, b->peak_reserved),
		  text_bytes(now, n->peak_reserved), diff_growth(growth, b->peak_reserved, n->peak_reserved));
	if (!b->told && !n->told)
		md_format(m, "| fragmentation | %.3f | %.3f | %+.3f |\n", b->fragmentation, n->fragmentation,
			  n->fragmentation - b->fragmentation);
	md_format(m, "| out of memory | %" PRIu64 " | %" PRIu64 " | |\n", b->out_of_memory, n->out_of_memory);
	md_row(m);
	md_details_end(m);
}

void md_changes(struct md *m, const struct diff_pair *p)
{
	gaps(m, p);
	sites(m, p);
	work(m, "Collectives and messages that changed", p->comms, p->n_comms);
	work(m, "Kernels and copies that changed", p->kernels, p->n_kernels);
	classes(m, p);
	memory(m, p);
}
