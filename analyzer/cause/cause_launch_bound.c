/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread submitted without pause, and the device was faster: from the submission whose work it finished to the one it waited for,
 * call followed call. The measure is what a submission costs this very thread; in between it waited for nothing, neither in a call that
 * blocks nor by asking in a loop: that would be a sync bubble. */
#include "gap/gap_view_ops.h"
#include "cause_rules.h"

#include "tools/text_put.h"

/* Its accounts around the row: it never gave the CPU up, and next to nobody took it away. */
static bool on_cpu(const struct thread_records *r, const struct call_row *row)
{
	size_t first = threads_usage_after(r, row->begin_ns);
	size_t last = threads_usage_after(r, row->end_ns - 1);
	const struct usage *before = first ? r->usages[first - 1] : NULL,
			   *after = last < r->n_usages ? r->usages[last] : NULL;

	return before && after && after->voluntary == before->voluntary && after->cpu_ns > before->cpu_ns &&
	       (int64_t)(after->cpu_ns - before->cpu_ns) >= (after->time_ns - before->time_ns) / 10 * 9;
}

/* A framework's way from one submission to the next takes longer than a submission: another tool saw that it did nothing else. */
static void propose_passing(const struct gap_view *v, struct findings *out, const struct silence *s, int64_t begin_ns,
			    int64_t end_ns)
{
	struct finding *f = findings_add(out, CAUSE_launch_bound, CONFIDENCE_INFERRED, begin_ns, end_ns);
	struct text_put p;

	chain_submitter_in(f, v, "on its way to the next submission", "");
	p = text_put_begin(f->words->evidence, sizeof(f->words->evidence));
	put_duration(&p, s->end_ns - s->begin_ns);
	put_text(&p, " from one call of thread ");
	put_uint(&p, v->tid);
	put_text(&p, " to the next, in ");
	put_uint(&p, s->ops.n);
	put_text(&p, s->ops.n == 1 ? " step of at most " : " steps of at most ");
	put_duration(&p, s->ops.longest_ns);
	if (!s->ops.piece || !op_of(v->trace, s->ops.piece->inner))
		return;
	put_text(&p, ": ");
	put_piece(&p, v, s->ops.piece, s->ops.piece_ns);
}

/* The submission itself, where nothing is known to have held it up: its cost is what launching costs. */
static void propose_submission(const struct gap_view *v, struct findings *out)
{
	struct finding *f;

	if (!v->submit || v->ready || v->blocking || !gap_view_is_short(v, v->submit))
		return;
	f = findings_add(out, CAUSE_launch_bound, CONFIDENCE_INFERRED, v->submit_begin_ns, v->gap->end_ns);
	f->remainder = true;
	chain_submitter_in(f, v, "in ", call_name(v->trace, v->submit));
	evidence_call(f->words->evidence, sizeof(f->words->evidence), v->trace, v->submit);
}

static void propose_ways(const struct gap_view *v, struct findings *out)
{
	const struct silence *longest = gap_view_passing(v);

	if (longest) {
		propose_passing(v, out, longest, v->gap->begin_ns, v->gap->end_ns);
		return;
	}
	for (size_t i = 0; i < v->n_silences; i++)
		if (gap_view_passes(v, &v->silences[i]))
			propose_passing(v, out, &v->silences[i], v->silences[i].begin_ns, v->silences[i].end_ns);
	propose_submission(v, out);
}

void cause_launch_bound(const struct gap_view *v, struct findings *out)
{
	struct finding *f;
	struct text_put p;
	const struct call_row *row = &v->row;

	if (!v->in_a_row) {
		if (gap_view_has_ops(v))
			propose_ways(v, out);
		return;
	}
	f = findings_add(out, CAUSE_launch_bound, on_cpu(v->records, row) ? CONFIDENCE_OBSERVED : CONFIDENCE_INFERRED,
			 v->gap->begin_ns, v->gap->end_ns);
	chain_submitter_in(f, v, "submitting without pause", "");
	p = text_put_begin(f->words->evidence, sizeof(f->words->evidence));
	put_uint(&p, row->n);
	put_text(&p, " calls of thread ");
	put_uint(&p, v->tid);
	put_text(&p, " in a row, at most ");
	put_duration(&p, row->longest_silence_ns);
	put_text(&p, " apart; one like the last takes it ");
	put_duration(&p, row->cost_ns);
	put_text(&p, " (median)");
}
