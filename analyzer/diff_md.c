/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_md.c: the diff as a comment of a pull request: the answer, the rows that matter, and the rest behind a click. */
#include "diff_md.h"

#include <inttypes.h>
#include <string.h>

#include "diff_shown.h"
#include "text_symbol.h"

#define COLUMNS 100 /* of a name */
#define LINE 160    /* of evidence */
#define RUNS 8      /* a side that are named */
#define GAPS 8      /* with their evidence */

static void clean_code(struct md *m, const char *name, size_t columns)
{
	char text[4 * LINE + 4];

	md_code(m, text_clean(text, sizeof(text), name ? name : "", columns));
}

static void symbol_code(struct md *m, const char *name)
{
	char text[4 * COLUMNS + 4];

	md_code(m, text_symbol(text, sizeof(text), name, COLUMNS));
}

/* "<details><summary>Kernels</summary>": false where there is no room for it. */
static bool begin_details(struct md *m, const char *summary)
{
	md_format(m, "\n<details><summary>%s</summary>\n\n", summary);
	return md_row(m);
}

static void end_details(struct md *m)
{
	md_put(m, "\n</details>\n");
	md_end(m);
}

/* ---- rows ---- */

#define ROWS_HEAD "| | per step | base | new | change | | 95 % interval |\n|---|---|--:|--:|--:|--:|--:|\n"

static void row(struct md *m, const struct diff *d, size_t pair, size_t row)
{
	const struct diff_pair *p = &d->pairs[pair];
	const struct diff_compared *r = &p->compared.row[row];
	char base[TEXT_SHORT], now[TEXT_SHORT], delta[DIFF_WORDS], percent[DIFF_WORDS], interval[DIFF_WORDS];
	const char *strong = diff_row_fails(d, pair, row) ? "**" : "";

	md_format(m, "| `%c` | %s%s%s | %s | %s | %s%s%s | %s | %s |\n", diff_sign(r->change), strong,
		  diff_row_name(row), strong, text_duration(base, r->base_ns), text_duration(now, r->new_ns), strong,
		  diff_delta(delta, r->delta_ns), strong,
		  diff_percent(percent, r->delta_ns, p->compared.row[ROW_STEP].base_ns), diff_interval(interval, r));
	md_row(m);
}

static void rows(struct md *m, const struct diff *d, size_t pair, bool all)
{
	const struct diff_pair *p = &d->pairs[pair];
	size_t order[DIFF_ROWS];

	diff_row_order(order, p);
	md_put(m, ROWS_HEAD);
	md_row(m);
	for (size_t i = 0; i < DIFF_ROWS; i++)
		if (all ? p->compared.row[order[i]].present || order[i] == ROW_STEP : diff_row_is_shown(p, order[i]))
			row(m, d, pair, order[i]);
}

static void names_of(struct md *m, const char *what, const enum cause_id *causes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		md_format(m, "%s%s", i ? ", " : what, cause_name(causes[i]));
	if (n)
		md_put(m, ". ");
}

static void pair_head(struct md *m, const struct diff *d, const struct diff_pair *p)
{
	char title[256], sure[512];

	md_put(m, "\n");
	if (d->n_pairs > 1) {
		md_put(m, "#### ");
		md_text(m, diff_pair_title(title, sizeof(title), p));
		md_put(m, "\n\n");
	}
	if (p->reason) {
		md_format(m, "`%c` ", diff_sign(p->compared.comparable ? DIFF_INCONCLUSIVE : DIFF_NOT_COMPARABLE));
		md_text(m, p->reason);
		md_put(m, "\n\n");
	}
	md_text(m, diff_how_sure(sure, sizeof(sure), d, p));
	md_put(m, ". ");
	names_of(m, "Appeared: ", p->appeared, p->n_appeared);
	names_of(m, "Vanished: ", p->vanished, p->n_vanished);
	md_put(m, "\n\n");
	md_row(m);
}

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
		clean_code(m, gap->lines[i], LINE);
	}
}

static void gap(struct md *m, const struct diff_gap_change *g)
{
	const struct diff_gap *one = g->now ? g->now : g->base;
	char delta[DIFF_WORDS];

	if (!one)
		return;
	md_format(m, "**%s** a step, between ", diff_delta(delta, g->delta_ns));
	symbol_code(m, one->before);
	md_put(m, " and ");
	symbol_code(m, one->after);
	md_put(m, "\n\n| base | new |\n|---|---|\n| ");
	gap_side(m, g->base);
	md_put(m, " | ");
	gap_side(m, g->now);
	md_put(m, " |\n\n");
	md_row(m);
}

