/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_text.c: a diff on one screen: the verdict, the rows, then what changed and the gaps that say it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diff_text.h"
#include "tools/text_symbol.h"

#define DEVICES 4 /* that are told of in full: the worst first */
#define CAUSES 8  /* rows of causes on a screen */
#define LIST 4    /* of kernels, sites, gaps */
#define STORY 3   /* lines of a gap */
#define LABEL 9   /* columns of a paragraph's name */

static enum ink ink_of(enum diff_change change)
{
	return change == DIFF_REGRESSED ? INK_WARN : change == DIFF_IMPROVED ? INK_COPY : INK_DIM;
}

/* ---- the verdict ---- */

static void verdict(const struct page *p, const struct diff *d)
{
	char text[640];

	snprintf(text, sizeof(text), "%c %s: %.500s", diff_sign(d->verdict), diff_change_word(d->verdict), d->reason);
	page_wrap(p, d->verdict == DIFF_UNCHANGED ? INK_TITLE : ink_of(d->verdict), 0, 2, text);
	for (size_t i = 0; i < d->n_fired; i++) {
		const struct diff_pair *pair = &d->pairs[d->fired[i].pair];
		char rule[96], title[160];

		text_clean(rule, sizeof(rule), d->fired[i].rule, 60);
		snprintf(text, sizeof(text), "  --fail-on %s: it is, on %s", rule,
			 diff_pair_title(title, sizeof(title), pair));
		page_wrap(p, INK_WARN, 0, 4, text);
	}
	if (d->n_rules && !d->n_fired && d->n_pairs)
		page_ink(p, INK_DIM, "  --fail-on: %s\n",
			 d->rules_unsure ? "not sure that no row is worse than that" : "no row is worse than that");
}

/* ---- rows ---- */

static const char *row_name(size_t row)
{
	static const char *const busy[] = { "compute", "communication", "copies, memsets" };

	return row >= ROW_LEAVES && row < ROW_LEAVES + LEAF_CAUSES ? busy[row - ROW_LEAVES] : diff_row_name(row);
}

static void row_line(const struct page *p, const struct diff_pair *pair, size_t row)
{
	const struct diff_compared *r = &pair->compared.row[row];
	char base[TEXT_SHORT], now[TEXT_SHORT], delta[DIFF_WORDS], part[DIFF_WORDS], between[DIFF_WORDS] = "";
	bool cause = row >= ROW_LEAVES + LEAF_CAUSES;

	if (pair->compared.comparable)
		diff_interval(between, r);
	page_ink(p, ink_of(r->change), "%c ", diff_sign(r->change));
	page_ink(p, cause ? INK_CAUSE : INK_PLAIN, "%s%-*s", cause ? "  " : "", cause ? 17 : 19, row_name(row));
	page_ink(p, INK_PLAIN, "%10s %10s %11s %8s  ", text_duration(base, r->base_ns), text_duration(now, r->new_ns),
		 diff_delta(delta, r->delta_ns), diff_percent(part, r->delta_ns, pair->compared.row[ROW_STEP].base_ns));
	page_ink(p, INK_DIM, "%s\n", between);
}

static void rows(const struct page *p, const struct diff_pair *pair)
{
	size_t order[DIFF_ROWS], causes = 0, hidden = 0;

	page_ink(p, INK_DIM, "  %-19s%10s %10s %11s %8s  %s\n", "of a step", "base", "new", "difference", "of step",
		 pair->compared.comparable ? "95 % between" : "");
	diff_row_order(order, pair);
	for (size_t i = 0; i < DIFF_ROWS; i++) {
		bool cause = order[i] >= ROW_LEAVES + LEAF_CAUSES;

		if (!diff_row_is_shown(pair, order[i]) && !(p->style->full && pair->compared.row[order[i]].present))
			continue;
		if (cause && causes == CAUSES && !p->style->full) {
			hidden++;
			continue;
		}
		causes += cause;
		row_line(p, pair, order[i]);
	}
	if (hidden)
		page_ink(p, INK_DIM, "    %zu more: --json, --html FILE\n", hidden);
}

