/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread submitted without pause, and the device was faster: from the submission whose work it finished to the one it waited for,
 * call followed call. The measure is what a submission costs this very thread; in between it waited for nothing, neither in a call that
 * blocks nor by asking in a loop: that would be a sync bubble. */
#include "cause_rules.h"

#include <stdio.h>

#include "text.h"

/* Its accounts around the row: it never gave the CPU up, and next to nobody took it away. */
static bool on_cpu(const struct thread_records *r, const struct call_row *row)
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
	const struct call_row *row = &v->row;

	if (!v->in_a_row)
		return;
	f = findings_add(out, CAUSE_launch_bound, on_cpu(v->records, row) ? CONFIDENCE_OBSERVED : CONFIDENCE_INFERRED,
			 v->gap->begin_ns, v->gap->end_ns);
	chain_submitter(f, v, "submitting without pause");
	snprintf(f->words->evidence, sizeof(f->words->evidence),
		 "%zu calls of thread %u in a row, at most %s apart; one like the last takes it %s (median)",
		 row->last - row->first + 1, v->tid, text_duration(silent, row->longest_silence_ns),
		 text_duration(cost, row->cost_ns));
}
