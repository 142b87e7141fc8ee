/* SPDX-License-Identifier: BSD-2-Clause */
/* The profiler whose trace was imported was itself at work: in the submitting thread, or nobody knows in which. */
#include "cause_rules.h"

#include "gap/gap_view_ops.h"
#include "tools/ns.h"

static void propose(const struct gap_view *v, struct findings *out, const struct host_op *op,
		    enum confidence confidence, int64_t begin_ns, int64_t end_ns)
{
	struct finding *f;

	if (!op || end_ns <= begin_ns || overhead_by_name(op_name(v->trace, op)) != OVERHEAD_PROFILER)
		return;
	f = findings_add(out, CAUSE_profiler, confidence, begin_ns, end_ns);
	chain_submitter(f, v, "in the profiler");
	evidence_op(f->words->evidence, sizeof(f->words->evidence), v->trace, op);
}

/* Its own is so in driver calls too; nobody's may have been elsewhere, and the thread waits for none but itself in a silence. */
void cause_profiler(const struct gap_view *v, struct findings *out)
{
	const struct op_piece *p;
	struct op_walk w;
	int64_t begin, end;

	if (!v->records || v->ready || !v->submit)
		return;
	for (w = op_walk_begin(&v->records->overhead, v->gap->begin_ns, v->submit->end_ns);
	     (p = op_walk_on(&w, &begin, &end));)
		propose(v, out, op_of(v->trace, p->inner), CONFIDENCE_OBSERVED, begin, end);
	for (size_t i = 0; i < v->n_silences; i++) {
		int64_t from = max64(v->silences[i].begin_ns, v->gap->begin_ns);

		for (w = op_walk_begin(&v->process->overhead, from, v->silences[i].end_ns);
		     (p = op_walk_on(&w, &begin, &end));)
			propose(v, out, op_of(v->trace, p->inner), CONFIDENCE_INFERRED, begin, end);
	}
}
