/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_md.c: the diff as a comment of a pull request: the answer, the rows that matter, and the rest behind a click. */
#include "diff_md.h"

#define RUNS 8                               /* a side that are named */
#define RULES 16                             /* that are met, and named */
#define NAMED 24                             /* devices of which no more than the number is told */
#define TABLES (MD_BYTES / 2)                /* bytes, up to the last device's rows: what changed has the rest */
#define CHANGES (MD_BYTES - MD_SAVED - 1000) /* of them a device's changes begin before */

/* ---- rows ---- */

#define ROWS_HEAD "| | per step | base | new | change | | 95 % interval |\n|---|---|--:|--:|--:|--:|--:|\n"

static void row(struct md *m, const struct diff *d, size_t pair, size_t row)
{
	const struct diff_pair *p = &d->pairs[pair];
	const struct diff_compared *r = diff_shown_row(p, row);
	char base[TEXT_SHORT], now[TEXT_SHORT], delta[DIFF_WORDS], percent[DIFF_WORDS], interval[DIFF_WORDS];
	const char *strong = diff_row_fails(d, pair, row) ? "**" : "";

	md_format(m, "| `%c` | %s%s%s | %s | %s | %s%s%s | %s | %s |\n", diff_sign(r->change), strong,
		  diff_shown_name(row), strong, text_duration(base, r->base_ns), text_duration(now, r->new_ns), strong,
		  diff_delta(delta, r->delta_ns), strong,
		  diff_percent(percent, r->delta_ns, p->compared.row[ROW_STEP].base_ns), diff_interval(interval, r));
}

static void rows(struct md *m, const struct diff *d, size_t pair)
{
	size_t order[DIFF_SHOWN] = { [DIFF_ROWS] = DIFF_TAIL };

	diff_row_order(order, &d->pairs[pair]);
	md_put(m, ROWS_HEAD);
	for (size_t i = 0; i < DIFF_SHOWN; i++)
		if (diff_row_is_shown(&d->pairs[pair], order[i]))
			row(m, d, pair, order[i]);
}

static void all_rows(struct md *m, const struct diff *d, size_t pair)
{
	const struct diff_pair *p = &d->pairs[pair];
	size_t order[DIFF_SHOWN] = { [DIFF_ROWS] = DIFF_TAIL };

	if (!md_details(m, "All rows", ROWS_HEAD))
		return;
	diff_row_order(order, p);
	for (size_t i = 0; i < DIFF_SHOWN; i++) {
		if (!diff_shown_row(p, order[i])->present && order[i] != ROW_STEP)
			continue;
		row(m, d, pair, order[i]);
		md_row(m);
	}
	md_details_end(m);
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
}

/* ---- the environment ---- */

