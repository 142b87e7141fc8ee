/* SPDX-License-Identifier: BSD-2-Clause */
/* import_kineto_owner.c: whose the devices' work is.
 *
 * In files put together by other tools several processes made calls, and the number by which a call and its work are one (the correlation) begins
 * anew in each: so several may have a piece's number, and its own call may lie before the trace. Callers of a piece are those that called by its
 * number before it began, by a call that can submit work.
 *
 * A line, on which work is drawn, is of the process that alone can have asked for most of it: no other is a caller of the piece, nor that one of
 * any on another line by the same number. Where there is no such piece: of the one that called most of it; of several that did, of one that no
 * other line is of, and if nothing tells those apart, of the first in the file. A piece is of its line's process, where that called it; else of
 * the one caller that has no work by that number on a line of its own; else of the line's process, its call unknown. */
#include <stdlib.h>

#include "import_kineto_parts.h"
#include "tools/alloc.h"
#include "tools/spill.h"

#define COUNTS_MOST ((size_t)1 << 22) /* of lines times processes; beyond, what cannot be told is the main process's */
#define MANY UINT32_MAX

struct line { /* of work: whatever the file calls its process */
	uint32_t process;
	bool sure; /* there are pieces that only that one can have asked for */
};

struct count {           /* of a line's pieces, those of which one process … */
	uint32_t alone;  /* … can be the only one that asked for them */
	uint32_t called; /* … is a caller */
	uint32_t named;  /* … ever had the number, in any call */
};

struct kineto_owners {
	struct line *lines;   /* one for each of kineto.processes */
	uint32_t *lines_of;   /* … for each process: how many are its */
	struct count *counts; /* [line][process]; NULL: not counted */
	uint32_t *called_on;  /* for each of kineto.links: 1 + the line of what it is a call of; 0 none; MANY */
	size_t near;          /* of the numbers asked for last */
	bool several;
};

struct callers { /* links of one number */
	size_t first, n;
};

static bool submits(enum gst_family family)
{
	return family == GST_FAMILY_LAUNCH || family == GST_FAMILY_GRAPH_LAUNCH || family == GST_FAMILY_COPY ||
	       family == GST_FAMILY_MEMSET;
}

/* Beside names that nobody knows: code and graphs may be copied to the device, which some tools call work. */
static bool may_submit(enum gst_family family)
{
	return submits(family) || family == GST_FAMILY_OTHER || family == GST_FAMILY_HOSTFN ||
	       family == GST_FAMILY_GRAPH || family == GST_FAMILY_MODULE;
}

bool kineto_link_call(struct kineto *k, const struct import_call *c, uint32_t process)
{
	enum gst_family family = import_family(k->b, c->name);

	if (!c->correlation || !may_submit(family))
		return true;
	if (!spill_room(k->links, k->n_links, k->links_cap))
		return false;
	k->links[k->n_links++] = (struct kineto_link){
		.correlation = c->correlation,
		.begin_ns = c->begin_ns,
		.process = process,
		.submits = submits(family),
	};
	return true;
}

