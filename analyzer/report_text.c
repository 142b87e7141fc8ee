/* SPDX-License-Identifier: BSD-2-Clause */
/* report_text.c: the report of one screen: what the device did, why it was idle, the longest gaps, what to do, how far to trust it. */
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ns.h"
#include "report_page.h"
#include "report_trust.h"
#include "text.h"

#define LABEL 19 /* columns of a row's name */
#define NUMBERS 31
#define GAP_LEFT 39 /* columns before a gap's causes */
#define ADVICE_ROWS 3
#define EACH_DEVICE 2 /* up to so many devices, each gets its own table */

struct totals { /* of one device, or of several */
	int64_t span, compute, comm, h2d_pageable, h2d_pinned, d2h, d2d, peer, memset, idle;
	int64_t causes[CAUSE_COUNT], observed[CAUSE_COUNT];
};

static void add(int64_t *sum, int64_t ns)
{
	*sum = sum64(*sum, ns);
}

static void add_device(struct totals *t, const struct summary_device *d)
{
	add(&t->span, d->span_ns);
	add(&t->compute, d->timeline->compute_ns);
	add(&t->comm, d->timeline->comm_ns);
	add(&t->h2d_pageable, d->h2d_pageable_ns);
	add(&t->h2d_pinned, d->h2d_pinned_ns);
	add(&t->d2h, d->d2h_ns);
	add(&t->d2d, d->d2d_ns);
	add(&t->peer, d->peer_ns);
	add(&t->memset, d->memset_ns);
	add(&t->idle, d->timeline->idle_ns);
	for (int i = 0; i < CAUSE_COUNT; i++) {
		add(&t->causes[i], d->attribution.causes_ns[i]);
		add(&t->observed[i], d->attribution.observed_ns[i]);
	}
}

static unsigned bar_width(const struct page *p)
{
	unsigned width = p->style->columns - LABEL - NUMBERS - 2;

	return width > 60 ? 60 : width;
}

/* ---- the head ---- */

static const char *ending(const struct summary *s)
{
	return s->running ? ", still running" : s->cut ? ", cut short" : s->unknown ? ", cut short or still going" : "";
}

static const char *title(const struct trace *t)
{
	const char *command = text_command(t->header.cmdline[0] ? t->header.cmdline : t->header.exe);

	return command[0] ? command : text_base(t->path);
}

static void head(const struct page *p, const struct summary *s)
{
	const struct trace *t = s->run->traces[0];
	char command[512], host[64], length[TEXT_SHORT];
	int64_t begin = t->begin_ns, end = t->end_ns;

	for (size_t i = 0; i < s->run->n_traces; i++) {
		const struct trace *other = s->run->traces[i];

		if (other->n_calls > t->n_calls)
			t = other;
		begin = other->begin_ns < begin ? other->begin_ns : begin;
		end = other->end_ns > end ? other->end_ns : end;
	}
	page_ink(p, INK_TITLE, "%s\n", text_clean(command, sizeof(command), title(t), p->style->columns));
	fprintf(p->out, "%zu process%s on %s, recorded for %s%s\n", s->run->n_traces, s->run->n_traces == 1 ? "" : "es",
		text_clean(host, sizeof(host), t->header.host[0] ? t->header.host : "an unnamed host", 40),
		text_duration(length, end - begin), ending(s));
}

/* ---- tables ---- */

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

static void partition(const struct page *p, const struct totals *t)
{
	row(p, INK_COMPUTE, "compute", t->compute, t->span, 0);
	row_if(p, INK_COMM, "communication", t->comm, t->span);
	row_if(p, INK_COPY, "copy h2d pageable", t->h2d_pageable, t->span);
	row_if(p, INK_COPY, "copy h2d pinned", t->h2d_pinned, t->span);
	row_if(p, INK_COPY, "copy d2h", t->d2h, t->span);
	row_if(p, INK_COPY, "copy d2d", t->d2d, t->span);
	row_if(p, INK_COPY, "copy peer", t->peer, t->span);
	row_if(p, INK_COPY, "memset", t->memset, t->span);
	row(p, INK_IDLE, "idle", t->idle, t->span, 0);
}

