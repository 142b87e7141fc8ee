/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread waited, by its accounts, and nobody saw for what: so it is no remainder of a blocking call before, which left nothing to wait for. */
#include "cause_rules.h"

#include <stdio.h>

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

void cause_unexplained(const struct gap_view *v, struct findings *out)
{
	for (size_t i = 0; i < v->n_silences && gap_view_unwatched(v); i++) {
		const struct silence *s = &v->silences[i];
		struct finding *f;

		if (!waited(s) || silence_computed(s))
			continue;
		f = findings_add(out, CAUSE_unexplained, CONFIDENCE_INFERRED, s->begin_ns, s->end_ns);
		chain_submitter(f, v, "waiting, for what is not known");
		evidence_accounts(f->words->evidence, sizeof(f->words->evidence), "", v, s->begin_ns, s->end_ns);
	}
}