/* What long steps add: no row has it, as a typical step is none of them. */
static void tail(const struct page *p, const struct diff_pair *pair)
{
	const struct diff_device *c = &pair->compared;
	char base[TEXT_SHORT], now[TEXT_SHORT], text[240];

	if (!diff_row_is_shown(pair, DIFF_TAIL))
		return;
	snprintf(text, sizeof(text), "%c long steps add %s to the mean step in base, %s in new",
		 diff_sign(c->tail.change), text_duration(base, c->base_tail_ns), text_duration(now, c->new_tail_ns));
	page_ink(p, INK_PLAIN, "  %-*s", LABEL, "tail");
	page_wrap(p, ink_of(c->tail.change), LABEL + 2, LABEL + 2, text);
}

static void notes(const struct page *p, const struct diff *d, const struct diff_pair *pair)
{
	char text[640];

	if (pair->reason) {
		char why[520];

		page_ink(p, INK_PLAIN, "  %-*s", LABEL, "note");
		page_wrap(p, INK_PLAIN, LABEL + 2, LABEL + 2,
			  text_clean(why, sizeof(why), pair->reason, sizeof(why) - 4));
	}
	if (pair->compared.comparable) {
		page_ink(p, INK_PLAIN, "  %-*s", LABEL, "sure");
		page_wrap(p, INK_DIM, LABEL + 2, LABEL + 2, diff_how_sure(text, sizeof(text), d, pair));
	}
}

/* ---- what changed ---- */

struct list { /* a paragraph: its name stands before the first line */
	const struct page *page;
	const char *name;
	size_t n, most;
};

static bool begin_line(struct list *l)
{
	if (l->n++ >= l->most)
		return false;
	page_ink(l->page, INK_PLAIN, "  %-*s", LABEL, l->n == 1 ? l->name : "");
	return true;
}

static void end_list(const struct list *l)
{
	if (l->n > l->most)
		page_ink(l->page, INK_DIM, "  %-*s%zu more: --json, --html FILE\n", LABEL, "", l->n - l->most);
}

static void line(struct list *l, const char *text)
{
	if (begin_line(l))
		page_wrap_lines(l->page, INK_PLAIN, LABEL + 2, LABEL + 4, 2, text);
}

static struct list list_of(const struct page *p, const char *name)
{
	return (struct list){ .page = p, .name = name, .most = p->style->full ? SIZE_MAX : LIST };
}

static void kinds(const struct page *p, const struct diff_pair *pair)
{
	struct list l = list_of(p, "steps");
	char text[320], words[160];

	if (!pair->by_class)
		return;
	line(&l, "differ in kind, and not equally often: compared kind by kind, as often as base has each");
	for (size_t i = 0; i < pair->n_classes; i++) {
		const struct diff_class_change *c = &pair->classes[i];

		snprintf(text, sizeof(text), "%.0f %% of base's, %.0f %% of new's: %s", 100 * c->base_share,
			 100 * c->new_share, text_clean(words, sizeof(words), c->words, 100));
		line(&l, text);
	}
	end_list(&l);
}

static void causes(const struct page *p, const struct diff_pair *pair)
{
	struct list l = list_of(p, "causes");
	char text[160];

	for (size_t i = 0; i < pair->n_appeared; i++) {
		snprintf(text, sizeof(text), "%s appeared: %s", cause_name(pair->appeared[i]),
			 cause_title(pair->appeared[i]));
		line(&l, text);
	}
	for (size_t i = 0; i < pair->n_vanished; i++) {
		snprintf(text, sizeof(text), "%s vanished", cause_name(pair->vanished[i]));
		line(&l, text);
	}
	end_list(&l);
}