static int by_correlation(const void *a, const void *b)
{
	const struct kineto_link *x = a, *y = b;

	if (x->correlation != y->correlation)
		return x->correlation < y->correlation ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* One for each number and process: the first. Where no name in the file is known to submit, any may. */
static void sort_links(struct kineto *k)
{
	struct kineto_link *last = NULL;
	bool submits = false;
	size_t n = 0;

	array_sort(k->links, k->n_links, sizeof(*k->links), by_correlation);
	for (size_t i = 0; i < k->n_links; i++) {
		const struct kineto_link *link = &k->links[i];

		submits |= link->submits;
		if (last && last->correlation == link->correlation && last->process == link->process) {
			last->submits |= link->submits;
			continue;
		}
		last = &k->links[n++];
		*last = *link;
	}
	k->n_links = n;
	for (size_t i = 0; i < n && !submits; i++)
		k->links[i].submits = true;
}

static bool before(const void *element, const void *key)
{
	return ((const struct kineto_link *)element)->correlation < *(const uint64_t *)key;
}

/* Whoever has the piece's number. Not counted: two at most. */
static struct callers callers_of(const struct kineto *k, struct kineto_owners *o, const struct kineto_work *w)
{
	uint64_t number = w->work.correlation;
	size_t most = o->counts ? SIZE_MAX : 2;
	struct callers c = { 0 };

	if (!number)
		return c;
	o->near = c.first = array_first_near(k->links, k->n_links, sizeof(*k->links), before, &number, o->near);
	while (c.n < most && c.first + c.n < k->n_links && k->links[c.first + c.n].correlation == number)
		c.n++;
	return c;
}

static bool in_time(const struct kineto_link *link, const struct kineto_work *w)
{
	return link->begin_ns <= w->work.begin_ns;
}

static struct count *count_of(const struct kineto *k, const struct kineto_owners *o, uint32_t line, uint32_t process)
{
	return &o->counts[line * k->n_processes + process];
}

static void note_lines(const struct kineto *k, struct kineto_owners *o, const struct kineto_work *w)
{
	struct callers c = callers_of(k, o, w);

	for (size_t i = c.first; i < c.first + c.n; i++)
		if (in_time(&k->links[i], w) && o->called_on[i] != w->process + 1)
			o->called_on[i] = o->called_on[i] ? MANY : w->process + 1;
}

static void count(const struct kineto *k, struct kineto_owners *o, const struct kineto_work *w)
{
	struct callers c = callers_of(k, o, w);
	size_t called = 0, last = 0;

	for (size_t i = c.first; i < c.first + c.n; i++) {
		struct count *count = count_of(k, o, w->process, k->links[i].process);

		count->named++;
		if (!k->links[i].submits || !in_time(&k->links[i], w))
			continue;
		count->called++;
		called++;
		last = i;
	}
	if (called == 1 && o->called_on[last] == w->process + 1)
		count_of(k, o, w->process, k->links[last].process)->alone++;
}

/* Has a more than b of that line? */
static bool is_likelier(const struct kineto *k, const struct kineto_owners *o, uint32_t line, uint32_t a, uint32_t b)
{
	const struct count *x = count_of(k, o, line, a), *y = count_of(k, o, line, b);

	if (x->alone != y->alone)
		return x->alone > y->alone;
	if (x->called != y->called)
		return x->called > y->called;
	if (x->named != y->named)
		return x->named > y->named;
	return o->lines_of[a] < o->lines_of[b];
}

static void find_process(const struct kineto *k, struct kineto_owners *o, uint32_t i)
{
	uint32_t best = 0;

	for (uint32_t process = 1; process < k->n_processes; process++)
		if (is_likelier(k, o, i, process, best))
			best = process;
	if (!count_of(k, o, i, best)->named)
		return;
	o->lines[i].process = best;
	o->lines_of[best]++;
}

static bool is_sure(const struct kineto *k, const struct kineto_owners *o, uint32_t line)
{
	for (uint32_t process = 0; process < k->n_processes; process++)
		if (count_of(k, o, line, process)->alone)
			return true;
	return false;
}

/* Those that are sure first: the others are of processes that are left. */
static void find_processes(const struct kineto *k, struct kineto_owners *o)
{
	for (size_t i = 0; i < k->n_works; i++)
		note_lines(k, o, &k->works[i]);
	for (size_t i = 0; i < k->n_works; i++)
		count(k, o, &k->works[i]);
	for (uint32_t i = 0; i < k->n_processes; i++) {
		o->lines[i].sure = is_sure(k, o, i);
		if (o->lines[i].sure)
			find_process(k, o, i);
	}
	for (uint32_t i = 0; i < k->n_processes; i++)
		if (!o->lines[i].sure)
			find_process(k, o, i);
}

/* Calls whose work is drawn on their own process's line. */
static void note_at_home(struct kineto *k, struct kineto_owners *o, const struct kineto_work *w)
{
	struct callers c = callers_of(k, o, w);

	for (size_t i = c.first; i < c.first + c.n; i++)
		k->links[i].at_home |= k->links[i].process == o->lines[w->process].process && in_time(&k->links[i], w);
}

/* A name that may submit counts where its process alone can have asked for some of that line. */
static bool is_caller(const struct kineto *k, const struct kineto_owners *o, const struct kineto_link *link,
		      const struct kineto_work *w)
{
	return in_time(link, w) && (link->submits || (o->counts && count_of(k, o, w->process, link->process)->alone));
}

struct asked {         /* who, beside the line's process, has called by the number */
	bool own;      /* that one has, too */
	bool homeless; /* one of the rivals has no line at all */
	size_t others;
	size_t rivals;  /* those of them without work by that number on a line of their own … */
	uint32_t rival; /* … the last one */
};

static struct asked who_asked(const struct kineto *k, const struct kineto_owners *o, const struct kineto_work *w,
			      struct callers c)
{
	uint32_t own = o->lines[w->process].process;
	struct asked asked = { 0 };

	for (size_t i = c.first; i < c.first + c.n; i++) {
		const struct kineto_link *link = &k->links[i];

		if (!is_caller(k, o, link, w))
			continue;
		if (link->process == own) {
			asked.own = true;
			continue;
		}
		asked.others++;
		if (link->at_home)
			continue;
		asked.rivals++;
		asked.rival = link->process;
		asked.homeless |= !o->lines_of[link->process];
	}
	return asked;
}

static uint32_t decide(const struct kineto *k, struct kineto_owners *o, const struct kineto_work *w, bool *guessed)
{
	const struct line *line = &o->lines[w->process];
	struct callers c = callers_of(k, o, w);
	struct asked asked = who_asked(k, o, w, c);

	*guessed = (!line->sure && c.n > 1) || (asked.own ? asked.homeless : asked.others > 0);
	return !asked.own && asked.rivals == 1 ? asked.rival : line->process;
}

static void warn_of_guesses(struct kineto *k, struct kineto_owners *o)
{
	uint64_t guessed = 0;
	bool guess;

	for (size_t i = 0; i < k->n_works; i++) {
		decide(k, o, &k->works[i], &guess);
		guessed += guess;
	}
	if (guessed)
		import_warn(
			k->b,
			"of %llu %s of work it is guessed which process asked for %s: by number and place %s may be several's",
			(unsigned long long)guessed, guessed == 1 ? "piece" : "pieces", guessed == 1 ? "it" : "them",
			guessed == 1 ? "it" : "they");
}

static bool tell_apart(struct kineto *k, struct kineto_owners *o)
{
	sort_links(k);
	o->lines_of = array_new(k->n_processes, sizeof(*o->lines_of));
	if (!o->lines_of)
		return false;
	if (k->n_processes <= COUNTS_MOST / k->n_processes) {
		o->counts = array_new(k->n_processes * k->n_processes, sizeof(*o->counts));
		o->called_on = spill_new(k->n_links, sizeof(*o->called_on));
		if (!o->counts || !o->called_on)
			return false;
		find_processes(k, o);
	}
	for (size_t i = 0; i < k->n_works; i++)
		note_at_home(k, o, &k->works[i]);
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

uint32_t kineto_owner(const struct kineto *k, struct kineto_owners *o, const struct kineto_work *w)
{
	bool guessed;

	return o->several ? decide(k, o, w, &guessed) : o->lines[w->process].process;
}

void kineto_owners_free(struct kineto_owners *o)
{
	if (!o)
		return;
	free(o->lines);
	free(o->lines_of);
	free(o->counts);
	spill_free(o->called_on);
	free(o);
}