/* The causes that own any time, the longest first. */
static int rank_causes(const struct totals *t, enum cause_id order[CAUSE_COUNT])
{
	int n = 0;

	for (int i = 0; i < CAUSE_COUNT; i++) {
		int at = n;

		if (!t->causes[i])
			continue;
		for (; at > 0 && t->causes[order[at - 1]] < t->causes[i]; at--)
			order[at] = order[at - 1];
		order[at] = (enum cause_id)i;
		n++;
	}
	return n;
}

static void cause_rows(const struct page *p, const struct totals *t)
{
	enum cause_id order[CAUSE_COUNT];
	int n = rank_causes(t, order);

	if (!n)
		return;
	fputc('\n', p->out);
	page_ink(p, INK_TITLE, "  %-*s", (int)(LABEL + bar_width(p)), "why idle");
	page_ink(p, INK_DIM, " %10s %9s %9s\n", "time", "of span", "of idle");
	for (int i = 0; i < n; i++)
		row(p, order[i] == CAUSE_unexplained ? INK_DIM : INK_CAUSE, cause_name(order[i]), t->causes[order[i]],
		    t->span, t->idle);
}

static void cause_list(const int64_t causes[CAUSE_COUNT], int64_t whole, char *buf, size_t size);

/* What bursts say of the time that is not proven either way, beside what is. */
static void estimate(const struct page *p, const struct summary_device *d)
{
	const struct estimate *e = &d->timeline->estimate;
	char unresolved[TEXT_SHORT], idle[TEXT_SHORT], low[TEXT_SHORT], high[TEXT_SHORT], line[512];
	size_t used;

	if (!e->made || !d->timeline->unresolved_ns)
		return;
	text_duration(unresolved, d->timeline->unresolved_ns);
	if (!e->measured) {
		snprintf(line, sizeof(line),
			 "of the %s that cannot be told busy from idle nobody knows how much: too few bursts (%" PRIu64
			 ")",
			 unresolved, e->bursts);
	} else {
		used = (size_t)snprintf(line, sizeof(line),
					"of the %s that cannot be told, about %s (%s to %s, 95 %%) idle", unresolved,
					text_duration(idle, e->unresolved.ns), text_duration(low, e->unresolved.low_ns),
					text_duration(high, e->unresolved.high_ns));
		if (e->unresolved.ns)
			cause_list(d->unresolved_causes, e->unresolved.ns, line + used, sizeof(line) - used);
	}
	fputs("  ", p->out);
	page_wrap(p, INK_DIM, 2, 4, line);
}

static void stack(const struct page *p, const struct summary_device *d, unsigned width)
{
	static const enum ink inks[] = { INK_COMPUTE, INK_COMM, INK_COPY, INK_IDLE };
	const int64_t parts[] = { d->timeline->compute_ns, d->timeline->comm_ns, d->copy_exposed_ns,
				  d->timeline->idle_ns };

	page_stack(p, parts, inks, width);
}

/* One of many: a row. */
static void device_row(const struct page *p, const struct summary_device *d)
{
	char span[TEXT_SHORT], idle[TEXT_SHORT], name[64], title[80];

	snprintf(title, sizeof(title), "%u  %s", d->number, d->name);
	fprintf(p->out, "  %-*s", LABEL, text_clean(name, sizeof(name), title, LABEL - 1));
	stack(p, d, bar_width(p));
	fprintf(p->out, " %10s ", text_duration(span, d->span_ns));
	page_ink(p, INK_IDLE, "%9s\n", text_percent(idle, d->timeline->idle_ns, d->span_ns));
}

