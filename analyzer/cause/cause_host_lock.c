/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread was found waiting for a lock, and the thread of its process that has it, by what the lock says, was computing meanwhile. That some
 * other one computes proves nothing: most programs have some that do. */
#include "cause_rules.h"

#include <stdio.h>
#include <string.h>

#include "gap/futex_looks.h"

void cause_host_lock(const struct gap_view *v, struct findings *out)
{
	for (size_t i = 0; i < v->n_activities && gap_view_unwatched(v); i++) {
		const struct activity *a = &v->activities[i];
		struct finding *f;
		size_t used;

		if (!futex_is_held(a))
			continue;
		f = findings_add(out, CAUSE_host_lock, CONFIDENCE_INFERRED, a->begin_ns, a->end_ns);
		chain_submitter_in(f, v, "in ", a->syscall);
		evidence_activity(f->words->evidence, sizeof(f->words->evidence), v->trace, a);
		used = strlen(f->words->evidence);
		snprintf(f->words->evidence + used, sizeof(f->words->evidence) - used,
			 "; thread %u, which has the lock, was on a CPU in %zu of them", a->holder, a->n_held);
	}
}
