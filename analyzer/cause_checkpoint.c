/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread was found forcing a file to disk, or writing to a file after it had copied from the device in the same gap. */
#include "cause_rules.h"

static bool copied_out(const struct gap_view *v)
{
	for (size_t i = 0; i < v->n_calls; i++) {
		const struct call *c = v->calls[i];

		if (c->family == GST_FAMILY_COPY &&
		    (c->detail == GST_COPY_D2H_PAGEABLE || c->detail == GST_COPY_D2H_PINNED))
			return true;
	}
	return v->gap->before && v->gap->before->class == OP_COPY &&
	       (v->gap->before->copy == GST_COPY_D2H_PAGEABLE || v->gap->before->copy == GST_COPY_D2H_PINNED);
}

void cause_checkpoint(const struct gap_view *v, struct findings *out)
{
	for (size_t i = 0; i < v->n_activities; i++) {
		const struct activity *a = &v->activities[i];
		struct finding *f;

		if (a->doing != DOING_FLUSH && !(a->doing == DOING_WRITE && a->fd_kind == GST_FD_FILE && copied_out(v)))
			continue;
		f = findings_add(out, CAUSE_checkpoint, CONFIDENCE_INFERRED, a->begin_ns, a->end_ns);
		chain_submitter(f, v, "in %s", a->syscall);
		evidence_activity(f->evidence, sizeof(f->evidence), a);
	}
}
