/* SPDX-License-Identifier: BSD-2-Clause */
/* report_why.c: the whole story of one gap: its bounds, who owned which part of it and by what proof, what the thread called. */
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cause/doubt.h"
#include "gap/gap_view.h"
#include "report_owners.h"
#include "report_page.h"
#include "report_totals.h"
#include "report_why_waits.h"
#include "report_words.h"
#include "tools/alloc.h"
#include "tools/text.h"
#include "tools/text_symbol.h"

#define CALLS_SHOWN 24
#define CAUSES_SHOWN 40

static const char *op_name(const struct op *op)
{
	switch (op->of->class) {
	case OP_COPY:
		return "a copy";
	case OP_MEMSET:
		return "a memset";
	case OP_HOSTFN:
		return "a host function";
	default:
		return *op_title(op) ? op_title(op) : op->of->count > 1 ? "a graph" : "a kernel";
	}
}

static void op_line(const struct page *p, const char *label, const struct op *op)
{
	char name[160], call[256], number[TEXT_SHORT], place[FRAME_WORDS], line[FRAME_WORDS + 16];

	if (!op)
		return;
	fprintf(p->out, "  %-8s %s", label, text_symbol(name, sizeof(name), op_name(op), 50));
	if (op->of->class == OP_COPY || op->of->class == OP_MEMSET)
		fprintf(p->out, " of %s", text_bytes(number, op_bytes(op)));
	if (op->call->stream < op->of->trace->n_streams)
		page_ink(p, INK_DIM, " in stream %u", op->of->trace->streams[op->call->stream].id);
	if (op->of->unlinked) {
		page_ink(p, INK_DIM, "\n           submitted: nobody knows by which call\n");
		return;
	}
	evidence_call(call, sizeof(call), op->of->trace, op->call);
	fputs("\n           ", p->out);
	snprintf(line, sizeof(line), "submitted: %s", call);
	page_wrap(p, INK_DIM, 11, 13, line);
	if (!op->of->node && launch_words(place, sizeof(place), op->of->trace, op->call)) {
		fputs("           ", p->out);
		snprintf(line, sizeof(line), "launched at %s", place);
		page_wrap(p, INK_DIM, 11, 13, line);
	}
}

static void head(const struct page *p, const struct summary *s, const struct summary_device *d,
		 const struct gap_view *v, size_t number)
{
	const struct gap *g = v->gap;
	char at[TEXT_SHORT], length[TEXT_SHORT], begin[TEXT_SHORT], end[TEXT_SHORT];

	page_ink(p, INK_TITLE, "gap %zu of device %u: idle for %s", number, d->number,
		 text_duration(length, g->end_ns - g->begin_ns));
	fprintf(p->out, ", %s after the device's first work\n", text_duration(at, g->begin_ns - d->timeline->begin_ns));
	fprintf(p->out, "  begin    %" PRId64 " ns +- %s, known by %s\n", g->begin_ns,
		text_duration(begin, g->begin_error_ns), words_boundary(g->begin_known_by));
	fprintf(p->out, "  end      %" PRId64 " ns +- %s\n", g->end_ns, text_duration(end, g->end_error_ns));
	op_line(p, "before", g->before);
	op_line(p, "after", g->after);
	why_host(p, v);
	if (!doubt_about(d->timeline, g, doubt_from(d->timeline, s->threads.run)))
		return;
	fputs("  doubt    ", p->out);
	page_wrap(p, INK_WARN, 11, 11,
		  "records about it may be missing (gpushim info says which): all causes are inferences");
}

static void calls(const struct page *p, const struct gap_view *v)
{
	char at[TEXT_SHORT], took[TEXT_SHORT], name[64];
	size_t first = v->n_calls > CALLS_SHOWN ? v->n_calls - CALLS_SHOWN : 0;

	if (!v->n_calls)
		return;
	page_ink(p, INK_TITLE, "\nwhat thread %u called", v->tid);
	page_ink(p, INK_DIM, first ? "  the last %zu of %zu\n" : "\n", v->n_calls - first, v->n_calls);
	for (size_t i = first; i < v->n_calls; i++) {
		const struct call *c = v->calls[i];

		fprintf(p->out, "  %15s  %-32s %10s", text_offset(at, c->begin_ns - v->gap->begin_ns),
			text_clean(name, sizeof(name), call_name(v->trace, c), 32),
			text_duration(took, c->end_ns - c->begin_ns));
		if (c->result)
			page_ink(p, INK_WARN, "  result %d", c->result);
		fputs(c == v->submit ? "  <- ends the gap\n" : "\n", p->out);
	}
}

/* The longest first; what owns little of the gap is no reason to do anything. */
static void advice(const struct page *p, const struct gap_story *g)
{
	int64_t owned[CAUSE_COUNT] = { 0 }, all_ns = 0;
	enum cause_id order[CAUSE_COUNT];
	char line[512];
	int n;

	for (size_t i = 0; i < g->n_causes; i++) {
		owned[g->causes[i].cause] += g->causes[i].end_ns - g->causes[i].begin_ns;
		all_ns += g->causes[i].end_ns - g->causes[i].begin_ns;
	}
	n = totals_rank(owned, order);
	page_ink(p, INK_TITLE, "\nwhat to do\n");
	for (int i = 0; i < n && (i == 0 || owned[order[i]] >= all_ns / 100); i++) {
		snprintf(line, sizeof(line), "%s: %s -> %s", cause_name(order[i]), cause_title(order[i]),
			 cause_advice(order[i]));
		fputs("  ", p->out);
		page_wrap(p, INK_PLAIN, 2, 4, line);
	}
}

enum err_kind report_why(FILE *out, const struct summary *s, const struct report_style *style, size_t number,
			 struct error *e)
{
	const struct page p = { out, style };
	const struct summary_device *d = NULL;
	const struct gap_story *g = summary_gap(s, number, &d);
	struct gap_view view = { 0 };
	bool told;

	if (!g && !s->n_gaps)
		return err_set(e, ERR_USAGE, NULL, ERR_NO_BYTE, "there is no gap %zu: the device was never idle",
			       number);
	if (!g)
		return err_set(e, ERR_USAGE, NULL, ERR_NO_BYTE, "there is no gap %zu: they are 0 to %zu", number,
			       s->n_gaps - 1);
	if (!gap_view_set(&view, d->timeline, g->gap, &s->threads)) {
		gap_view_free(&view);
		return err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
	}
	head(&p, s, d, &view, number);
	why_waits(&p, &view);
	page_ink(&p, INK_TITLE, "\nwho owned it\n");
	told = report_owners(&p, g, CAUSES_SHOWN, true);
	calls(&p, &view);
	advice(&p, g);
	gap_view_free(&view);
	return told ? ERR_NONE : err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
}
