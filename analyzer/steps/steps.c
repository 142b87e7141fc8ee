/* SPDX-License-Identifier: BSD-2-Clause */
#include "steps.h"

#include <stdlib.h>
#include <string.h>

#include "step_words.h"
#include "steps_launches.h"
#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/spill.h"

#define LEAST_NAMED 2 /* a range that is called a step is one if it comes so often … */
#define LEAST_OTHER 3 /* … and any other range */

bool range_is_like(const struct range *a, const struct range *b)
{
	if (a->numbered != b->numbered || !a->name != !b->name || !a->domain != !b->domain)
		return false;
	return (!a->name || a->name == b->name || strcmp(a->name, b->name) == 0) &&
	       (!a->domain || a->domain == b->domain || strcmp(a->domain, b->domain) == 0);
}

/* ---- ranges of one name in one thread ----------------------------------------------------------------------------------- */

struct group {
	const struct range *first;
	size_t n;
	int64_t begin_ns, end_ns; /* of the first, the latest */
	int64_t total_ns;
	uint32_t depth;    /* ranges of its thread around it, at least */
	bool overlaps;     /* with another of its own: those are no steps in a row */
	bool submits;      /* its thread does */
	bool named, outer; /* called a step; something that holds many */
};

/* How many ranges of its thread a range stands in: of those that began before it less those that ended by then, as all come by begin. */
struct around {
	int64_t *ends_ns; /* of the thread's, sorted */
	size_t n, ended, begun;
};

static void enter_thread(struct around *a, const struct range *const *ranges, size_t n)
{
	a->n = a->ended = a->begun = 0;
	for (size_t i = 0; i < n && ranges[i]->tid == ranges[0]->tid; i++)
		if (ranges[i]->end_ns > ranges[i]->begin_ns) /* an empty one is around nothing */
			a->ends_ns[a->n++] = ranges[i]->end_ns;
	array_sort(a->ends_ns, a->n, sizeof(*a->ends_ns), array_by_int64);
}

static uint32_t enter(struct around *a, const struct range *r)
{
	size_t begun = a->begun;

	while (a->ended < a->n && a->ends_ns[a->ended] <= r->begin_ns)
		a->ended++;
	a->begun += r->end_ns > r->begin_ns;
	return (uint32_t)(begun - a->ended);
}

/* A started one whose end is not known lies in nobody's way: any thread could have ended it. A pushed one's own thread would have
 * (range_ends.h). */
static void add_to(struct group *g, const struct range *r, uint32_t depth)
{
	g->overlaps |= g->n && r->begin_ns < g->end_ns;
	if (!g->n++)
		*g = (struct group){
			.first = r, .n = 1, .begin_ns = r->begin_ns, .end_ns = r->begin_ns, .depth = depth
		};
	if (r->end_ns != INT64_MAX || r->kind == GST_RANGE_PUSHED)
		g->end_ns = max64(g->end_ns, r->end_ns);
	if (r->end_ns != INT64_MAX)
		g->total_ns = sum64(g->total_ns, r->end_ns - r->begin_ns);
	g->depth = depth < g->depth ? depth : g->depth;
}

#define GROUPS 1024 /* names that are looked at: one that comes late does not repeat much */

struct grouping {
	struct group all[GROUPS]; /* by thread */
	size_t n;
	uint16_t places[4 * GROUPS]; /* a hash table of all, + 1 */
};

/* By the addresses of its texts, which are kept once each, but for a race in the recorder. Those of different threads are different groups. */
static bool is_of(const struct group *g, const struct range *r)
{
	return g->first->tid == r->tid && g->first->name == r->name && g->first->domain == r->domain &&
	       g->first->numbered == r->numbered;
}

static struct group *group_of(struct grouping *g, const struct range *r)
{
	uint64_t hash = ((uintptr_t)r->name ^ (uint64_t)r->tid << 32 ^ (uintptr_t)r->domain << 7) * 0x9e3779b97f4a7c15u;
	size_t place = hash >> 40;

	while (g->places[place % (4 * GROUPS)]) {
		struct group *there = &g->all[g->places[place % (4 * GROUPS)] - 1];

		if (is_of(there, r))
			return there;
		place++;
	}
	if (g->n == GROUPS)
		return NULL;
	g->all[g->n] = (struct group){ .first = r };
	g->places[place % (4 * GROUPS)] = (uint16_t)++g->n;
	return &g->all[g->n - 1];
}

