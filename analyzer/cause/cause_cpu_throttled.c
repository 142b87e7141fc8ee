/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread wanted a CPU and had none (no_cpu.h), and meanwhile its control group had used up its quota: the thread's accounts, and looks at
 * it, bring along for how long that was so far. What it grew by between the accounts around the silence counts; where they do not say, between the
 * looks in it; those just before and behind it do, too, where that is no much longer time. It is the sum over the group's CPUs, so no more than
 * the thread had none for. */
#include "cause_rules.h"

#include <stdio.h>

#include "gap/no_cpu.h"
#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/text.h"

#define LOOKS 64 /* at most, in either direction */

/* Do the thread's looks say so? One that found it elsewhere does not, nor one at a thread that another one waited for. */
static bool tells(const struct sample *s)
{
	return s->syscall == SAMPLE_ON_CPU && s->arg;
}

static bool until(const void *element, const void *key)
{
	return (*(const struct sample *const *)element)->time_ns <= *(const int64_t *)key;
}

/* The nearest one that tells, from there on in that direction; NULL none. */
static const struct sample *look_from(const struct thread_records *r, size_t i, bool forward)
{
	for (int looked = 0; i < r->n_samples && looked < LOOKS; looked++, i += forward ? 1 : (size_t)-1)
		if (tells(r->samples[i]))
			return r->samples[i];
	return NULL;
}

static int64_t between(const struct sample *first, const struct sample *last)
{
	return first && last && last->arg > first->arg && last->arg - first->arg < INT64_MAX
		       ? (int64_t)(last->arg - first->arg)
		       : 0;
}

static int64_t looks_grew_ns(const struct gap_view *v, const struct silence *s)
{
	const struct thread_records *r = v->records;
	int64_t silent = s->end_ns - s->begin_ns;
	const struct sample *first, *last;
	size_t begin, end;

	if (!r || !r->n_samples)
		return 0;
	begin = array_first(r->samples, r->n_samples, sizeof(*r->samples), until, &s->begin_ns);
	end = array_first(r->samples, r->n_samples, sizeof(*r->samples), until, &s->end_ns);
	first = look_from(r, begin - 1, false);
	last = look_from(r, end, true);
	if (!first || !last || last->time_ns - first->time_ns > silent / 4 * 5) {
		first = look_from(r, begin, true);
		last = look_from(r, end - 1, false);
	}
	return between(first, last);
}

static int64_t grew_ns(const struct gap_view *v, const struct silence *s)
{
	if (s->before && s->after && s->before->throttled && s->after->throttled)
		return (int64_t)(uint32_t)(s->after->throttled - s->before->throttled) * 1000;
	return looks_grew_ns(v, s);
}

static void propose(const struct gap_view *v, struct findings *out, const struct silence *s, const struct no_cpu *piece)
{
	enum confidence confidence = piece->sampled ? CONFIDENCE_INFERRED : CONFIDENCE_OBSERVED;
	int64_t grew = grew_ns(v, s), throttled = min64(grew, piece->off_ns);
	int64_t share =
		(int64_t)((double)(piece->end_ns - piece->begin_ns) / (double)piece->off_ns * (double)throttled);
	char quota[TEXT_SHORT], without[TEXT_SHORT];
	struct finding *f;

	if (share <= 0)
		return;
	f = findings_add(out, CAUSE_cpu_throttled, confidence, piece->end_ns - share, piece->end_ns);
	chain_submitter_in(f, v, "runnable, quota used up", "");
	snprintf(
		f->words->evidence, sizeof(f->words->evidence),
		"thread %u had no CPU for %s; its control group's CPUs together had used up their quota for %s meanwhile",
		v->tid, text_duration(without, piece->off_ns), text_duration(quota, grew));
}

void cause_cpu_throttled(const struct gap_view *v, struct findings *out)
{
	no_cpu_each(v, out, propose);
}
