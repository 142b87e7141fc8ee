/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread was found sleeping for a set time. Waiting for a descriptor or a lock with a time limit is no such sleep. */
#include "cause_rules.h"

void cause_host_sleep(const struct gap_view *v, struct findings *out)
{
	for (size_t i = 0; i < v->n_activities; i++) {
		const struct activity *a = &v->activities[i];
		struct finding *f;

		if (a->doing != DOING_SLEEP)
			continue;
		f = findings_add(out, CAUSE_host_sleep, CONFIDENCE_INFERRED, a->begin_ns, a->end_ns);
		chain_submitter_in(f, v, "sleeping in ", a->syscall);
		evidence_activity(f->words->evidence, sizeof(f->words->evidence), v->trace, a);
	}
}
