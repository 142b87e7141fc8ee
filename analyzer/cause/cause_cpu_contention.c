/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread wanted a CPU and had none: by its accounts (no_cpu.h), or as another tool's record of the scheduler says. */
#include "gap/gap_view_ops.h"
#include "cause_rules.h"

#include <stdio.h>

#include "gap/no_cpu.h"
#include "tools/text.h"

static void propose(const struct gap_view *v, struct findings *out, const struct silence *s, const struct no_cpu *piece)
{
	enum confidence confidence = piece->sampled ? CONFIDENCE_INFERRED : CONFIDENCE_OBSERVED;
	struct finding *f = findings_add(out, CAUSE_cpu_contention, confidence, piece->begin_ns, piece->end_ns);
	uint32_t switched = s->after->involuntary - s->before->involuntary;
	char without[TEXT_SHORT], of[TEXT_SHORT];

	chain_submitter_in(f, v, "runnable, no CPU", "");
	text_duration(without, piece->off_ns);
	text_duration(of, piece->of_ns);
	if (piece->sampled)
		snprintf(
			f->words->evidence, sizeof(f->words->evidence),
			"thread %u wanted a CPU for %s, by samples, and had none for %s of that, switched out %u times",
			v->tid, of, without, switched);
	else
		snprintf(f->words->evidence, sizeof(f->words->evidence),
			 "thread %u never blocked, was switched out %u times and had no CPU for %s of %s", v->tid,
			 switched, without, of);
}

void cause_cpu_contention(const struct gap_view *v, struct findings *out)
{
	no_cpu_each(v, out, propose);
	for (size_t i = 0; i < v->n_stretches; i++) {
		const struct stretch *s = &v->stretches[i];
		struct finding *f;

		if (s->what != AT_NO_CPU)
			continue;
		f = findings_add(out, CAUSE_cpu_contention, CONFIDENCE_OBSERVED, s->begin_ns, s->end_ns);
		chain_submitter(f, v, "runnable, no CPU");
		evidence_piece(f->words->evidence, sizeof(f->words->evidence), v, s->piece, s->piece_ns);
	}
}
