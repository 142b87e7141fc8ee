/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread ran other code between two driver calls: its own accounts prove it, or samples found it on a CPU, or another tool saw it in an
 * operator or a function. */
#include "gap/gap_view_ops.h"
#include "cause_rules.h"

#include <stdio.h>

#include "tools/text.h"

/* Never switched out: it was on its CPU all the time. */
static bool stayed(const struct silence *s)
{
	return s->after->voluntary == s->before->voluntary && s->after->involuntary == s->before->involuntary;
}

/* Its accounts prove that it computed through the silence: it was never switched out; or what it did not compute, in that or just
 * before, is below a tenth; or it never gave the CPU up, and what it did not compute is below a half. (Kernels bring a running
 * thread's CPU time up to date at their tick only, so that in short silences the switches say more than the time.) */
bool silence_computed(const struct silence *s)
{
	int64_t silent = s->end_ns - s->begin_ns, between, cpu;

	if (!s->before || !s->after || s->after->cpu_ns < s->before->cpu_ns || s->after->time_ns <= s->before->time_ns)
		return false;
	between = s->after->time_ns - s->before->time_ns;
	cpu = s->after->cpu_ns - s->before->cpu_ns < (uint64_t)between ? (int64_t)(s->after->cpu_ns - s->before->cpu_ns)
								       : between;
	if (stayed(s) || between - cpu <= silent / 10)
		return true;
	return s->after->voluntary == s->before->voluntary && between - cpu <= silent / 2;
}

static void propose_accounts(const struct gap_view *v, struct findings *out, const struct silence *s)
{
	struct finding *f = findings_add(out, CAUSE_host_compute, CONFIDENCE_OBSERVED, s->begin_ns, s->end_ns);
	int64_t wall = s->after->time_ns - s->before->time_ns, cpu = (int64_t)(s->after->cpu_ns - s->before->cpu_ns);
	char computed_for[TEXT_SHORT], of[TEXT_SHORT];

	chain_submitter_in(f, v, "on a CPU", "");
	if (stayed(s))
		snprintf(f->words->evidence, sizeof(f->words->evidence),
			 "thread %u kept its CPU for %s: not switched out once", v->tid, text_duration(of, wall));
	else
		snprintf(f->words->evidence, sizeof(f->words->evidence),
			 "thread %u computed %s of %s, blocked %u times, preempted %u times", v->tid,
			 text_duration(computed_for, cpu < wall ? cpu : wall), text_duration(of, wall),
			 s->after->voluntary - s->before->voluntary, s->after->involuntary - s->before->involuntary);
}

static void propose_code(const struct gap_view *v, struct findings *out, const struct stretch *s)
{
	struct finding *f = findings_add(out, CAUSE_host_compute, CONFIDENCE_INFERRED, s->begin_ns, s->end_ns);
	char name[STATE_BYTES];

	chain_submitter(f, v, "in %s",
			text_clean(name, sizeof(name), op_name(v->trace, op_of(v->trace, s->piece->inner)), 40));
	evidence_piece(f->words->evidence, sizeof(f->words->evidence), v, s->piece, s->piece_ns);
}

void cause_host_compute(const struct gap_view *v, struct findings *out)
{
	for (size_t i = 0; i < v->n_stretches; i++) {
		const struct stretch *s = &v->stretches[i];

		if (s->what == AT_CODE && !gap_view_is_brief(v, s->silence) && !gap_view_passes(v, s->silence))
			propose_code(v, out, s);
	}
	for (size_t i = 0; i < v->n_silences; i++) {
		const struct silence *s = &v->silences[i];

		/* what it had no CPU for, that cause takes out of it */
		if ((silence_computed(s) && !gap_view_is_brief(v, s)) ||
		    (gap_view_unwatched(v) && silence_without_cpu(s)))
			propose_accounts(v, out, &v->silences[i]);
	}
	for (size_t i = 0; i < v->n_activities; i++) {
		const struct activity *a = &v->activities[i];
		struct finding *f;

		if (a->doing != DOING_CPU)
			continue;
		f = findings_add(out, CAUSE_host_compute, CONFIDENCE_INFERRED, a->begin_ns, a->end_ns);
		chain_submitter_in(f, v, "on a CPU", "");
		evidence_activity(f->words->evidence, sizeof(f->words->evidence), v->trace, a);
	}
}
