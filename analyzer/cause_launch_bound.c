/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread submitted without pause, and the device was faster: from the submission whose work it finished to the one it waited for,
 * call followed call. The measure is what a submission costs this very thread; in between it waited for nothing, neither in a call that
 * blocks nor by asking in a loop: that would be a sync bubble. */
#include "cause_rules.h"

#include <stdio.h>

#include "text.h"

#define NOT_READY 600  /* CUDA_ERROR_NOT_READY */
#define SILENT_COSTS 2 /* between two calls: more is code of its own (host-compute) */
#define CALL_COSTS 4   /* within one: more is something else than submitting */

struct row {                /* of calls, one right after the other */
	size_t first, last; /* in v->records->calls */
	int64_t cost_ns, longest_silence_ns;
};

static bool asked_in_vain(const struct call *c)
{
	return (c->family == GST_FAMILY_QUERY_STREAM || c->family == GST_FAMILY_QUERY_EVENT) && c->result == NOT_READY;
}

static bool is_short(const struct thread_records *r, const struct call *c, int64_t cost_ns)
{
	int64_t own = r->cost_ns[c->family];

	return c->end_ns - c->begin_ns <= CALL_COSTS * (own ? own : cost_ns);
}

/* Back from the submission to the last one before the gap's begin. */
static bool find_row(const struct gap_view *v, struct row *row)
{
	const struct thread_records *r = v->records;
	size_t at = (size_t)(v->calls - r->calls) + v->n_calls - 1;

	*row = (struct row){ .last = at, .cost_ns = r->cost_ns[v->submit->family] };
	if (!row->cost_ns || r->calls[at] != v->submit || !is_short(r, v->submit, row->cost_ns))
		return false;
	while (at-- > 0) {
		const struct call *c = r->calls[at];
		int64_t silence = r->calls[at + 1]->begin_ns - c->end_ns;

		if (silence > SILENT_COSTS * row->cost_ns || asked_in_vain(c))
			return false;
		if (silence > row->longest_silence_ns)
			row->longest_silence_ns = silence;
		row->first = at;
		if (c->begin_ns <= v->gap->begin_ns && is_submission(c))
			return true;
		if (!is_short(r, c, row->cost_ns))
			return false;
	}
	return false;
}

/* Its accounts around the row: it never gave the CPU up, and next to nobody took it away. */
static bool on_cpu(const struct thread_records *r, const struct row *row)
{
	size_t first = threads_usage_after(r, r->calls[row->first]->begin_ns);
	size_t last = threads_usage_after(r, r->calls[row->last]->end_ns - 1);
	const struct usage *before = first ? r->usages[first - 1] : NULL,
			   *after = last < r->n_usages ? r->usages[last] : NULL;

	return before && after && after->voluntary == before->voluntary && after->cpu_ns > before->cpu_ns &&
	       (int64_t)(after->cpu_ns - before->cpu_ns) >= (after->time_ns - before->time_ns) / 10 * 9;
}

void cause_launch_bound(const struct gap_view *v, struct findings *out)
{
	char silent[TEXT_SHORT], cost[TEXT_SHORT];
	struct finding *f;
	struct row row;

	if (!v->submit || !v->records || v->ready || v->blocking || !v->n_calls || !find_row(v, &row))
		return;
	f = findings_add(out, CAUSE_launch_bound, on_cpu(v->records, &row) ? CONFIDENCE_OBSERVED : CONFIDENCE_INFERRED,
			 v->gap->begin_ns, v->gap->end_ns);
	chain_submitter(f, v, "submitting without pause");
	snprintf(f->words->evidence, sizeof(f->words->evidence),
		 "%zu calls of thread %u in a row, at most %s apart; one like the last takes it %s (median)",
		 row.last - row.first + 1, v->tid, text_duration(silent, row.longest_silence_ns),
		 text_duration(cost, row.cost_ns));
}