/* One of few: a title and a wide bar. */
static void device_title(const struct page *p, const struct summary_device *d)
{
	char span[TEXT_SHORT], idle[TEXT_SHORT], name[64], title[128];

	snprintf(title, sizeof(title), "device %u  %s", d->number, text_clean(name, sizeof(name), d->name, 32));
	fputc('\n', p->out);
	page_ink(p, INK_TITLE, "%-*s", (int)(p->style->columns > 72 ? p->style->columns - 34 : 40), title);
	fprintf(p->out, "%10s, idle ", text_duration(span, d->span_ns));
	page_ink(p, INK_IDLE, "%s\n", text_percent(idle, d->timeline->idle_ns, d->span_ns));
	fputs("  ", p->out);
	stack(p, d, p->style->columns - 4 > 110 ? 110 : p->style->columns - 4);
	fputc('\n', p->out);
}

static void few_devices(const struct page *p, const struct summary *s)
{
	for (size_t i = 0; i < s->n_devices; i++) {
		struct totals one = { 0 };

		device_title(p, &s->devices[i]);
		add_device(&one, &s->devices[i]);
		partition(p, &one);
		cause_rows(p, &one);
		estimate(p, &s->devices[i]);
	}
}

static void many_devices(const struct page *p, const struct summary *s, const struct totals *all)
{
	fputc('\n', p->out);
	page_ink(p, INK_TITLE, "  %-*s", (int)(LABEL + bar_width(p)), "devices");
	page_ink(p, INK_DIM, " %10s %9s\n", "span", "idle");
	for (size_t i = 0; i < s->n_devices; i++)
		device_row(p, &s->devices[i]);
	page_ink(p, INK_TITLE, "\nall %zu devices\n", s->n_devices);
	partition(p, all);
	cause_rows(p, all);
}

/* ---- the longest gaps ---- */

/* "input-wait 98 %, sync-bubble 2 %" */
static void why_line(const struct gap_story *g, char *buf, size_t size)
{
	struct totals t = { 0 };
	enum cause_id order[CAUSE_COUNT];
	double whole = (double)(g->gap->end_ns - g->gap->begin_ns);
	size_t used = 0;
	int n;

	for (size_t i = 0; i < g->n_causes; i++)
		t.causes[g->causes[i].cause] += g->causes[i].end_ns - g->causes[i].begin_ns;
	n = rank_causes(&t, order);
	buf[0] = 0;
	while (n > 1 && (double)t.causes[order[n - 1]] < whole / 200) /* would read 0 % */
		n--;
	for (int i = 0; i < n && i < 2 && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s %.0f %%", i ? ", " : "", cause_name(order[i]),
					 100.0 * (double)t.causes[order[i]] / whole);
	if (n > 2 && used < size)
		snprintf(buf + used, size - used, ", +%d", n - 2);
}

/* ": launch-bound 1.0 s, host-compute 0.1 s": the first few */
static void cause_list(const int64_t causes[CAUSE_COUNT], int64_t whole, char *buf, size_t size)
{
	struct totals t = { 0 };
	enum cause_id order[CAUSE_COUNT];
	char length[TEXT_SHORT];
	size_t used = 0;
	int n;

	memcpy(t.causes, causes, sizeof(t.causes));
	n = rank_causes(&t, order);
	for (int i = 0; i < n && i < 3 && used < size && t.causes[order[i]] >= whole / 50; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s %s %s", i ? "," : ":", cause_name(order[i]),
					 text_duration(length, t.causes[order[i]]));
}

/* The evidence of the longest interval of a gap, or of one cause in it. */
static const struct gap_cause *main_cause(const struct gap_story *g, int cause)
{
	const struct gap_cause *best = NULL;

	for (size_t i = 0; i < g->n_causes; i++) {
		const struct gap_cause *c = &g->causes[i];

		if ((cause < 0 || c->cause == cause) && c->n_evidence &&
		    (!best || c->end_ns - c->begin_ns > best->end_ns - best->begin_ns))
			best = c;
	}
	return best;
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
	const struct gap_cause *c = main_cause(g, -1);
	char at[TEXT_SHORT], length[TEXT_SHORT], error[TEXT_SHORT], why[128], line[EVIDENCE_BYTES], on[16] = "";
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
	page_wrap(p, INK_DIM, 9, 11, text_clean(line, sizeof(line), c->evidence[0], 2 * p->style->columns - 24));
}

