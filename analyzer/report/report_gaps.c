/* SPDX-License-Identifier: BSD-2-Clause */
#include "report_gaps.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report_chain.h"
#include "report_totals.h"
#include "tools/text.h"

#define GAP_LEFT 39    /* columns before a gap's causes */
#define CAUSE 24       /* … of the longest cause with its share, at most */
#define CHAIN_LEAST 40 /* … of a chain, before its row also says the place */
#define FEW_DEVICES 2  /* of more, which take lines themselves, fewer gaps are listed */
#define WIDE 100       /* from so many columns on a row also says when, and how sure its length is */

/* "input-wait 98 %, sync-bubble 2 %" */
static void why_line(const struct gap_story *g, char *buf, size_t size)
{
	int64_t causes[CAUSE_COUNT] = { 0 };
	enum cause_id order[CAUSE_COUNT];
	double whole = (double)(g->gap->end_ns - g->gap->begin_ns);
	size_t used = 0;
	int n;

	for (size_t i = 0; i < g->n_causes; i++)
		causes[g->causes[i].cause] += g->causes[i].end_ns - g->causes[i].begin_ns;
	n = totals_rank(causes, order);
	buf[0] = 0;
	while (n > 1 && (double)causes[order[n - 1]] < whole / 200) /* would read 0 % */
		n--;
	for (int i = 0; i < n && i < 2 && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s %.0f %%", i ? ", " : "", cause_name(order[i]),
					 100.0 * (double)causes[order[i]] / whole);
	if (n > 2 && used < size)
		snprintf(buf + used, size - used, ", +%d", n - 2);
}

/* "± 12 us", rounded: it says how sharp the length is, no more. */
static const char *error_text(const struct page *p, char buf[TEXT_SHORT], int64_t ns)
{
	const char *sign = p->style->utf8 ? "± " : "+- ";

	if (ns < 1000)
		snprintf(buf, TEXT_SHORT, "%s%d ns", sign, (int)ns);
	else if (ns < 1000000)
		snprintf(buf, TEXT_SHORT, "%s%d us", sign, (int)(ns / 1000));
	else
		snprintf(buf, TEXT_SHORT, "%s%" PRId64 " ms", sign, ns / 1000000);
	return buf;
}

static void gap_row(const struct page *p, const struct summary *s, size_t number)
{
	const struct summary_device *d = NULL;
	const struct gap_story *g = summary_gap(s, number, &d);
	const struct gap_cause *c = totals_main_cause(g, -1);
	char at[TEXT_SHORT], length[TEXT_SHORT], error[TEXT_SHORT], why[128], line[1024], chain[1024], on[16] = "";
	unsigned left = GAP_LEFT;

	if (s->n_devices > 1)
		left += (unsigned)snprintf(on, sizeof(on), " dev%-3u", d->number);
	why_line(g, why, sizeof(why));
	fprintf(p->out, "  %6zu%s %9s", number, on, text_duration(at, g->gap->begin_ns - d->timeline->begin_ns));
	page_ink(p, INK_IDLE, " %9s ", text_duration(length, g->gap->end_ns - g->gap->begin_ns));
	error_text(p, error, g->gap->begin_error_ns + g->gap->end_error_ns);
	page_ink(p, INK_DIM, p->style->utf8 ? "%-10s " : "%-9s ", error);
	page_wrap(p, INK_PLAIN, left, left, why);
	if (!c)
		return;
	fputs("         ", p->out);
	page_wrap(p, INK_DIM, 9, 11, text_clean(line, sizeof(line), c->evidence[0], 3 * p->style->columns - 36));
	report_chain_line(chain, sizeof(chain), c, p->style->utf8);
	if (*chain) {
		fputs("         ", p->out);
		page_wrap(p, INK_PLAIN, 9, 11, text_clean(line, sizeof(line), chain, 3 * p->style->columns - 36));
	}
	if (!c->place || c->place == c->evidence[0])
		return;
	fputs("         ", p->out);
	page_wrap(p, INK_PLAIN, 9, 11, c->place);
}

/* ---- one line each -------------------------------------------------------------------------------------- */

/* "input-wait 85 %": the cause that owns most, and its share where it is not all. */
static void main_cause(const struct gap_story *g, char *buf, size_t size)
{
	int64_t causes[CAUSE_COUNT] = { 0 }, whole = g->gap->end_ns - g->gap->begin_ns;
	enum cause_id order[CAUSE_COUNT];
	double share;

	for (size_t i = 0; i < g->n_causes; i++)
		causes[g->causes[i].cause] += g->causes[i].end_ns - g->causes[i].begin_ns;
	*buf = 0;
	if (!totals_rank(causes, order))
		return;
	share = 100.0 * (double)causes[order[0]] / (double)whole;
	if (share >= 99.5)
		snprintf(buf, size, "%s", cause_name(order[0]));
	else
		snprintf(buf, size, "%s %.0f %%", cause_name(order[0]), share);
}

