/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread waited, by its accounts, and nobody saw for what: so it is no remainder of a blocking call before, which left nothing to wait for. */
#include "cause_rules.h"

#include <stdio.h>
#include <string.h>

#include "gap/futex_looks.h"
#include "gap/gap_view_ops.h"

/* It gave its CPU up, and did not compute for most of the time. */
static bool waited(const struct silence *s)
{
	int64_t between;

	if (!silence_accounted(s))
		return false;
	between = s->after->time_ns - s->before->time_ns;
	return s->after->voluntary != s->before->voluntary &&
	       s->after->cpu_ns - s->before->cpu_ns < (uint64_t)between / 2;
}

/* Who may have had what it waited for, and may not. */
static void tell_beside(char *buf, size_t size, const struct gap_view *v, const struct silence *s)
{
	const struct activity *most = NULL;
	size_t n, used = strlen(buf);
	const struct activity *at = gap_view_activities(v, s->begin_ns, s->end_ns, &n);

	for (size_t i = 0; i < n; i++)
		if (futex_has_beside(&at[i]) && (!most || at[i].n_beside > most->n_beside))
			most = &at[i];
	if (most)
		snprintf(
			buf + used, size - used,
			"; it was seen in %s, with thread %u on a CPU in %zu of %zu looks; whether that had what it waited for is not on record",
			most->syscall, most->beside, most->n_beside, most->n_samples);
}

static struct finding *propose(const struct gap_view *v, struct findings *out, int64_t begin_ns, int64_t end_ns)
{
	struct finding *f = findings_add(out, CAUSE_unexplained, CONFIDENCE_INFERRED, begin_ns, end_ns);

	chain_submitter_in(f, v, "waiting, for what is not known", "");
	return f;
}

/* Another tool saw it wait, but not for whom. */
static void propose_waits(const struct gap_view *v, struct findings *out)
{
	for (size_t i = 0; i < v->n_activities; i++) {
		const struct activity *a = &v->activities[i];

		if (!a->op || (a->doing != DOING_LOCK && a->doing != DOING_OTHER))
			continue;
		evidence_op(propose(v, out, a->begin_ns, a->end_ns)->words->evidence, EVIDENCE_BYTES, v->trace, a->op);
	}
	for (size_t i = 0; i < v->n_stretches; i++) {
		const struct stretch *s = &v->stretches[i];

		if (s->what == AT_WAIT)
			evidence_piece(propose(v, out, s->begin_ns, s->end_ns)->words->evidence, EVIDENCE_BYTES, v,
				       s->piece, s->piece_ns);
	}
}

void cause_unexplained(const struct gap_view *v, struct findings *out)
{
	propose_waits(v, out);
	for (size_t i = 0; i < v->n_silences && gap_view_unwatched(v); i++) {
		const struct silence *s = &v->silences[i];
		struct finding *f;

		if (!waited(s) || silence_computed(s))
			continue;
		f = propose(v, out, s->begin_ns, s->end_ns);
		evidence_accounts(f->words->evidence, sizeof(f->words->evidence), "", v, s->begin_ns, s->end_ns);
		tell_beside(f->words->evidence, sizeof(f->words->evidence), v, s);
	}
}