static int by_thread(const void *a, const void *b)
{
	const struct range *x = *(const struct range *const *)a, *y = *(const struct range *const *)b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x > y) - (x < y);
}

static bool of_lower_thread(const void *element, const void *key)
{
	return ((const struct group *)element)->first->tid < *(const uint32_t *)key;
}

static void mark_submitters(struct grouping *g, const struct trace *t)
{
	size_t left = g->n; /* that are not marked */
	uint32_t last = 0;

	for (size_t i = 0; i < t->n_calls && left; i++) {
		uint32_t tid = t->calls[i].tid;

		if (tid == last || !is_submission(&t->calls[i]))
			continue;
		last = tid;
		for (size_t k = array_first(g->all, g->n, sizeof(g->all[0]), of_lower_thread, &tid);
		     k < g->n && g->all[k].first->tid == tid && !g->all[k].submits; k++, left--)
			g->all[k].submits = true;
	}
}

/* Those that may be of a loop, by thread; a thread's by begin. */
static size_t take_ranges(const struct range **sorted, const struct trace *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_ranges; i++)
		if (t->ranges[i].kind != GST_RANGE_MARK && !domain_is_library(t->ranges[i].domain) && t->ranges[i].name)
			sorted[n++] = &t->ranges[i];
	array_sort(sorted, n, sizeof(*sorted), by_thread);
	return n;
}

static bool make_groups(struct grouping *g, const struct trace *t)
{
	const struct range **sorted = spill_new(t->n_ranges, sizeof(*sorted));
	struct around around = { .ends_ns = spill_new(t->n_ranges, sizeof(*around.ends_ns)) };
	bool ok = sorted && around.ends_ns;
	size_t n = ok ? take_ranges(sorted, t) : 0;

	for (size_t i = 0; i < n; i++) {
		struct group *group = group_of(g, sorted[i]);
		uint32_t depth;

		if (i == 0 || sorted[i - 1]->tid != sorted[i]->tid)
			enter_thread(&around, sorted + i, n - i);
		depth = enter(&around, sorted[i]);
		if (group)
			add_to(group, sorted[i], depth);
	}
	mark_submitters(g, t);
	for (size_t i = 0; i < g->n; i++) {
		g->all[i].named = name_is_step(g->all[i].first->name, g->all[i].submits);
		g->all[i].outer = name_is_outer(g->all[i].first->name);
	}
	spill_free(around.ends_ns);
	spill_free(sorted);
	return ok;
}

/* ---- which of them -------------------------------------------------------------------------------------------------------- */

static bool may_be_step(const struct group *g)
{
	return !g->overlaps && !g->outer && g->n >= (g->named ? LEAST_NAMED : LEAST_OTHER);
}

/* Called a step; else of a thread that submits: any other's loop is as good, but it is not the device's; else further out; else longer. */
static bool better(const struct group *a, const struct group *b)
{
	if (!b)
		return true;
	if (a->named != b->named)
		return a->named;
	if (a->submits != b->submits)
		return a->submits;
	if (a->depth != b->depth)
		return a->depth < b->depth;
	return a->total_ns != b->total_ns ? a->total_ns > b->total_ns : a->begin_ns < b->begin_ns;
}

/* Another part of the same iteration: as far out in the same thread, and about as often. */
static bool is_sibling(const struct group *a, const struct group *best)
{
	return a != best && may_be_step(a) && a->first->tid == best->first->tid && a->depth == best->depth &&
	       a->n + 1 >= best->n && best->n + 1 >= a->n;
}

static const struct group *choose(const struct grouping *g, bool *encloses)
{
	const struct group *best = NULL, *first;

	for (size_t i = 0; i < g->n; i++)
		if (may_be_step(&g->all[i]) && better(&g->all[i], best))
			best = &g->all[i];
	*encloses = true;
	if (!best || best->named)
		return best;
	first = best;
	for (size_t i = 0; i < g->n; i++)
		if (is_sibling(&g->all[i], best)) {
			*encloses = false;
			if (g->all[i].begin_ns < first->begin_ns)
				first = &g->all[i];
		}
	return first;
}

