/* SPDX-License-Identifier: BSD-2-Clause */
#include "report_trust.h"

#include <stdarg.h>
#include <string.h>

#include "tools/ns.h"
#include "tools/text.h"
#include "trace/trace_measured.h"

#define LABEL 15

static void line(const struct page *p, enum ink ink, const char *label, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static void line(const struct page *p, enum ink ink, const char *label, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(p->out, "  %-*s", LABEL, label);
	page_wrap(p, ink, LABEL + 2, LABEL + 2, text);
}

static const char *timing(const struct summary *s, char buf[96])
{
	char count[TEXT_SHORT];

	if (strcmp(s->device_timing, "cupti") == 0) {
		snprintf(buf, 96, "cupti: the device's own record of each operation, %s of them",
			 text_count(count, s->activities));
		return buf;
	}
	if (s->imported) {
		snprintf(buf, 96, "imported: as %s measured each operation, %s of them",
			 strcmp(s->source, "nsys") == 0 ? "Nsight Systems" : "Kineto",
			 text_count(count, s->activities));
		return buf;
	}
	if (strcmp(s->device_timing, "host") == 0)
		return "host: from what the host saw finish, no device work added";
	if (strcmp(s->device_timing, "edges") == 0)
		return "edges: timing events where the host blocks, queries in between";
	if (strcmp(s->device_timing, "bursts") == 0)
		return "bursts: as edges, and now and then a few submissions timed one by one";
	return s->device_timing;
}

static void idle_bounds(const struct page *p, const struct summary *s)
{
	int64_t idle = 0, error = 0, unresolved = 0, span = 0;
	char low[TEXT_SHORT], high[TEXT_SHORT], share[TEXT_SHORT], unclear[TEXT_SHORT];

	for (size_t i = 0; i < s->n_devices; i++) {
		const struct device_timeline *d = s->devices[i].timeline;

		idle = sum64(idle, d->idle_ns);
		error = sum64(error, d->idle_error_ns);
		unresolved = sum64(unresolved, d->unresolved_ns);
		span = sum64(span, s->devices[i].span_ns);
	}
	line(p, INK_PLAIN, "idle time",
	     "between %s and %s; %s (%s of the span) cannot be told busy from idle and counts as compute",
	     text_duration(low, idle > error ? idle - error : 0),
	     text_duration(high, sum64(sum64(idle, error), unresolved)), text_duration(unclear, unresolved),
	     text_percent(share, unresolved, span));
}

struct likely_sum { /* over all devices */
	int64_t idle_ns, low_ns, high_ns, cost_ns;
	uint64_t bursts, bracketed, works, sampled;
	bool measured; /* on one of them at least; of the others the interval holds all that is not proven */
};

static void likely_add(struct likely_sum *sum, const struct device_timeline *d)
{
	const struct estimate *e = &d->estimate;

	sum->idle_ns = sum64(sum->idle_ns, e->made ? e->whole.ns : d->idle_ns);
	sum->low_ns = sum64(sum->low_ns, e->made ? e->whole.low_ns : max64(0, d->idle_ns - d->idle_error_ns));
	sum->high_ns = sum64(sum->high_ns,
			     e->made ? e->whole.high_ns : sum64(d->idle_ns + d->unresolved_ns, d->idle_error_ns));
	sum->cost_ns = sum64(sum->cost_ns, e->cost_ns);
	sum->bursts += e->bursts;
	sum->bracketed += e->bracketed;
	sum->works += e->made ? e->works : 0;
	sum->sampled += e->sampled_works;
	sum->measured |= e->measured;
}

/* All idle time, if bursts say so. What they cost is in it. */
static void likely_idle(const struct page *p, const struct summary *s)
{
	struct likely_sum sum = { 0 };
	char at[TEXT_SHORT], from[TEXT_SHORT], to[TEXT_SHORT], n[TEXT_SHORT], cost[TEXT_SHORT];

	for (size_t i = 0; i < s->n_devices; i++)
		likely_add(&sum, s->devices[i].timeline);
	if (!sum.bursts)
		return;
	if (!sum.measured) {
		line(p, INK_PLAIN, "likely", "bursts are too few to say: %s %s timed one by one",
		     text_count(n, sum.bracketed), sum.bracketed == 1 ? "submission was" : "submissions were");
		return;
	}
	line(p, INK_PLAIN, "likely",
	     "by level bursts idle for %s in all (%s to %s, 95 %%): %s %s timed one by one, and %.0f %% of all are of kinds among them; "
	     "the events around them, which held the program up for %s, are in it",
	     text_duration(at, sum.idle_ns), text_duration(from, sum.low_ns), text_duration(to, sum.high_ns),
	     text_count(n, sum.bracketed), sum.bracketed == 1 ? "submission was" : "submissions were",
	     sum.works ? 100.0 * (double)sum.sampled / (double)sum.works : 0, text_duration(cost, sum.cost_ns));
}

/* Is what is analysed less than what the processes did? Then that is said elsewhere. */
static bool is_part(const struct summary *s)
{
	bool part = s->recycled || s->run->n_missing;

	for (size_t i = 0; i < s->run->n_traces; i++)
		part |= s->run->traces[i]->damage.kind != ERR_NONE;
	return part;
}

static void losses(const struct page *p, const struct summary *s)
{
	char dropped[TEXT_SHORT], unlinked[TEXT_SHORT], untracked[TEXT_SHORT];
	uint64_t without_times = s->operations_unlinked - s->measured_unlinked;
	uint64_t processes = s->records_dropped - s->host_lost;

	if (s->host_lost || s->host_tasks_lost)
		line(p, INK_WARN, "host probes",
		     "records lost: %s, threads not followed: %s; what a chain says of such a moment may be incomplete",
		     text_count(dropped, s->host_lost), text_count(unlinked, s->host_tasks_lost));
	if (!processes && !without_times && !s->streams_untracked)
		line(p, INK_PLAIN, "losses", is_part(s) ? "none in the rest" : "none");
	else
		line(p, INK_WARN, "losses",
		     "%s records dropped, %s operations without device times, %s submissions to streams beyond the table: every cause is an inference",
		     text_count(dropped, processes), text_count(unlinked, without_times),
		     text_count(untracked, s->streams_untracked));
	if (s->entry_points_unknown)
		line(p, INK_WARN, "not hooked",
		     "%s driver functions that the program looked up are unknown to this recorder; what it did through them is not seen",
		     text_count(dropped, s->entry_points_unknown));
}

static void beginning(const struct page *p, const struct summary *s)
{
	char gone[TEXT_SHORT], records[TEXT_SHORT];

	if (s->recycled)
		line(p, INK_WARN, "beginning",
		     "the first %s are not in it: %s records were given up to go on recording; the rest is whole, but for how much memory had been allocated by then",
		     text_long(gone, s->begins_late_ns), text_count(records, s->records_recycled));
	if (s->definitions_lost)
		line(p, INK_WARN, "names", "%s names, streams or graphs were given up too",
		     text_count(records, s->definitions_lost));
}

static void damage(const struct page *p, const struct summary *s)
{
	for (size_t i = 0; i < s->run->n_traces; i++) {
		const struct trace *t = s->run->traces[i];
		char name[128];

		if (t->damage.kind)
			line(p, INK_WARN, "damaged", "%s: only what precedes the damage is analysed",
			     text_clean(name, sizeof(name), text_base(t->path), 100));
	}
	for (size_t i = 0; i < s->run->n_hosts; i++) {
		const struct host_trace *h = s->run->hosts[i];
		char name[128];

		if (h->damage.kind)
			line(p, INK_WARN, "damaged", "%s: what host probes saw later is not used",
			     text_clean(name, sizeof(name), text_base(h->path), 100));
	}
}

static void missing(const struct page *p, const struct summary *s)
{
	for (size_t i = 0; i < s->run->n_missing; i++) {
		char text[256];

		line(p, INK_WARN, "missing", "%s", text_clean(text, sizeof(text), s->run->missing[i].text, 240));
	}
}

struct graph_counts {
	uint64_t launches, nodes, unknown, stalling;
};

static struct graph_counts count_graphs(const struct summary *s)
{
	struct graph_counts n = { 0 };

	for (size_t i = 0; i < s->run->n_traces; i++) {
		const struct trace *t = s->run->traces[i];

		for (size_t k = 0; k < t->n_calls; k++) {
			const struct graph *g = &t->graphs[t->calls[k].graph];

			if (t->calls[k].family != GST_FAMILY_GRAPH_LAUNCH || !is_submission(&t->calls[k]))
				continue;
			n.launches++;
			n.nodes += g->work;
			n.unknown += !g->counted || g->open;
			n.stalling += g->stalls;
		}
	}
	return n;
}

static void graphs(const struct page *p, const struct summary *s)
{
	struct graph_counts n = count_graphs(s);
	char launches[TEXT_SHORT], nodes[TEXT_SHORT], other[TEXT_SHORT];

	if (!n.launches)
		return;
	line(p, INK_PLAIN, "graphs", "%s launches of %s operations, %s", text_count(launches, n.launches),
	     text_count(nodes, n.nodes),
	     s->imported || strcmp(s->device_timing, "cupti") == 0
		     ? "each measured by itself"
		     : "placed within each launch in the order they depend on each other");
	if (n.unknown)
		line(p, INK_WARN, "graphs",
		     "%s launches of graphs whose nodes are not known, or decided by the device: counted as one each or as few as they may be",
		     text_count(other, n.unknown));
	if (n.stalling)
		line(p, INK_PLAIN, "graphs", "%s launches that may wait inside for the host or for others: unresolved",
		     text_count(other, n.stalling));
}

static const char *processes(const struct summary *s, char buf[48], size_t n)
{
	if (s->run->n_traces == 1)
		return "the process";
	snprintf(buf, 48, "%zu of %zu processes", n, s->run->n_traces);
	return buf;
}

/* Where the device's own record has holes. */
static void measured(const struct page *p, const struct summary *s)
{
	char count[TEXT_SHORT], buf[48];
	const char *why = NULL;
	size_t n = 0;

	for (size_t i = 0; i < s->run->n_traces; i++) {
		const char *own = measured_why_not(s->run->traces[i]);

		n += own != NULL;
		why = why ? why : own;
	}
	if (why)
		line(p, INK_WARN, "cupti", "asked for; not used, or not to the end, in %s: %s", processes(s, buf, n),
		     why);
	if (s->operations_lost)
		line(p, INK_WARN, "not measured",
		     "%s has no record of %s of the operations: when they ran is unresolved, never idle; what touches them is an inference",
		     s->imported ? "the trace" : "CUPTI", text_count(count, s->operations_lost));
	if (s->measured_unlinked)
		line(p, INK_WARN, "no call",
		     "%s measured operations that no recorded call asked for: busy time; the gaps beside them are inferences",
		     text_count(count, s->measured_unlinked));
	if (s->activities_bad)
		line(p, INK_WARN, "left out", "%s measured times that cannot be", text_count(count, s->activities_bad));
}

/* What another tool's trace says of itself, and what it does not hold. */
static void imported(const struct page *p, const struct summary *s)
{
	char count[TEXT_SHORT], text[256];

	if (!s->imported)
		return;
	line(p, INK_PLAIN, "imported",
	     "from a profiler's trace: what it holds was taken as it says; what its profiler cost the program is in all times, and nobody knows how much");
	if (s->imported_lost)
		line(p, INK_WARN, "lost",
		     "the profiler itself says that %s records are missing: every cause is an inference",
		     text_count(count, s->imported_lost));
	if (s->without_work)
		line(p, INK_WARN, "without work",
		     "of %s launches the trace has no device work: they were captured, ran after it ended, or their records are missing",
		     text_count(count, s->without_work));
	if (s->imported_left_out)
		line(p, INK_WARN, "left out",
		     "%s records: a begin or an end that is not there, an end before its begin, a number out of range",
		     text_count(count, s->imported_left_out));
	for (size_t i = 0; i < s->run->n_traces; i++) {
		const struct imported *m = s->run->traces[i]->imported;

		for (size_t k = 0; m && k < m->n_warnings; k++)
			line(p, INK_WARN, "warning", "%s", text_clean(text, sizeof(text), m->warnings[k], 240));
		if (m && m->warnings_left_out)
			line(p, INK_WARN, "warning", "and %s more", text_count(count, m->warnings_left_out));
	}
}

static void end(const struct page *p, const struct summary *s)
{
	bool one = s->run->n_traces == 1;
	char buf[48];

	if (s->running)
		line(p, INK_PLAIN, "end", "%s %s still running: this is how it stood when it was read",
		     processes(s, buf, s->running), one || s->running == 1 ? "is" : "are");
	if (s->cut)
		line(p, INK_PLAIN, "end",
		     "%s ended without a regular exit (killed, or gone through _exit or exec): the last moments may be missing",
		     processes(s, buf, s->cut));
	if (s->unknown)
		line(p, INK_PLAIN, "end", "%s left no regular end: killed, or still running elsewhere",
		     processes(s, buf, s->unknown));
}

/* What held the program up, and what went beside it. */
static void own_cost(const struct page *p, const struct self_cost *c)
{
	char calls[TEXT_SHORT], timed[TEXT_SHORT], injected[TEXT_SHORT], attach[TEXT_SHORT], cpu[TEXT_SHORT], how[64];

	if (c->timed)
		snprintf(how, sizeof(how), "measured at %s of them", text_count(timed, c->timed));
	else
		snprintf(how, sizeof(how), "calibrated, not measured");
	line(p, INK_PLAIN, "our own cost",
	     "%.3f %% of the run time: %s calls at %.0f ns (%s), %s in calls we added, %s at the first calls; beside it %s of CPU time in "
	     "threads of our own",
	     self_share(c, false) * 100, text_count(calls, c->calls), self_ns_per_call(c), how,
	     text_duration(injected, self_whole_ns(c->injected_ns)), text_duration(attach, self_whole_ns(c->attach_ns)),
	     text_duration(cpu, self_whole_ns(c->cpu_ns)));
}

static const char *host_side(const struct summary *s)
{
	if (strcmp(s->host_probes, "ebpf") == 0)
		return "every wait of the program's threads, who ended it, and what those had been waiting for (eBPF)";
	if (strcmp(s->host_probes, "perf") == 0)
		return "every wait of the program's threads (perf); what for by looks at /proc, who ended it is inferred";
	if (strcmp(s->host_probes, "proc") != 0)
		return s->imported
			       ? "what the trace has of threads: calls, ranges, operators; nobody watched who kept them waiting"
			       : "driver calls only";
	return s->run->n_hosts
		       ? "looks at /proc: waits of a few milliseconds and more; who ended them is inferred"
		       : "the thread's own accounts, and samples of what it waited in; who kept it waiting was not recorded";
}

static void whole(const struct page *p, const struct summary *s)
{
	char how[96];

	page_ink(p, INK_TITLE, "how far to trust this\n");
	line(p, INK_PLAIN, "device times", "%s", timing(s, how));
	if (s->n_devices)
		idle_bounds(p, s);
	likely_idle(p, s);
	beginning(p, s);
	losses(p, s);
	measured(p, s);
	imported(p, s);
	damage(p, s);
	missing(p, s);
	graphs(p, s);
	end(p, s);
	line(p, INK_PLAIN, "host side", "%s", host_side(s));
	if (!s->imported)
		own_cost(p, &s->self);
}

void report_trust(const struct page *p, const struct summary *s)
{
	if (p->style->full) {
		fputc('\n', p->out);
		whole(p, s);
	} else {
		report_trust_line(p, s);
	}
}

void report_trust_page(FILE *out, const struct summary *s, const struct report_style *style)
{
	const struct page p = { out, style };

	whole(&p, s);
}
