/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread was found writing. What is a checkpoint stands above this in causes.def. */
#include "cause_rules.h"

void cause_output_io(const struct gap_view *v, struct findings *out)
{
	for (size_t i = 0; i < v->n_activities; i++) {
		const struct activity *a = &v->activities[i];
		struct finding *f;

		if (a->doing != DOING_WRITE)
			continue;
		f = findings_add(out, CAUSE_output_io, CONFIDENCE_INFERRED, a->begin_ns, a->end_ns);
		chain_submitter(f, v, "in %s", a->syscall);
		evidence_activity(f->words->evidence, sizeof(f->words->evidence), a);
	}
}
