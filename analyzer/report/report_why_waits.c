/* SPDX-License-Identifier: BSD-2-Clause */
#include "report_why_waits.h"

#include <inttypes.h>

#include "cause/cause_depend_words.h"
#include "tools/ns.h"
#include "tools/text.h"

void why_host(const struct page *p, const struct gap_view *v)
{
	char length[TEXT_SHORT], line[256];

	fputs("  host     ", p->out);
	if (!v->submit)
		snprintf(line, sizeof(line), "not known: no call on record submitted the next work");
	else if (v->ready)
		snprintf(line, sizeof(line), "innocent: the submission had returned %s before the gap began",
			 text_duration(length, sum64(v->gap->begin_ns, -v->submit->end_ns)));
	else
		snprintf(line, sizeof(line), "late: thread %u's submission returned %s after the gap began", v->tid,
			 text_duration(length, sum64(v->submit->end_ns, -v->gap->begin_ns)));
	page_wrap(p, INK_PLAIN, 11, 11, line);
}

static void wait_line(const struct page *p, const struct gap_view *v, const struct call *wait)
{
	const struct trace *t = gap_depends(v->gap)->trace;
	char call[256], what[128], at[TEXT_SHORT], line[512];

	evidence_call(call, sizeof(call), t, wait);
	depend_wait_words(what, sizeof(what), wait);
	snprintf(line, sizeof(line), "stream %u waits for %s: put in at %s, %s", depend_stream_id(t, wait->stream),
		 what, text_offset(at, sum64(wait->begin_ns, -v->gap->begin_ns)), call);
	fputs("  ", p->out);
	page_wrap(p, INK_PLAIN, 2, 4, line);
}

static void end_line(const struct page *p, const struct gap_view *v)
{
	const struct dependency *d = gap_depends(v->gap);
	int64_t begin_ns = v->gap->begin_ns;
	char name[96], call[256], from[TEXT_SHORT], to[TEXT_SHORT], line[640];

	evidence_call(call, sizeof(call), d->trace, d->producer);
	depend_producer_words(name, sizeof(name), d);
	if (d->latest_end_ns == INT64_MAX || d->earliest_end_ns == INT64_MIN)
		snprintf(to, sizeof(to), "nobody knows when");
	else
		text_offset(to, sum64(d->latest_end_ns, -begin_ns));
	snprintf(line, sizeof(line), "stream %u: %s%s, over by %s%s%s; %s", depend_stream_id(d->trace, d->stream), name,
		 d->kind == DEPEND_NODE ? " of the graph" : "", to,
		 d->earliest_end_ns > begin_ns ? ", not before " : "",
		 d->earliest_end_ns > begin_ns ? text_offset(from, sum64(d->earliest_end_ns, -begin_ns)) : "", call);
	fputs("  ", p->out);
	page_wrap(p, INK_PLAIN, 2, 4, line);
}

void why_waits(const struct page *p, const struct gap_view *v)
{
	const struct dependency *d = gap_depends(v->gap);

	if (!d->kind)
		return;
	page_ink(p, INK_TITLE, "\nwhat the work stood behind\n");
	for (uint32_t i = 0; i < d->n_waits; i++)
		wait_line(p, v, d->waits[i]);
	if (d->kind == DEPEND_UNWRITTEN)
		page_ink(p, INK_PLAIN, "  no record says who wrote that\n");
	else
		end_line(p, v);
}