/* "gemm: 12 a step, were 10; 3.2 ms, were 2.9 ms", "copy within the device: 1 a step, were 1; 4.0 KiB to 8.0 KiB" */
static void work(const struct page *p, const char *title, const struct diff_work_change *all, size_t n_all)
{
	struct list l = list_of(p, title);

	for (size_t i = 0; i < n_all; i++) {
		const struct diff_kernel *a = all[i].base, *b = all[i].now;
		char name[128], n[DIFF_WORDS], m[DIFF_WORDS], was[TEXT_SHORT], is[TEXT_SHORT], bytes[DIFF_WORDS];
		char text[640], time[96] = "";

		text_symbol(name, sizeof(name), (a ? a : b)->name, 60);
		diff_bytes(bytes, &all[i]);
		if (a && b && a->has_ns && b->has_ns)
			snprintf(time, sizeof(time), "; %s of a step, were %s", text_duration(is, b->ns_per_step),
				 text_duration(was, a->ns_per_step));
		else if ((a ? a : b)->has_ns)
			snprintf(time, sizeof(time), "; %s of a step", text_duration(is, (a ? a : b)->ns_per_step));
		if (!a || !b)
			snprintf(text, sizeof(text), "%s %s: %s a step%s", name, a ? "vanished" : "appeared",
				 diff_times(n, (a ? a : b)->per_step), time);
		else
			snprintf(text, sizeof(text), "%s: %s a step, were %s%s", name, diff_times(n, b->per_step),
				 diff_times(m, a->per_step), time);
		if (*bytes)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "; %s", bytes);
		line(&l, text);
	}
	end_list(&l);
}

static void sites(const struct page *p, const struct diff_pair *pair)
{
	struct list l = list_of(p, "sites");

	for (size_t i = 0; i < pair->n_sites; i++) {
		const struct diff_site *a = pair->sites[i].base, *b = pair->sites[i].now;
		char where[200], was[TEXT_SHORT], is[TEXT_SHORT], text[400];

		text_clean(where, sizeof(where), (a ? a : b)->where, 100);
		snprintf(text, sizeof(text), "%s: idle for %s of a step, was %s", where,
			 b ? text_duration(is, b->idle_ns) : "nothing", a ? text_duration(was, a->idle_ns) : "nothing");
		line(&l, text);
	}
	end_list(&l);
}

static const char *change_of_bytes(char *buf, size_t size, const char *what, uint64_t base, uint64_t now)
{
	char was[TEXT_SHORT], is[TEXT_SHORT], by[DIFF_WORDS];

	snprintf(buf, size, "%s at most %s, was %s (%s)", what, text_bytes(is, now), text_bytes(was, base),
		 diff_growth(by, base, now));
	return buf;
}

static void memory(const struct page *p, const struct diff_pair *pair)
{
	struct list l = list_of(p, "memory");
	const struct diff_memory *a = pair->base_memory, *b = pair->new_memory;
	char text[160];
	int used = 0;

	if (!pair->memory_changed || !a || !b)
		return;
	line(&l, change_of_bytes(text, sizeof(text), "allocated", a->peak_allocated, b->peak_allocated));
	line(&l, change_of_bytes(text, sizeof(text), "reserved", a->peak_reserved, b->peak_reserved));
	if (!a->told && !b->told)
		used = snprintf(text, sizeof(text), "fragmentation %.2f, was %.2f; ", b->fragmentation,
				a->fragmentation);
	snprintf(text + used, sizeof(text) - (size_t)used, "out of memory %llu times, was %llu",
		 (unsigned long long)b->out_of_memory, (unsigned long long)a->out_of_memory);
	line(&l, text);
}

/* Of which cause there is so much more, or less. */
static int cause_of(const struct diff_gap_change *c)
{
	int64_t most = 0;
	int best = 0;

	for (int i = 0; i < CAUSE_COUNT; i++) {
		int64_t delta = (c->now ? c->now->causes[i] : 0) - (c->base ? c->base->causes[i] : 0);

		if ((c->delta_ns < 0 ? -delta : delta) > most) {
			most = c->delta_ns < 0 ? -delta : delta;
			best = i;
		}
	}
	return best;
}

/* Where the story comes to that cause; 0: nowhere. */
static size_t first_line(const struct diff_gap *g, int cause)
{
	for (size_t i = 0; i < g->n_lines; i++)
		if (strstr(g->lines[i], " % ") && strstr(g->lines[i], cause_name((enum cause_id)cause)))
			return i;
	return 0;
}