static void run_line(struct md *m, const char *side, const struct diff_run *r)
{
	md_format(m, "| %s | ", side);
	md_clean_code(m, r->path, MD_COLUMNS);
	if (r->count > 1)
		md_format(m, " run %d of %d", r->index + 1, r->count);
	md_put(m, " | ");
	md_clean_code(m, r->kind, MD_COLUMNS);
	md_put(m, " | ");
	md_clean_code(m, r->timing, MD_COLUMNS);
	md_put(m, " | ");
	md_clean_code(m, r->probes, MD_COLUMNS);
	md_put(m, " |\n");
	md_row(m);
	if (r->cut) {
		md_format(m, "| | not whole: ");
		md_clean_code(m, r->cut, MD_LINE);
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
	bool room;

	if (!md_details(m, "Runs and environment",
			"| | run | recorded by | device timing | host probes |\n|---|---|---|---|---|\n"))
		return;
	side(m, "base", d->base, d->n_base);
	side(m, "new", d->now, d->n_now);
	md_put(m, d->n_facts ? "\n| | base | new |\n|---|---|---|\n" : "\nNothing else of the environment changed.\n");
	room = md_row(m);
	for (size_t i = 0; i < d->n_facts && room; i++) {
		md_put(m, "| ");
		md_clean_code(m, d->facts[i].name, MD_COLUMNS);
		md_put(m, " | ");
		md_clean_code(m, d->facts[i].base, MD_COLUMNS);
		md_put(m, " | ");
		md_clean_code(m, d->facts[i].now, MD_COLUMNS);
		md_put(m, " |\n");
		md_row(m);
	}
	md_details_end(m);
}

/* ---- devices ---- */

/* "3, 4 (rank 12) and 7 more": from the one on that w was at last. */
static void numbers(struct md *m, struct diff_walk w, size_t n)
{
	for (size_t i = 0; i < n && i < NAMED && diff_walk_next(&w); i++) {
		const struct diff_run_device *base = w.d->pairs[w.pair].base;

		md_format(m, "%s%u", i ? ", " : "", base ? base->number : 0);
		if (base && base->rank != GST_NONE && base->rank != base->number)
			md_format(m, " (rank %u)", base->rank);
	}
	if (n > NAMED)
		md_format(m, " and %zu more", n - NAMED);
}

/* Those in which nothing changed come last: one line is all of them. The note is the same for each. */
static void unchanged_devices(struct md *m, struct diff_walk w, size_t n)
{
	struct diff_walk first = w;
	const char *reason = diff_walk_next(&first) ? w.d->pairs[first.pair].reason : NULL;

	if (!n)
		return;
	md_format(m, "\n`~` %zu device%s unchanged: ", n, n == 1 ? " is" : "s are");
	numbers(m, w, n);
	if (reason) {
		md_put(m, ". ");
		md_text(m, reason);
	}
	md_put(m, "\n");
	md_end(m);
}

static void skipped_devices(struct md *m, struct diff_walk w, size_t n)
{
	if (!n)
		return;
	md_format(m, "\n%zu more device%s for which there is no room here: ", n, n == 1 ? "" : "s");
	numbers(m, w, n);
	md_put(m, "\n");
	md_end(m);
}

static bool is_folded(const struct diff *d, size_t pair)
{
	return d->n_pairs > 1 && diff_pair_verdict(&d->pairs[pair]) == DIFF_UNCHANGED;
}

/* Each one's head and rows, or nothing of it. → how many are told of */
static size_t devices(struct md *m, const struct diff *d, size_t *skipped)
{
	struct diff_walk w = { .d = d }, before = w, not_told = w;
	size_t told = 0;

	*skipped = 0;
	for (; diff_walk_next(&w) && !is_folded(d, w.pair); before = w) {
		if (!*skipped) {
			pair_head(m, d, &d->pairs[w.pair]);
			rows(m, d, w.pair);
			not_told = before;
		}
		if (!*skipped && md_row_within(m, told ? TABLES : MD_BYTES - MD_SAVED))
			told++;
		else
			(*skipped)++;
	}
	skipped_devices(m, not_told, *skipped);
	unchanged_devices(m, before, d->n_pairs - told - *skipped);
	return told;
}

static void changes(struct md *m, const struct diff *d, size_t pair)
{
	const struct diff_pair *p = &d->pairs[pair];

	if (d->n_pairs > 1) {
		char title[256];

		md_put(m, "\n#### ");
		md_text(m, diff_pair_title(title, sizeof(title), p));
		md_put(m, ": what changed\n");
		if (!md_row_within(m, CHANGES)) {
			m->left_out++;
			return;
		}
	}
	md_changes(m, p);
	all_rows(m, d, pair);
}

/* ---- all of it ---- */

static void answer(struct md *m, const struct diff *d)
{
	md_format(m, "### `%c` %s%s", diff_sign(d->verdict), diff_change_word(d->verdict), d->reason ? ": " : "");
	md_text(m, d->reason ? d->reason : "");
	md_put(m, "\n");
	md_row(m);
	for (size_t i = 0; i < d->n_fired && i < RULES; i++) {
		char title[256];

		md_put(m, i ? "- " : "\n- ");
		md_clean_code(m, d->fired[i].rule, MD_COLUMNS);
		md_format(m, " is met by %s of ", diff_row_name(d->fired[i].row));
		md_text(m, diff_pair_title(title, sizeof(title), &d->pairs[d->fired[i].pair]));
		md_put(m, "\n");
		md_row(m);
	}
	if (d->n_fired > RULES) {
		md_format(m, "- and %zu more\n", d->n_fired - RULES);
		md_row(m);
	}
}

static void left_out(struct md *m, size_t devices)
{
	if (!devices && !m->left_out)
		return;
	md_put(m, "\n");
	if (devices)
		md_format(m, "%zu device%s%s", devices, devices == 1 ? "" : "s", m->left_out ? " and " : "");
	if (m->left_out)
		md_format(m, "%zu line%s", m->left_out, m->left_out == 1 ? "" : "s");
	md_format(m, " %s left out: a comment has room for %d bytes. `gpushim diff --html` has them all.\n",
		  devices + m->left_out == 1 ? "is" : "are", MD_BYTES);
}

void diff_md(FILE *out, const struct diff *d)
{
	struct md m = { .out = out };
	struct diff_walk w = { .d = d };
	size_t skipped, told;

	answer(&m, d);
	told = devices(&m, d, &skipped);
	for (size_t i = 0; i < told && diff_walk_next(&w); i++)
		changes(&m, d, w.pair);
	environment(&m, d);
	md_put(&m, "\n`+` regressed · `-` improved · `~` unchanged · `?` inconclusive · `x` not comparable\n");
	left_out(&m, skipped);
	md_end(&m);
}
