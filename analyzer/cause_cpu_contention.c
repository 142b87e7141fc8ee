/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread never blocked, was switched out, and did not compute: it had no CPU. Its accounts say for how long; where in the silence that was,
 * nobody saw, so it is spread over it. */
#include "cause_rules.h"

#include <stdio.h>

#include "ns.h"
#include "text.h"

#define PARTS_MAX 64
#define PART_NS 4000000 /* the order of a time slice */

/* What the kernel counts late is no tenth. */
int64_t silence_without_cpu(const struct silence *s)
{
	int64_t between, silent = s->end_ns - s->begin_ns, off;

	if (!silence_accounted(s))
		return 0;
	if (s->after->voluntary != s->before->voluntary || s->after->involuntary == s->before->involuntary)
		return 0;
	between = s->after->time_ns - s->before->time_ns;
	if (s->after->cpu_ns - s->before->cpu_ns >= (uint64_t)between)
		return 0;
	off = between - (int64_t)(s->after->cpu_ns - s->before->cpu_ns);
	off -= max64(0, between - silent); /* that may have been outside of the silence */
	return off > silent / 10 ? min64(off, silent) : 0;
}

static void propose(const struct gap_view *v, struct findings *out, const struct silence *s, int64_t off)
{
	int64_t silent = s->end_ns - s->begin_ns, parts = min64(PARTS_MAX, silent / PART_NS + 1);
	char without[TEXT_SHORT], of[TEXT_SHORT];

	for (int64_t i = 0; i < parts; i++) {
		int64_t end = s->begin_ns + silent / parts * (i + 1);
		struct finding *f =
			findings_add(out, CAUSE_cpu_contention, CONFIDENCE_OBSERVED, end - off / parts, end);

		chain_submitter(f, v, "runnable, no CPU");
		snprintf(f->words->evidence, sizeof(f->words->evidence),
			 "thread %u never blocked, was switched out %u times and had no CPU for %s of %s", v->tid,
			 s->after->involuntary - s->before->involuntary, text_duration(without, off),
			 text_duration(of, silent));
	}
}

void cause_cpu_contention(const struct gap_view *v, struct findings *out)
{
	for (size_t i = 0; i < v->n_silences && gap_view_unwatched(v); i++) {
		int64_t off = silence_without_cpu(&v->silences[i]);

		if (off > 0)
			propose(v, out, &v->silences[i], off);
	}
}
