/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread was found forcing a file to disk, or writing to a file after it had copied from the device in the same gap. */
#include "cause_rules.h"

void cause_checkpoint(const struct gap_view *v, struct findings *out)
{
	for (size_t i = 0; i < v->n_activities; i++) {
		const struct activity *a = &v->activities[i];
		struct finding *f;

		if (a->doing != DOING_FLUSH &&
		    !(a->doing == DOING_WRITE && a->fd_kind == GST_FD_FILE && a->end_ns > gap_view_copied_out_ns(v)))
			continue;
		f = findings_add(out, CAUSE_checkpoint, CONFIDENCE_INFERRED, a->begin_ns, a->end_ns);
		chain_submitter(f, v, "in %s", a->syscall);
		evidence_activity(f->evidence, sizeof(f->evidence), a);
	}
}
