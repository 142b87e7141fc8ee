/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread was found forcing a file to disk, or writing to a file after it had copied from the device in the same gap. */
#include "cause_rules.h"

/* Samples do not say how much is written: where host probes do, they decide (cause_chain_leaf.c). */
static bool saves(const struct gap_view *v, const struct activity *a)
{
	if (a->doing == DOING_FLUSH)
		return true;
	return a->doing == DOING_WRITE && a->fd_kind == GST_FD_FILE && !v->n_chains &&
	       a->end_ns > gap_view_copied_out_ns(v);
}

void cause_checkpoint(const struct gap_view *v, struct findings *out)
{
	for (size_t i = 0; i < v->n_activities; i++) {
		const struct activity *a = &v->activities[i];
		struct finding *f;

		if (!saves(v, a))
			continue;
		f = findings_add(out, CAUSE_checkpoint, CONFIDENCE_INFERRED, a->begin_ns, a->end_ns);
		chain_submitter(f, v, "in %s", a->syscall);
		evidence_activity(f->words->evidence, sizeof(f->words->evidence), a);
	}
}
