/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread never blocked, was switched out, and did not compute: it had no CPU. Its accounts say for how long; where in the silence that was,
 * nobody saw, so it is spread over it. Where it blocked as well, a sample that finds it outside of the kernel says only that it wants a CPU: what
 * such samples stand for beyond what it computed, it waited for one. */
#include "cause_rules.h"

#include <stdio.h>

#include "ns.h"
#include "text.h"

#define PARTS_MAX 64
#define PART_NS 4000000 /* the order of a time slice */
#define LEAST_NS 1000000

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

static int64_t within(const struct activity *a, const struct silence *s)
{
	return a->doing == DOING_CPU ? max64(0, min64(a->end_ns, s->end_ns) - max64(a->begin_ns, s->begin_ns)) : 0;
}

/* What it computed from one account to the other. */
static int64_t since_cpu(const struct silence *s)
{
	uint64_t cpu_ns = s->after->cpu_ns - s->before->cpu_ns;

	return cpu_ns < INT64_MAX ? (int64_t)cpu_ns : INT64_MAX;
}

/* Of the time that samples of the silence say it wanted a CPU for: how much it had none, by its accounts. What is an eighth, or less than a
 * time slice, is chance: samples are few. */
static int64_t wanted_in_vain(const struct silence *s, const struct activity *at, size_t n, int64_t *wanted)
{
	int64_t computed, off;

	*wanted = 0;
	if (!silence_accounted(s) || s->after->involuntary == s->before->involuntary)
		return 0;
	for (size_t i = 0; i < n; i++)
		*wanted += within(&at[i], s);
	computed = min64(since_cpu(s), *wanted);
	off = *wanted - computed;
	return off > *wanted / 8 && off > LEAST_NS ? off : 0;
}

static void propose_share(const struct gap_view *v, struct findings *out, const struct silence *s)
{
	size_t n;
	const struct activity *at = gap_view_activities(v, s->begin_ns, s->end_ns, &n);
	int64_t wanted, off = wanted_in_vain(s, at, n, &wanted);
	char without[TEXT_SHORT], of[TEXT_SHORT];

	for (size_t i = 0; off > 0 && i < n; i++) {
		const struct activity *a = &at[i];
		int64_t share = (int64_t)((double)within(a, s) / (double)wanted * (double)off);
		struct finding *f;

		if (share <= 0)
			continue;
		f = findings_add(out, CAUSE_cpu_contention, CONFIDENCE_INFERRED, a->end_ns - share, a->end_ns);
		chain_submitter(f, v, "runnable, no CPU");
		snprintf(
			f->words->evidence, sizeof(f->words->evidence),
			"thread %u wanted a CPU for %s, by samples, and had none for %s of that, switched out %u times",
			v->tid, text_duration(of, wanted), text_duration(without, off),
			s->after->involuntary - s->before->involuntary);
	}
}

void cause_cpu_contention(const struct gap_view *v, struct findings *out)
{
	for (size_t i = 0; i < v->n_silences && gap_view_unwatched(v); i++) {
		int64_t off = silence_without_cpu(&v->silences[i]);

		if (off > 0)
			propose(v, out, &v->silences[i], off);
		else if (!silence_computed(&v->silences[i]))
			propose_share(v, out, &v->silences[i]);
	}
}