static void story(const struct list *l, const char *side, const struct diff_gap *g, int cause)
{
	size_t first = l->page->style->full ? 0 : first_line(g, cause);
	size_t most = l->page->style->full ? g->n_lines : first + STORY;
	char text[400], words[320];

	for (size_t i = first; i < g->n_lines && i < most; i++) {
		page_ink(l->page, INK_DIM, "  %-*s  %-4s ", LABEL, "", i > first ? "" : side);
		snprintf(text, sizeof(text), "%s", text_clean(words, sizeof(words), g->lines[i], sizeof(words) - 4));
		page_wrap_lines(l->page, INK_DIM, LABEL + 9, LABEL + 11, l->page->style->full ? 4 : 1, text);
	}
}

static void gaps(const struct page *p, const struct diff_pair *pair)
{
	struct list l = list_of(p, "gaps");

	l.most = p->style->full ? SIZE_MAX : 2;
	for (size_t i = 0; i < pair->n_gaps; i++) {
		const struct diff_gap_change *c = &pair->gaps[i];
		const struct diff_gap *one = c->now ? c->now : c->base;
		char before[100], after[100], was[TEXT_SHORT], is[TEXT_SHORT], delta[DIFF_WORDS], text[480];

		text_symbol(before, sizeof(before), one->before, 40);
		text_symbol(after, sizeof(after), one->after, 40);
		snprintf(text, sizeof(text), "%s of a step: %s, was %s: between %s and %s",
			 diff_delta(delta, c->delta_ns), c->now ? text_duration(is, c->now->ns_per_step) : "none",
			 c->base ? text_duration(was, c->base->ns_per_step) : "none", before[0] ? before : "the begin",
			 after[0] ? after : "the end");
		if (!begin_line(&l))
			continue;
		page_wrap_lines(p, INK_PLAIN, LABEL + 2, LABEL + 4, 2, text);
		if (c->base)
			story(&l, "base", c->base, cause_of(c));
		if (c->now)
			story(&l, "new", c->now, cause_of(c));
	}
	end_list(&l);
}

static void facts(const struct page *p, const struct diff *d)
{
	struct list l = list_of(p, "where");

	for (size_t i = 0; i < d->n_facts; i++) {
		char name[64], was[160], is[160], text[400];

		snprintf(text, sizeof(text), "%s: %s, was %s", text_clean(name, sizeof(name), d->facts[i].name, 40),
			 d->facts[i].now ? text_clean(is, sizeof(is), d->facts[i].now, 100) : "not said",
			 d->facts[i].base ? text_clean(was, sizeof(was), d->facts[i].base, 100) : "not said");
		line(&l, text);
	}
	end_list(&l);
}

/* ---- devices ---- */

static bool has_change(const struct diff_pair *pair)
{
	for (size_t row = 0; row < DIFF_ROWS; row++)
		if (pair->compared.row[row].change != DIFF_UNCHANGED && pair->compared.row[row].present)
			return true;
	return pair->compared.tail.change != DIFF_UNCHANGED;
}

static void device(const struct page *p, const struct diff *d, const struct diff_pair *pair)
{
	char title[200];

	page_ink(p, INK_TITLE, "\n%s\n", diff_pair_title(title, sizeof(title), pair));
	rows(p, pair);
	tail(p, pair);
	notes(p, d, pair);
	kinds(p, pair);
	causes(p, pair);
	if (has_change(pair) || p->style->full) { /* else these are how two runs of anything differ */
		gaps(p, pair);
		sites(p, pair);
	}
	work(p, "comms", pair->comms, pair->n_comms);
	work(p, "kernels", pair->kernels, pair->n_kernels);
	memory(p, pair);
}

void diff_text(FILE *out, const struct diff *d, const struct report_style *style)
{
	struct page page = { out, style };
	size_t told = 0, alike = 0;

	verdict(&page, d);
	for (struct diff_walk w = { .d = d }; diff_walk_next(&w);) {
		const struct diff_pair *pair = &d->pairs[w.pair];
		bool tell = d->n_pairs == 1 || style->full || (has_change(pair) && told < DEVICES);

		alike += !tell;
		told += tell;
		if (tell)
			device(&page, d, pair);
	}
	if (alike)
		page_ink(&page, INK_DIM, "\n%zu %sdevice%s: %s\n", alike, told ? "more " : "", alike == 1 ? "" : "s",
			 told >= DEVICES ? "--json, --html FILE" : "unchanged; --json, --html FILE");
	if (d->n_facts)
		fputc('\n', out);
	facts(&page, d);
}
