/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread was found waiting for another one, and another thread of its process was computing meanwhile. */
#include "cause_rules.h"

#include <stdio.h>
#include <string.h>

#include "futex_looks.h"

void cause_host_lock(const struct gap_view *v, struct findings *out)
{
	for (size_t i = 0; i < v->n_activities && gap_view_unwatched(v); i++) {
		const struct activity *a = &v->activities[i];
		struct finding *f;
		size_t used;

		if (!futex_is_held(a))
			continue;
		f = findings_add(out, CAUSE_host_lock, CONFIDENCE_INFERRED, a->begin_ns, a->end_ns);
		chain_submitter(f, v, "in %s", a->syscall);
		evidence_activity(f->words->evidence, sizeof(f->words->evidence), a);
		used = strlen(f->words->evidence);
		snprintf(f->words->evidence + used, sizeof(f->words->evidence) - used,
			 "; another thread of the process was on a CPU in %zu of them: %u", a->n_ran, a->ran);
	}
}
