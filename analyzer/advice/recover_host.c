/* SPDX-License-Identifier: BSD-2-Clause */
/* recover_host.c: which processes' calls a device's figures are about, and how long the thread that feeds it sat in those that wait. */
#include "recover_parts.h"

#include "gap/gap_view.h"
#include "timeline/facts.h"
#include "tools/alloc.h"
#include "tools/ns.h"

static int64_t blocked(const struct recovery *r, const struct thread_records *t)
{
	int64_t ns = 0;

	for (size_t i = 0; i < t->n_rare; i++)
		if (call_blocks(t->rare[i]))
			ns = sum64(ns, recovery_part(r, t->rare[i]->begin_ns, t->rare[i]->end_ns));
	return ns;
}

uint32_t recover_ordinal(const struct summary *s, const struct summary_device *d, const struct trace *t)
{
	uint32_t device = (uint32_t)(d - s->devices);

	for (size_t i = 0; i < s->ranks.n_members; i++)
		if (s->ranks.members[i].device == device && s->ranks.members[i].trace == t)
			return s->ranks.members[i].ordinal;
	return GST_NONE;
}

/* ---- who feeds the device ---- */

static bool begins_before(const void *element, const void *key)
{
	return (*(const struct call *const *)element)->begin_ns < *(const int64_t *)key;
}

static bool stands_before(const void *element, const void *key)
{
	return *(const struct call *const *)element < (const struct call *)key;
}

static size_t rare_before(const struct thread_records *t, size_t call)
{
	return call < t->n_calls ? array_first(t->rare, t->n_rare, sizeof(*t->rare), stands_before, t->calls[call])
				 : t->n_rare;
}

/* Of a folded call, launches that reach into the window. */
static uint64_t within(const struct recovery *r, const struct trace *trace, const struct call *c)
{
	uint64_t n = 0;

	if (c->begin_ns >= r->begin_ns && c->end_ns <= r->end_ns)
		return call_count(c);
	for (uint32_t i = 0; i < call_count(c); i++)
		n += launch_begin_ns(trace, c, i) < r->end_ns && launch_end_ns(trace, c, i) > r->begin_ns;
	return n;
}

static size_t count_of(const struct recovery *r, const struct call *const *calls, size_t n, const struct trace *trace,
		       uint32_t ordinal)
{
	size_t submissions = 0;

	for (size_t i = 0; i < n; i++)
		if (is_submission(calls[i]) && recover_is_of(trace, calls[i], ordinal))
			submissions += call_count(calls[i]) > 1 ? within(r, trace, calls[i]) : 1;
	return submissions;
}

/* Are all streams of that device? Then so are all plain launches. */
static bool is_only(const struct trace *t, uint32_t ordinal)
{
	for (size_t i = 0; i < t->n_streams; i++)
		if (t->streams[i].device != ordinal)
			return false;
	return true;
}

/* What the thread submitted to the device in the window. */
static size_t submitted(const struct recovery *r, const struct thread_records *t, const struct trace *trace,
			uint32_t ordinal)
{
	size_t first = array_first(t->calls, t->n_calls, sizeof(*t->calls), begins_before, &r->begin_ns);
	size_t end = array_first(t->calls, t->n_calls, sizeof(*t->calls), begins_before, &r->end_ns);
	size_t rare, rare_end;

	while (first > 0 && t->calls[first - 1]->end_ns > r->begin_ns)
		first--;
	if (first >= end)
		return 0;
	if (!is_only(trace, ordinal) || trace->launches.folded)
		return count_of(r, t->calls + first, end - first, trace, ordinal);
	rare = rare_before(t, first);
	rare_end = rare_before(t, end);
	if (rare == rare_end) /* where there are none, t->rare is NULL */
		return end - first;
	return end - first - (rare_end - rare) + count_of(r, t->rare + rare, rare_end - rare, trace, ordinal);
}

/* Of the thread with most submissions in the steps. */
void recover_set_feeder(struct recovery *r, const struct summary *s, const struct summary_device *d)
{
	size_t most = 0;

	for (size_t i = 0; i < s->threads.n_processes; i++) {
		const struct process_records *p = &s->threads.processes[i];
		uint32_t ordinal = recover_ordinal(s, d, p->trace);

		for (size_t k = 0; ordinal != GST_NONE && k < p->n_threads; k++) {
			size_t n = submitted(r, &p->threads[k], p->trace, ordinal);

			if (n > most) {
				most = n;
				r->feeder = &p->threads[k];
			}
		}
	}
	if (r->feeder)
		r->blocked_ns = min64(blocked(r, r->feeder), recovery_span(r));
}
