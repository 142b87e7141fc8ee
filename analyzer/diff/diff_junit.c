/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_junit.c: the diff as JUnit's XML, as CI systems show it: a suite for each device, a case for each row, the tail among them. A row that makes
 * the exit status 1 is a failure; one of which nothing is known is skipped. Times are seconds of new's step. */
#include <inttypes.h>
#include <string.h>

#include "diff_shown.h"
#include "tools/markup.h"
#include "tools/ns.h"

static void attribute(FILE *out, const char *name, const char *value)
{
	fprintf(out, " %s=\"", name);
	markup_text(out, value);
	fputc('"', out);
}

static void seconds(FILE *out, int64_t ns)
{
	ns = max64(ns, 0);
	fprintf(out, " time=\"%" PRId64 ".%09" PRId64 "\"", ns / 1000000000, ns % 1000000000);
}

static void property(FILE *out, const char *name, const char *value)
{
	fputs("      <property", out);
	attribute(out, "name", name);
	attribute(out, "value", value ? value : "");
	fputs("/>\n", out);
}

/* ---- what is true of the whole ---- */

static void runs(FILE *out, const char *side, const struct diff_run *run, size_t n)
{
	char name[64];

	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s.%zu.path", side, i + 1);
		property(out, name, run[i].path);
		snprintf(name, sizeof(name), "%s.%zu.kind", side, i + 1);
		property(out, name, run[i].kind);
		snprintf(name, sizeof(name), "%s.%zu.timing", side, i + 1);
		property(out, name, run[i].timing);
	}
}

static void properties(FILE *out, const struct diff *d)
{
	const char verdict[] = { diff_sign(d->verdict), 0 };

	fputs("    <properties>\n", out);
	property(out, "verdict", verdict);
	property(out, "reason", d->reason);
	runs(out, "base", d->base, d->n_base);
	runs(out, "new", d->now, d->n_now);
	for (size_t i = 0; i < d->n_facts; i++) {
		char name[96], text[64];

		text_clean(text, sizeof(text), d->facts[i].name, 60);
		snprintf(name, sizeof(name), "base.%s", text);
		property(out, name, d->facts[i].base);
		snprintf(name, sizeof(name), "new.%s", text);
		property(out, name, d->facts[i].now);
	}
	fputs("    </properties>\n", out);
}

/* ---- rows ---- */

static bool is_skipped(const struct diff_compared *r)
{
	return r->change == DIFF_INCONCLUSIVE || r->change == DIFF_NOT_COMPARABLE;
}

static const char *words(char buf[512], const struct diff_pair *p, size_t row)
{
	const struct diff_compared *r = diff_shown_row(p, row);
	char base[TEXT_SHORT], now[TEXT_SHORT], delta[DIFF_WORDS], percent[DIFF_WORDS], interval[DIFF_WORDS];

	diff_percent(percent, r->delta_ns, p->compared.row[ROW_STEP].base_ns);
	snprintf(buf, 512, "%s: %s a step, was %s: %s%s%s%s (95 %%: %s)", diff_change_word(r->change),
		 text_duration(now, r->new_ns), text_duration(base, r->base_ns), diff_delta(delta, r->delta_ns),
		 *percent ? ", " : "", percent, *percent ? " of the step" : "", diff_interval(interval, r));
	return buf;
}

/* How much longer a gap has become by what the row is about: idle time, or one cause of it. */
static int64_t grown(const struct diff_gap_change *g, size_t row)
{
	size_t cause = row - ROW_LEAVES - LEAF_CAUSES;

	if (row == ROW_IDLE)
		return g->delta_ns;
	return (g->now ? g->now->causes[cause] : 0) - (g->base ? g->base->causes[cause] : 0);
}

/* The story of the gap that explains most of it. Of what is no idle time none does. */
static void evidence(FILE *out, const struct diff_pair *p, size_t row)
{
	bool idle = row == ROW_IDLE || (row >= ROW_LEAVES + LEAF_CAUSES && row != DIFF_TAIL);
	const struct diff_gap *best = NULL;
	int64_t most = 0;

	for (size_t i = 0; idle && i < p->n_gaps; i++)
		if (p->gaps[i].now && p->gaps[i].now->n_lines && grown(&p->gaps[i], row) > most) {
			most = grown(&p->gaps[i], row);
			best = p->gaps[i].now;
		}
	for (size_t i = 0; best && i < best->n_lines; i++) {
		fputc('\n', out);
		markup_text(out, best->lines[i]);
	}
}