static void gaps(struct md *m, const struct diff_pair *p)
{
	if (!p->n_gaps || !begin_details(m, "Gaps side by side, with their evidence"))
		return;
	for (size_t i = 0; i < p->n_gaps && i < GAPS; i++)
		gap(m, &p->gaps[i]);
	if (p->n_gaps > GAPS) {
		md_format(m, "and %zu more\n", p->n_gaps - GAPS);
		md_row(m);
	}
	end_details(m);
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
	symbol_code(m, one->name);
	md_put(m, " |");
	cell_times(m, w->base, w->base ? w->base->per_step : 0);
	cell_times(m, w->now, w->now ? w->now->per_step : 0);
	cell_duration(m, w->base && w->base->has_ns, w->base ? w->base->ns_per_step : 0);
	cell_duration(m, w->now && w->now->has_ns, w->now ? w->now->ns_per_step : 0);
	md_format(m, " %s |\n", diff_bytes(bytes, w));
	md_row(m);
}

static void kernels(struct md *m, const struct diff_pair *p)
{
	if (!p->n_kernels || !begin_details(m, "Kernels and copies that changed"))
		return;
	md_put(m, "| | per step | base: times | new: times | base | new | bytes |\n|---|---|--:|--:|--:|--:|--:|\n");
	md_row(m);
	for (size_t i = 0; i < p->n_kernels; i++)
		kernel(m, &p->kernels[i]);
	end_details(m);
}

static void site(struct md *m, const struct diff_site_change *s)
{
	const struct diff_site *one = s->now ? s->now : s->base;

	if (!one)
		return;
	md_format(m, "| %s | ", kept(s->base, s->now));
	clean_code(m, one->where, COLUMNS);
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
	if (!p->n_sites || !begin_details(m, "Statements that held the host while the device was idle"))
		return;
	md_put(m, "| | per step | base: gaps | new: gaps | base | new |\n|---|---|--:|--:|--:|--:|\n");
	md_row(m);
	for (size_t i = 0; i < p->n_sites; i++)
		site(m, &p->sites[i]);
	end_details(m);
}

/* ---- kinds of steps, memory ---- */

static void class(struct md *m, const struct diff_class_change *c)
{
	const struct diff_compared *step = &c->compared.row[ROW_STEP];
	bool both = c->base_share > 0 && c->new_share > 0;
	char delta[DIFF_WORDS];

	md_put(m, "| ");
	clean_code(m, c->words, COLUMNS);
	md_format(m, " | %.1f %% | %.1f %% |", 100 * c->base_share, 100 * c->new_share);
	cell_duration(m, both, step->base_ns);
	cell_duration(m, both, step->new_ns);
	md_format(m, " %s |\n", both ? diff_delta(delta, step->delta_ns) : "");
	md_row(m);
}

static void classes(struct md *m, const struct diff_pair *p)
{
	if (!p->by_class || p->n_classes < 2 || !begin_details(m, "Kinds of steps"))
		return;
	md_put(m, "| steps with | of base | of new | base | new | change |\n|---|--:|--:|--:|--:|--:|\n");
	md_row(m);
	for (size_t i = 0; i < p->n_classes; i++)
		class(m, &p->classes[i]);
	end_details(m);
}

static void memory(struct md *m, const struct diff_pair *p)
{
	const struct diff_memory *b = p->base_memory, *n = p->new_memory;
	char base[TEXT_SHORT], now[TEXT_SHORT], growth[DIFF_WORDS];

	if (!b || !n || !p->memory_changed || !begin_details(m, "Device memory"))
		return;
	md_put(m, "| at its peak | base | new | change |\n|---|--:|--:|--:|\n");
	md_format(m, "| allocated | %s | %s | %s |\n", text_bytes(base, b->peak_allocated),
		  text_bytes(now, n->peak_allocated), diff_growth(growth, b->peak_allocated, n->peak_allocated));
	md_format(m, "| reserved | %s | %s | %s |\n", text_bytes(base, b->peak_reserved),
		  text_bytes(now, n->peak_reserved), diff_growth(growth, b->peak_reserved, n->peak_reserved));
	md_format(m, "| fragmentation | %.3f | %.3f | %+.3f |\n", b->fragmentation, n->fragmentation,
		  n->fragmentation - b->fragmentation);
	md_format(m, "| out of memory | %" PRIu64 " | %" PRIu64 " | |\n", b->out_of_memory, n->out_of_memory);
	md_row(m);
	end_details(m);
}