static enum err_kind longest_gaps(const struct page *p, const struct summary *s, size_t top, struct error *e)
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

/* ---- what to do ---- */

static const struct gap_cause *best_example(const struct summary *s, enum cause_id id, size_t *number)
{
	const struct gap_cause *best = NULL;

	for (size_t i = 0; i < s->n_devices; i++) {
		const struct attribution *a = &s->devices[i].attribution;

		for (size_t k = 0; k < a->n_gaps; k++) {
			const struct gap_cause *c = main_cause(&a->gaps[k], (int)id);

			if (c && (!best || c->end_ns - c->begin_ns > best->end_ns - best->begin_ns)) {
				best = c;
				*number = s->devices[i].first_gap + k;
			}
		}
	}
	return best;
}

static void advice_row(const struct page *p, const struct summary *s, const struct totals *t, enum cause_id id)
{
	char share[TEXT_SHORT], line[EVIDENCE_BYTES * 2], ceiling[64] = "";
	const struct gap_cause *example;
	size_t number = 0;

	if (id != CAUSE_unexplained && t->causes[id] < t->span)
		snprintf(ceiling, sizeof(ceiling), "; without it at most %.1f %% faster",
			 100.0 * (double)t->causes[id] / (double)(t->span - t->causes[id]));
	fputs("  ", p->out);
	page_ink(p, INK_CAUSE, "%s", cause_name(id));
	snprintf(line, sizeof(line), "%s of idle: %s%s", text_percent(share, t->causes[id], t->idle), cause_title(id),
		 ceiling);
	fputs("  ", p->out);
	page_wrap(p, INK_PLAIN, (unsigned)strlen(cause_name(id)) + 4, 4, line);
	snprintf(line, sizeof(line), "-> %s", cause_advice(id));
	fputs("    ", p->out);
	page_wrap(p, INK_PLAIN, 4, 7, line);
	example = best_example(s, id, &number);
	if (!example)
		return;
	snprintf(line, sizeof(line), "%s in gap %zu: %s", confidence_name(example->confidence), number,
		 example->evidence[0]);
	fputs("    ", p->out);
	page_wrap(p, INK_DIM, 4, 7, line);
}

static void advice(const struct page *p, const struct summary *s, const struct totals *t)
{
	enum cause_id order[CAUSE_COUNT];
	int n = rank_causes(t, order), shown = 0;

	for (int i = 0; i < n && shown < ADVICE_ROWS; i++) {
		if (shown && t->causes[order[i]] < t->span / 100)
			break;
		if (!shown)
			page_ink(p, INK_TITLE, "\nwhat to do\n");
		advice_row(p, s, t, order[i]);
		shown++;
	}
}

static bool any_damage(const struct run *run)
{
	for (size_t i = 0; i < run->n_traces; i++)
		if (run->traces[i]->damage.kind)
			return true;
	return false;
}

enum err_kind report_text(FILE *out, const struct summary *s, const struct report_style *style, size_t top,
			  struct error *e)
{
	const struct page p = { out, style };
	struct totals all = { 0 };
	enum err_kind kind;

	if (s->run->n_traces)
		head(&p, s);
	if (!s->n_devices) {
		if (any_damage(s->run))
			fprintf(out,
				"\nnothing can be analysed: the damage may have taken work for the device that is older "
				"than all that is left\n");
		else
			fprintf(out,
				"\nno device work was recorded: %" PRIu64
				" driver calls, none of which put work on a device\n",
				s->self.calls);
		report_trust(&p, s);
		return ERR_NONE;
	}
	for (size_t i = 0; i < s->n_devices; i++)
		add_device(&all, &s->devices[i]);
	if (s->n_devices <= EACH_DEVICE)
		few_devices(&p, s);
	else
		many_devices(&p, s, &all);
	kind = longest_gaps(&p, s, top, e);
	if (kind)
		return kind;
	advice(&p, s, &all);
	report_trust(&p, s);
	return ERR_NONE;
}
