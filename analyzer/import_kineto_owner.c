/* SPDX-License-Identifier: BSD-2-Clause */
/* import_kineto_owner.c: whose the devices' work is.
 *
 * A trace of PyTorch's is of one process. Where several made calls, as in files put together by other tools, work is of the one among whose
 * calls its correlation is, if there is one only; else of the one most of the others drawn beside it are of. Ranks that do the same have the same
 * correlations: where no work of a line tells, the line is of the process that began most of what is on it before it ran, and of several such of
 * one that no other line is of. */
#include <stdlib.h>

#include "import_kineto_parts.h"
#include "alloc.h"

#define COUNTS_MOST ((size_t)1 << 20) /* of lines times processes; beyond, what cannot be told is the main process's */

struct line { /* of work: whatever the file calls its process */
	uint32_t process;
	int64_t lead; /* of that one over all others */
};

struct kineto_owners {
	struct line *lines; /* one for each of kineto.processes */
	uint32_t *
		begun; /* [line][process]: work whose call it may have begun, of that which may be several's; NULL: not counted */
	bool several;
};

static int by_correlation(const void *a, const void *b)
{
	const struct kineto_link *x = a, *y = b;

	if (x->correlation != y->correlation)
		return x->correlation < y->correlation ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* One for each number and process: the first. */
static void sort_links(struct kineto *k)
{
	size_t n = 0;

	array_sort(k->links, k->n_links, sizeof(*k->links), by_correlation);
	for (size_t i = 0; i < k->n_links; i++)
		if (n == 0 || k->links[n - 1].correlation != k->links[i].correlation ||
		    k->links[n - 1].process != k->links[i].process)
			k->links[n++] = k->links[i];
	k->n_links = n;
}

static bool before(const void *element, const void *key)
{
	return ((const struct kineto_link *)element)->correlation < *(const uint64_t *)key;
}

/* The processes with such a call, `most` of them at most; *n 0: none. */
static const struct kineto_link *callers(const struct kineto *k, uint64_t correlation, size_t most, size_t *n)
{
	size_t i = array_first(k->links, k->n_links, sizeof(*k->links), before, &correlation);

	*n = 0;
	while (correlation && *n < most && i + *n < k->n_links && k->links[i + *n].correlation == correlation)
		++*n;
	return *n ? &k->links[i] : NULL;
}

static void vote(struct line *line, uint32_t process)
{
	if (line->lead == 0)
		line->process = process;
	line->lead += line->process == process ? 1 : -1;
}

/* Of those whose correlations are one process's only, the majority of each line, in one pass (Boyer and Moore's vote). */
static void count_votes(struct kineto *k, struct kineto_owners *o)
{
	for (size_t i = 0; i < k->n_works; i++) {
		const struct kineto_work *w = &k->works[i];
		uint32_t *begun = o->begun ? &o->begun[w->process * k->n_processes] : NULL;
		size_t n;
		const struct kineto_link *at = callers(k, w->work.correlation, begun ? SIZE_MAX : 2, &n);

		if (n == 1)
			vote(&o->lines[w->process], at->process);
		for (size_t c = 0; n > 1 && begun && c < n; c++)
			begun[at[c].process] += at[c].begin_ns <= w->work.begin_ns;
	}
}

static uint32_t likeliest(const struct kineto *k, const uint32_t *begun, const uint32_t *lines_of)
{
	uint32_t best = KINETO_NO_PROCESS;

	for (uint32_t i = 0; i < k->n_processes; i++)
		if (begun[i] && (best == KINETO_NO_PROCESS || begun[i] > begun[best] ||
				 (begun[i] == begun[best] && lines_of[i] < lines_of[best])))
			best = i;
	return best;
}

/* Lines on which nothing is one process's only. */
static bool guess(const struct kineto *k, struct kineto_owners *o)
{
	uint32_t *lines_of = array_new(k->n_processes, sizeof(*lines_of));

	if (!lines_of)
		return false;
	for (size_t i = 0; i < k->n_processes; i++)
		if (o->lines[i].lead)
			lines_of[o->lines[i].process]++;
	for (size_t i = 0; i < k->n_processes; i++) {
		uint32_t process =
			o->lines[i].lead ? KINETO_NO_PROCESS : likeliest(k, &o->begun[i * k->n_processes], lines_of);

		if (process == KINETO_NO_PROCESS)
			continue;
		o->lines[i].process = process;
		lines_of[process]++;
	}
	free(lines_of);
	return true;
}

/* What is drawn on a line without votes, and may be of several. */
static void warn_of_guesses(struct kineto *k, const struct kineto_owners *o)
{
	uint64_t guessed = 0;
	size_t n;

	for (size_t i = 0; i < k->n_works; i++) {
		callers(k, k->works[i].work.correlation, 2, &n);
		guessed += n > 1 && o->lines[k->works[i].process].lead == 0;
	}
	if (guessed)
		import_warn(
			k->b,
			"of %llu %s of work it is guessed which process asked for %s: calls of several have the same numbers",
			(unsigned long long)guessed, guessed == 1 ? "piece" : "pieces", guessed == 1 ? "it" : "them");
}

static bool tell_apart(struct kineto *k, struct kineto_owners *o)
{
	if (k->n_processes <= COUNTS_MOST / k->n_processes) {
		o->begun = array_new(k->n_processes * k->n_processes, sizeof(*o->begun));
		if (!o->begun)
			return false;
	}
	sort_links(k);
	count_votes(k, o);
	if (o->begun && !guess(k, o))
		return false;
	warn_of_guesses(k, o);
	return true;
}

struct kineto_owners *kineto_owners_new(struct kineto *k, uint32_t main)
{
	struct kineto_owners *o = calloc(1, sizeof(*o));
	size_t callers = 0;

	if (!o)
		return NULL;
	o->lines = array_new(k->n_processes, sizeof(*o->lines));
	for (size_t i = 0; o->lines && i < k->n_processes; i++) {
		o->lines[i].process = k->processes[i].calls ? (uint32_t)i : main;
		callers += k->processes[i].calls > 0;
	}
	o->several = callers > 1;
	if (o->lines && (!o->several || tell_apart(k, o)))
		return o;
	kineto_owners_free(o);
	return NULL;
}

uint32_t kineto_owner(const struct kineto *k, const struct kineto_owners *o, const struct kineto_work *w)
{
	size_t n = 0;
	const struct kineto_link *at = o->several ? callers(k, w->work.correlation, 2, &n) : NULL;

	return n == 1 ? at->process : o->lines[w->process].process;
}

void kineto_owners_free(struct kineto_owners *o)
{
	if (!o)
		return;
	free(o->lines);
	free(o->begun);
	free(o);
}