static void outcome(FILE *out, const struct diff *d, size_t pair, size_t row, const char *said)
{
	const struct diff_pair *p = &d->pairs[pair];
	const struct diff_compared *r = diff_shown_row(p, row);

	if (diff_row_fails(d, pair, row)) {
		fputs("      <failure type=\"regressed\"", out);
		attribute(out, "message", said);
		fputc('>', out);
		markup_text(out, said);
		evidence(out, p, row);
		fputs("</failure>\n", out);
	} else if (is_skipped(r)) {
		fputs("      <skipped", out);
		attribute(out, "message", p->reason && r->change == DIFF_NOT_COMPARABLE ? p->reason : said);
		fputs("/>\n", out);
	} else {
		fputs("      <system-out>", out);
		markup_text(out, said);
		fputs("</system-out>\n", out);
	}
}

static void testcase(FILE *out, const struct diff *d, size_t pair, size_t row)
{
	const struct diff_pair *p = &d->pairs[pair];
	char said[512];

	fputs("    <testcase", out);
	attribute(out, "name", diff_shown_name(row));
	fprintf(out, " classname=\"gpushim.device%u\"", p->base ? p->base->number : 0);
	seconds(out, diff_shown_row(p, row)->new_ns);
	fputs(">\n", out);
	outcome(out, d, pair, row, words(said, p, row));
	fputs("    </testcase>\n", out);
}

static void counts(FILE *out, size_t tests, size_t failures)
{
	fprintf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"0\"", tests, failures);
}

static size_t failures_of(const struct diff *d, size_t pair)
{
	size_t n = 0;

	for (size_t row = 0; row < DIFF_SHOWN; row++)
		n += diff_row_fails(d, pair, row);
	return n;
}

static size_t skipped_of(const struct diff *d, size_t pair)
{
	size_t n = 0;

	for (size_t row = 0; row < DIFF_SHOWN; row++)
		n += is_skipped(diff_shown_row(&d->pairs[pair], row)) && !diff_row_fails(d, pair, row);
	return n;
}

static void suite(FILE *out, const struct diff *d, size_t pair)
{
	char title[256];

	fputs("  <testsuite", out);
	attribute(out, "name", diff_pair_title(title, sizeof(title), &d->pairs[pair]));
	counts(out, DIFF_SHOWN, failures_of(d, pair));
	fprintf(out, " skipped=\"%zu\"", skipped_of(d, pair));
	seconds(out, d->pairs[pair].compared.row[ROW_STEP].new_ns);
	fputs(">\n", out);
	properties(out, d);
	for (size_t row = 0; row < DIFF_SHOWN; row++)
		testcase(out, d, pair, row);
	fputs("  </testsuite>\n", out);
}

/* No device is on both sides: one case says why. */
static void suite_of_none(FILE *out, const struct diff *d)
{
	fputs("  <testsuite name=\"gpushim diff\"", out);
	counts(out, 1, 0);
	fputs(" skipped=\"1\" time=\"0\">\n", out);
	properties(out, d);
	fputs("    <testcase name=\"comparable\" classname=\"gpushim\" time=\"0\">\n      <skipped", out);
	attribute(out, "message", d->reason ? d->reason : diff_change_word(d->verdict));
	fputs("/>\n    </testcase>\n  </testsuite>\n", out);
}

void diff_junit(FILE *out, const struct diff *d)
{
	size_t failures = 0;

	for (size_t i = 0; i < d->n_pairs; i++)
		failures += failures_of(d, i);
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"gpushim diff\"", out);
	counts(out, d->n_pairs ? d->n_pairs * DIFF_SHOWN : 1, failures);
	fputs(">\n", out);
	for (size_t i = 0; i < d->n_pairs; i++)
		suite(out, d, i);
	if (!d->n_pairs)
		suite_of_none(out, d);
	fputs("</testsuites>\n", out);
}