/* "18 samples: pread64 path=/data/set/a.tar" without its folders, where it would not fit. */
static void evidence(const char *text, char *buf, size_t size, unsigned room)
{
	const char *path = strstr(text, "path=/");
	size_t n = path ? strcspn(path, " ") : 0;
	char whole[1024], name[512];

	if (!path || text_columns(text) <= room) {
		text_clean(buf, size, text, room);
		return;
	}
	snprintf(name, sizeof(name), "%.*s", (int)n, path);
	snprintf(whole, sizeof(whole), "%.*s%s%s", (int)(path - text), text, text_base(name), path + n);
	text_clean(buf, size, whole, room);
}

/* The chain, or where the thread was, or what proves it; of a wide page the place as well. */
static void proof(const struct page *p, const struct gap_cause *c, char *buf, size_t size, unsigned room)
{
	bool chain = c->n_chain > 1, place = c->place && c->place != c->evidence[0];
	unsigned for_place = place ? text_columns(c->place) + 2 : 0;
	char line[1024];

	if (!chain) {
		evidence(place ? c->place : c->evidence[0], buf, size, room);
		return;
	}
	if (for_place + CHAIN_LEAST > room)
		for_place = 0;
	report_chain_short(line, sizeof(line), c, p->style->utf8, room - for_place);
	if (for_place && text_columns(line) + for_place <= room) {
		size_t used = strlen(line);

		snprintf(line + used, sizeof(line) - used, "; %s", c->place);
	}
	text_clean(buf, size, line, room);
}

/* Columns that the rows need for their causes. */
static unsigned cause_width(const struct summary *s, const size_t *numbers, size_t n)
{
	const struct summary_device *d;
	unsigned width = 0;
	char why[64];

	for (size_t i = 0; i < n; i++) {
		main_cause(summary_gap(s, numbers[i], &d), why, sizeof(why));
		width = text_columns(why) > width ? text_columns(why) : width;
	}
	return width < CAUSE ? width : CAUSE;
}

static void gap_line(const struct page *p, const struct summary *s, size_t number, unsigned width)
{
	const struct summary_device *d = NULL;
	const struct gap_story *g = summary_gap(s, number, &d);
	const struct gap_cause *c = totals_main_cause(g, -1);
	char at[TEXT_SHORT], length[TEXT_SHORT], error[TEXT_SHORT], why[64], text[1024] = "";
	unsigned left = 2 + 6 + 12 + width;

	main_cause(g, why, sizeof(why));
	fprintf(p->out, "  %6zu", number);
	if (s->n_devices > 1)
		left += (unsigned)fprintf(p->out, " dev%-3u", d->number);
	if (p->style->columns >= WIDE)
		left += (unsigned)fprintf(p->out, " %9s", text_duration(at, g->gap->begin_ns - d->timeline->begin_ns));
	page_ink(p, INK_IDLE, " %9s  ", text_duration(length, g->gap->end_ns - g->gap->begin_ns));
	if (p->style->columns >= WIDE) {
		error_text(p, error, g->gap->begin_error_ns + g->gap->end_error_ns);
		page_ink(p, INK_DIM, p->style->utf8 ? "%-10s " : "%-9s ", error);
		left += 11;
	}
	if (c && left + 2 < p->style->columns)
		proof(p, c, text, sizeof(text), p->style->columns - left - 2);
	if (*text)
		fprintf(p->out, "%-*s  %s\n", (int)width, why, text);
	else
		fprintf(p->out, "%s\n", why);
}

static size_t usual(const struct page *p, const struct summary *s)
{
	if (p->style->full)
		return 8;
	return s->n_devices > FEW_DEVICES ? 3 : 5;
}

enum err_kind report_gaps(const struct page *p, const struct summary *s, size_t top, struct error *e)
{
	size_t n = top == REPORT_GAPS ? usual(p, s) : top;
	size_t *numbers = summary_longest(s, &n);
	unsigned width;

	if (!numbers)
		return err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	width = cause_width(s, numbers, n);
	if (n) {
		page_ink(p, INK_TITLE, "\nlongest gaps");
		page_ink(p, INK_DIM, "  %zu of %zu; the whole story of one: --why NUMBER\n", n, s->n_gaps);
	}
	if (n && p->style->full)
		page_ink(p, INK_DIM, "  %6s%s %9s %9s %9s %s\n", "gap", s->n_devices > 1 ? " on    " : "", "at",
			 "length", "", "why");
	for (size_t i = 0; i < n; i++)
		if (p->style->full)
			gap_row(p, s, numbers[i]);
		else
			gap_line(p, s, numbers[i], width);
	free(numbers);
	return ERR_NONE;
}
