/* SPDX-License-Identifier: BSD-2-Clause */
/* report_advice.c: for people, the few that matter most. For programs: report_advice_json.c. */
#include "report_advice.h"

#include <stdio.h>
#include <string.h>

#include "tools/ns.h"
#include "tools/text.h"

#define ADVICE_ROWS 4 /* of one screen, of many devices one less … */
#define FEW_DEVICES 2
#define ADVICE_LINES 2 /* … in so many lines each */
#define EVIDENCE_ROWS 1

/* Devices of one run mostly have the same trouble: the worst is told, the others are counted. */
static size_t others(const struct advices *list, size_t i)
{
	size_t n = 0;

	for (size_t k = i + 1; k < list->n; k++)
		n += list->at[k].id == list->at[i].id && list->at[k].about == list->at[i].about;
	return n;
}

static bool was_said(const struct advices *list, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (list->at[k].id == list->at[i].id && list->at[k].about == list->at[i].about)
			return true;
	return false;
}

/* Is most of what it could win back inferred, not observed? */
static bool is_inferred(const struct advice *a)
{
	return a->observed_ns < (a->lost_ns + a->likely_ns) / 10 * 9;
}

/* "at most 96.3 % faster; then compute 1.44 s" */
static void gain(const struct page *p, const struct summary *s, const struct advice *a, size_t n_others)
{
	char next[TEXT_SHORT], faster[64], on[64] = "", line[256];
	unsigned at = (unsigned)strlen(advice_name(a)) + 4;

	if (s->n_devices > 1)
		snprintf(on, sizeof(on), "device %u%s: ", s->devices[a->device].number, n_others ? " and others" : "");
	if (a->ceiling < 1)
		snprintf(faster, sizeof(faster), "%.1f %% faster", 100 * a->ceiling);
	else
		snprintf(faster, sizeof(faster), "%.1f times as fast", 1 + a->ceiling);
	snprintf(line, sizeof(line), "%sat most %s%s; then %s bounds it, %s", on, faster,
		 is_inferred(a) ? " (inferred)" : "", a->next, text_duration(next, a->next_ns));
	fputs("  ", p->out);
	page_ink(p, INK_CAUSE, "%s", advice_name(a));
	fputs("  ", p->out);
	page_wrap(p, INK_PLAIN, at, 4, line);
}

static void row(const struct page *p, const struct summary *s, const struct advice *a, size_t n_others)
{
	char line[1200];

	gain(p, s, a, n_others);
	fputs("    ", p->out);
	page_wrap(p, INK_PLAIN, 4, 4, a->why);
	snprintf(line, sizeof(line), "-> %s", a->what);
	fputs("    ", p->out);
	page_wrap(p, INK_PLAIN, 4, 7, line);
	for (size_t i = 0; i < a->n_evidence && i < EVIDENCE_ROWS; i++) {
		fputs("    ", p->out);
		page_wrap(p, INK_DIM, 4, 7, a->evidence[i]);
	}
}

/* "  76.8 %  more-workers: prefetch two batches each, do less for each batch" */
static void short_row(const struct page *p, const struct summary *s, const struct advice *a, size_t n_others)
{
	char faster[32], on[48] = "", line[1200];
	unsigned at;

	if (s->n_devices > 1)
		snprintf(on, sizeof(on), " on device %u%s", s->devices[a->device].number,
			 n_others ? " and others" : "");
	if (a->ceiling < 1)
		snprintf(faster, sizeof(faster), "%.1f %%", 100 * a->ceiling);
	else
		snprintf(faster, sizeof(faster), "%.1f times", 1 + a->ceiling);
	snprintf(line, sizeof(line), "%s%s: %s", on, is_inferred(a) ? " (inferred)" : "", a->what);
	at = (unsigned)fprintf(p->out, "  %10s  ", faster) + (unsigned)strlen(advice_name(a));
	page_ink(p, INK_CAUSE, "%s", advice_name(a));
	if (line[0] == ' ') {
		fputc(' ', p->out);
		at++;
	}
	page_wrap_lines(p, INK_PLAIN, at, 14, ADVICE_LINES, line + (line[0] == ' '));
}

static void title(const struct page *p, size_t n)
{
	page_ink(p, INK_TITLE, "what to do");
	if (!n)
		page_ink(p, INK_DIM, "  nothing: no loss is a hundredth of the time\n");
	else if (p->style->full)
		page_ink(p, INK_DIM, "  and what it can give at most\n");
	else
		page_ink(p, INK_DIM, "  and how much faster it can be then at most; why: --advice\n");
}

static enum err_kind list(const struct page *p, const struct summary *s, struct error *e)
{
	struct advices all;
	enum err_kind kind = advices_build(&all, s, e);
	size_t shown = 0, left = 0;

	if (kind)
		return kind;
	title(p, all.n);
	for (size_t i = 0; i < all.n; i++) {
		if (was_said(&all, i))
			continue;
		if (!p->style->full && shown == ADVICE_ROWS - (s->n_devices > FEW_DEVICES)) {
			left++;
			continue;
		}
		(p->style->full ? row : short_row)(p, s, &all.at[i], others(&all, i));
		shown++;
	}
	if (left)
		page_ink(p, INK_DIM, "  and %zu more: --advice\n", left);
	advices_free(&all);
	return ERR_NONE;
}

enum err_kind report_advice(const struct page *p, const struct summary *s, struct error *e)
{
	fputc('\n', p->out);
	return list(p, s, e);
}

enum err_kind report_advice_page(FILE *out, const struct summary *s, const struct report_style *style, struct error *e)
{
	struct report_style full = *style;
	const struct page p = { out, &full };

	full.full = true;
	if (!s->n_devices) {
		fputs("no device work was recorded: there is nothing to advise\n", out);
		return ERR_NONE;
	}
	return list(&p, s, e);
}
