/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread was found writing. What is a checkpoint stands above this in causes.def. */
#include "cause_rules.h"

#include <string.h>

#include "tools/ns.h"

static bool writes_to(const struct activity *a, const struct activity *b)
{
	return a->doing == DOING_WRITE && b->doing == DOING_WRITE && a->fd_kind == b->fd_kind && a->file && b->file &&
	       strcmp(a->file, b->file) == 0;
}

/* On a CPU between two finds of it writing to one file, and no longer than those: then it was writing too. */
static bool goes_on_writing(const struct gap_view *v, size_t i)
{
	const struct activity *a = &v->activities[i], *before = a - 1, *behind = a + 1;

	return a->doing == DOING_CPU && i > 0 && i + 1 < v->n_activities && before->end_ns == a->begin_ns &&
	       behind->begin_ns == a->end_ns && writes_to(before, behind) &&
	       since64(a->end_ns, a->begin_ns) <=
		       since64(before->end_ns, before->begin_ns) + since64(behind->end_ns, behind->begin_ns);
}

void cause_output_io(const struct gap_view *v, struct findings *out)
{
	for (size_t i = 0; i < v->n_activities; i++) {
		const struct activity *a = &v->activities[i];
		struct finding *f;

		if (a->doing != DOING_WRITE && !goes_on_writing(v, i))
			continue;
		f = findings_add(out, CAUSE_output_io, CONFIDENCE_INFERRED, a->begin_ns, a->end_ns);
		chain_submitter_in(f, v, "in ", a->syscall ? a->syscall : "its writing");
		evidence_activity(f->words->evidence, sizeof(f->words->evidence), v->trace, a);
	}
}
