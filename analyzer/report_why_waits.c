/* SPDX-License-Identifier: BSD-2-Clause */
#include "report_why_waits.h"

#include <inttypes.h>

#include "ns.h"
#include "text.h"

static uint32_t stream_id(const struct trace *t, uint32_t stream)
{
	return stream < t->n_streams ? t->streams[stream].id : 0;
}

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

/* "event 0x5", "the value at 0x1000: 1 or more" */
static const char *awaited(char *buf, size_t size, const struct call *wait)
{
	static const char *const conditions[] = { "", "or more", "exactly", "a bit of it", "lacks a bit of it" };
	unsigned kind = wait->detail & GST_VALUE_KIND;

	if (wait->family != GST_FAMILY_MEMOP)
		snprintf(buf, size, "event 0x%" PRIx64, wait->args[0]);
	else
		snprintf(buf, size, "%s 0x%" PRIx64 ": %" PRIu64 ", %s",
			 wait->detail & GST_VALUE_SEMAPHORE ? "semaphore" : "the value at", wait->args[0],
			 wait->args[1],
			 kind < sizeof(conditions) / sizeof(conditions[0]) ? conditions[kind] : "condition unknown");
	return buf;
}

static const char *producer(char *buf, size_t size, const struct dependency *d)
{
	const char *kernel = d->producer->name < d->trace->n_kernels ? d->trace->kernels[d->producer->name] : "";

	if (d->kind == DEPEND_NODE)
		kernel = graph_node_stalls(d->node) ? "a node of the graph that stood still"
						    : "a node of the graph on another device";
	else if (d->kind == DEPEND_HOSTFN)
		kernel = "a host function";
	else if (d->kind != DEPEND_WORK || d->producer->family != GST_FAMILY_LAUNCH || !*kernel)
		kernel = call_name(d->trace, d->producer);
	return text_clean(buf, size, kernel, 64);
}

static void wait_line(const struct page *p, const struct gap_view *v, const struct call *wait)
{
	const struct trace *t = v->gap->depends.trace;
	char call[256], what[128], at[TEXT_SHORT], line[512];

	evidence_call(call, sizeof(call), t, wait);
	snprintf(line, sizeof(line), "stream %u waits for %s: put in at %s, %s", stream_id(t, wait->stream),
		 awaited(what, sizeof(what), wait), text_offset(at, sum64(wait->begin_ns, -v->gap->begin_ns)), call);
	fputs("  ", p->out);
	page_wrap(p, INK_PLAIN, 2, 4, line);
}

static void end_line(const struct page *p, const struct gap_view *v)
{
	const struct dependency *d = &v->gap->depends;
	int64_t begin_ns = v->gap->begin_ns;
	char name[96], call[256], from[TEXT_SHORT], to[TEXT_SHORT], line[640];

	evidence_call(call, sizeof(call), d->trace, d->producer);
	if (d->latest_end_ns == INT64_MAX || d->earliest_end_ns == INT64_MIN)
		snprintf(to, sizeof(to), "nobody knows when");
	else
		text_offset(to, sum64(d->latest_end_ns, -begin_ns));
	snprintf(line, sizeof(line), "stream %u: %s, over by %s%s%s; %s", stream_id(d->trace, d->stream),
		 producer(name, sizeof(name), d), to, d->earliest_end_ns > begin_ns ? ", not before " : "",
		 d->earliest_end_ns > begin_ns ? text_offset(from, sum64(d->earliest_end_ns, -begin_ns)) : "", call);
	fputs("  ", p->out);
	page_wrap(p, INK_PLAIN, 2, 4, line);
}

void why_waits(const struct page *p, const struct gap_view *v)
{
	const struct dependency *d = &v->gap->depends;

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
