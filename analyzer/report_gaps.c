/* SPDX-License-Identifier: BSD-2-Clause */
#include "report_gaps.h"

#include <inttypes.h>
#include <stdlib.h>

#include "report_chain.h"
#include "report_totals.h"
#include "text.h"

#define GAP_LEFT 39 /* columns before a gap's causes */

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

enum err_kind report_gaps(const struct page *p, const struct summary *s, size_t top, struct error *e)
{
	size_t n = top;
	size_t *numbers = summary_longest(s, &n);

	if (!numbers)
		return err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	if (n) {
		page_ink(p, INK_TITLE, "\nlongest gaps");
		page_ink(p, INK_DIM, "  %zu of %zu; the whole story of one: --why NUMBER\n", n, s->n_gaps);
		page_ink(p, INK_DIM, "  %6s%s %9s %9s %9s %s\n", "gap", s->n_devices > 1 ? " on    " : "", "at",
			 "length", "", "why");
	}
	for (size_t i = 0; i < n; i++)
		gap_row(p, s, numbers[i]);
	free(numbers);
	return ERR_NONE;
}