/* ---- the environment ---- */

static void run_line(struct md *m, const char *side, const struct diff_run *r)
{
	md_format(m, "| %s | ", side);
	clean_code(m, r->path, COLUMNS);
	if (r->count > 1)
		md_format(m, " run %d of %d", r->index + 1, r->count);
	md_put(m, " | ");
	clean_code(m, r->kind, COLUMNS);
	md_put(m, " | ");
	clean_code(m, r->timing, COLUMNS);
	md_put(m, " | ");
	clean_code(m, r->probes, COLUMNS);
	md_put(m, " |\n");
	md_row(m);
	if (r->cut) {
		md_format(m, "| | not whole: ");
		clean_code(m, r->cut, LINE);
		md_put(m, " | | | |\n");
		md_row(m);
	}
}

static void side(struct md *m, const char *name, const struct diff_run *runs, size_t n)
{
	for (size_t i = 0; i < n && i < RUNS; i++)
		run_line(m, name, &runs[i]);
	if (n > RUNS) {
		md_format(m, "| %s | and %zu more runs | | | |\n", name, n - RUNS);
		md_row(m);
	}
}

static void environment(struct md *m, const struct diff *d)
{
	if (!begin_details(m, "Runs and environment"))
		return;
	md_put(m, "| | run | recorded by | device timing | host probes |\n|---|---|---|---|---|\n");
	md_row(m);
	side(m, "base", d->base, d->n_base);
	side(m, "new", d->now, d->n_now);
	md_put(m, d->n_facts ? "\n| | base | new |\n|---|---|---|\n" : "\nNothing else of the environment changed.\n");
	md_row(m);
	for (size_t i = 0; i < d->n_facts; i++) {
		md_put(m, "| ");
		clean_code(m, d->facts[i].name, COLUMNS);
		md_put(m, " | ");
		clean_code(m, d->facts[i].base, COLUMNS);
		md_put(m, " | ");
		clean_code(m, d->facts[i].now, COLUMNS);
		md_put(m, " |\n");
		md_row(m);
	}
	end_details(m);
}

/* ---- all of it ---- */

static void answer(struct md *m, const struct diff *d)
{
	md_format(m, "### `%c` %s%s", diff_sign(d->verdict), diff_change_word(d->verdict), d->reason ? ": " : "");
	md_text(m, d->reason ? d->reason : "");
	md_put(m, "\n");
	md_row(m);
	for (size_t i = 0; i < d->n_fired; i++) {
		char title[256];

		md_put(m, i ? "- " : "\n- ");
		clean_code(m, d->fired[i].rule, COLUMNS);
		md_format(m, " is met by %s of ", diff_row_name(d->fired[i].row));
		md_text(m, diff_pair_title(title, sizeof(title), &d->pairs[d->fired[i].pair]));
		md_put(m, "\n");
		md_row(m);
	}
}

static void all_rows(struct md *m, const struct diff *d, size_t pair)
{
	if (!begin_details(m, "All rows"))
		return;
	rows(m, d, pair, true);
	end_details(m);
}

void diff_md(FILE *out, const struct diff *d)
{
	struct md m = { .out = out };

	answer(&m, d);
	for (size_t i = 0; i < d->n_pairs; i++) {
		pair_head(&m, d, &d->pairs[i]);
		rows(&m, d, i, false);
	}
	for (size_t i = 0; i < d->n_pairs; i++) {
		if (d->n_pairs > 1) {
			char title[256];

			md_put(&m, "\n#### ");
			md_text(&m, diff_pair_title(title, sizeof(title), &d->pairs[i]));
			md_put(&m, ": what changed\n");
			md_row(&m);
		}
		gaps(&m, &d->pairs[i]);
		sites(&m, &d->pairs[i]);
		kernels(&m, &d->pairs[i]);
		classes(&m, &d->pairs[i]);
		memory(&m, &d->pairs[i]);
		all_rows(&m, d, i);
	}
	environment(&m, d);
	md_put(&m, "\n`+` regressed · `-` improved · `~` unchanged · `?` inconclusive · `x` not comparable\n");
	if (m.left_out)
		md_format(
			&m,
			"\n%zu lines are left out: a comment has room for %d bytes. `gpushim diff --html` has them all.\n",
			m.left_out, MD_BYTES);
	md_end(&m);
}
