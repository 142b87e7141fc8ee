/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread was found waiting for data from a pipe or a socket: somebody owed it the next batch. */
#include "cause_rules.h"

void cause_input_wait(const struct gap_view *v, struct findings *out)
{
	for (size_t i = 0; i < v->n_activities; i++) {
		const struct activity *a = &v->activities[i];
		struct finding *f;

		if (a->doing != DOING_READ || (a->fd_kind != GST_FD_PIPE && a->fd_kind != GST_FD_SOCKET))
			continue;
		f = findings_add(out, CAUSE_input_wait, CONFIDENCE_INFERRED, a->begin_ns, a->end_ns);
		chain_submitter(f, v, "in %s on %s", a->syscall ? a->syscall : "a system call",
				a->file ? a->file : "a pipe or socket");
		evidence_activity(f->words->evidence, sizeof(f->words->evidence), a);
	}
}
