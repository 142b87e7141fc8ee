/* SPDX-License-Identifier: BSD-2-Clause */
#include "no_cpu.h"

#include "tools/ns.h"

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

static void ask(const struct gap_view *v, struct findings *out, const struct silence *s, int64_t off, no_cpu_rule *rule)
{
	int64_t silent = s->end_ns - s->begin_ns, parts = min64(PARTS_MAX, silent / PART_NS + 1);

	for (int64_t i = 0; i < parts; i++) {
		int64_t end = s->begin_ns + silent / parts * (i + 1);

		rule(v, out, s, &(struct no_cpu){ end - off / parts, end, off, silent, false });
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

static void ask_samples(const struct gap_view *v, struct findings *out, const struct silence *s, no_cpu_rule *rule)
{
	size_t n;
	const struct activity *at = gap_view_activities(v, s->begin_ns, s->end_ns, &n);
	int64_t wanted, off = wanted_in_vain(s, at, n, &wanted);

	for (size_t i = 0; off > 0 && i < n; i++) {
		int64_t share = (int64_t)((double)within(&at[i], s) / (double)wanted * (double)off);

		if (share > 0)
			rule(v, out, s, &(struct no_cpu){ at[i].end_ns - share, at[i].end_ns, off, wanted, true });
	}
}

void no_cpu_each(const struct gap_view *v, struct findings *out, no_cpu_rule *rule)
{
	for (size_t i = 0; i < v->n_silences && gap_view_unwatched(v); i++) {
		int64_t off = silence_without_cpu(&v->silences[i]);

		if (off > 0)
			ask(v, out, &v->silences[i], off, rule);
		else if (!silence_computed(&v->silences[i]))
			ask_samples(v, out, &v->silences[i], rule);
	}
}