/* ---- steps ---------------------------------------------------------------------------------------------------------------- */

/* The last step lasts until its range ends; one that is still open until the process does, of which the range's begin may be the last sign. */
static int64_t range_end(const struct range *r, const struct trace *t)
{
	return r->end_ns == INT64_MAX ? max64(r->begin_ns, t->end_ns) : r->end_ns;
}

/* Where nothing encloses the last iteration, it is as long as half of the others are. */
static bool end_last(struct trace_steps *s)
{
	struct step *last = &s->at[s->n - 1];
	int64_t *lengths;

	if (s->encloses)
		return true;
	lengths = array_new(s->n, sizeof(*lengths));
	if (!lengths)
		return false;
	for (size_t i = 0; i + 1 < s->n; i++)
		lengths[i] = s->at[i].end_ns - s->at[i].begin_ns;
	last->end_ns =
		max64(last->end_ns, min64(sum64(last->begin_ns, array_median(lengths, s->n - 1)), s->trace->end_ns));
	free(lengths);
	return true;
}

static bool take(struct trace_steps *s, const struct group *g)
{
	const struct trace *t = s->trace;

	s->like = g->first;
	s->tid = g->first->tid;
	s->at = spill_new(g->n, sizeof(*s->at));
	if (!s->at)
		return false;
	for (size_t i = 0; i < t->n_ranges && s->n < g->n; i++) {
		const struct range *r = &t->ranges[i];

		if (r->kind == GST_RANGE_MARK || r->tid != g->first->tid || !range_is_like(r, g->first))
			continue;
		if (s->n)
			s->at[s->n - 1].end_ns = r->begin_ns;
		s->at[s->n] = (struct step){ .begin_ns = r->begin_ns, .end_ns = range_end(r, t), .range = r };
		s->at[s->n].number = (uint32_t)s->n;
		s->n++;
	}
	s->n_steps = s->n;
	return end_last(s);
}

static bool find(struct trace_steps *s)
{
	struct grouping *g = calloc(1, sizeof(*g));
	const struct group *best;
	bool ok = g && make_groups(g, s->trace);

	best = ok ? choose(g, &s->encloses) : NULL;
	if (best)
		ok = take(s, best);
	free(g);
	return ok;
}

enum err_kind steps_build(struct steps *out, const struct run *run, struct error *e)
{
	bool ok;

	*out = (struct steps){ .traces = array_new(run->n_traces, sizeof(*out->traces)) };
	ok = out->traces != NULL;
	for (size_t i = 0; ok && i < run->n_traces; i++) {
		out->traces[i] = (struct trace_steps){ .trace = run->traces[i] };
		out->n_traces++;
		ok = (!run->traces[i]->n_ranges || find(&out->traces[i])) &&
		     (out->traces[i].n || steps_from_launches(&out->traces[i]));
	}
	if (ok)
		return ERR_NONE;
	steps_free(out);
	return err_set(e, ERR_SYSTEM, NULL, ERR_NO_BYTE, "out of memory");
}

void steps_free(struct steps *s)
{
	for (size_t i = 0; i < s->n_traces; i++)
		spill_free(s->traces[i].at);
	free(s->traces);
	*s = (struct steps){ 0 };
}

const struct trace_steps *steps_of(const struct steps *s, const struct trace *trace)
{
	for (size_t i = 0; i < s->n_traces; i++)
		if (s->traces[i].trace == trace)
			return s->traces[i].n ? &s->traces[i] : NULL;
	return NULL;
}

static bool ends_by(const void *element, const void *key)
{
	return ((const struct step *)element)->end_ns <= *(const int64_t *)key;
}

size_t steps_from(const struct trace_steps *s, int64_t ns)
{
	return array_first(s->at, s->n, sizeof(*s->at), ends_by, &ns);
}

const struct step *steps_near(const struct trace_steps *s, int64_t ns, size_t *near)
{
	if (!s)
		return NULL;
	*near = array_first_near(s->at, s->n, sizeof(*s->at), ends_by, &ns, *near);
	return *near < s->n && s->at[*near].begin_ns <= ns ? &s->at[*near] : NULL;
}

const struct step *steps_at(const struct trace_steps *s, int64_t ns)
{
	size_t near = 0;

	return steps_near(s, ns, &near);
}
