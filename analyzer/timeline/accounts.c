/* SPDX-License-Identifier: BSD-2-Clause */
#include "accounts.h"

#include "facts.h"
#include "tools/alloc.h"
#include "tools/ns.h"

#include <stdlib.h>

static int usage_by_thread(const void *left, const void *right)
{
	const struct usage *x = *(const struct usage *const *)left, *y = *(const struct usage *const *)right;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static bool account_before(const void *element, const void *key)
{
	return usage_by_thread(element, key) < 0;
}

/* First of the thread's accounts taken at or after time_ns. */
static size_t find_usage(const struct accounts *a, uint32_t tid, int64_t time_ns)
{
	const struct usage at = { .tid = tid, .time_ns = time_ns }, *key = &at;

	return array_first(a->usages, a->t->n_usages, sizeof(*a->usages), account_before, &key);
}

/* The first account inside the call that says how long the thread had been without a CPU: NULL none. */
static const struct usage *find_begin(const struct accounts *a, const struct call *c)
{
	for (size_t i = find_usage(a, c->tid, c->begin_ns);
	     i < a->t->n_usages && a->usages[i]->tid == c->tid && a->usages[i]->time_ns < c->end_ns; i++)
		if (a->usages[i]->run_delay_ns != UINT64_MAX)
			return a->usages[i];
	return NULL;
}

int64_t accounts_wake_ns(const struct accounts *a, const struct call *c)
{
	size_t after = find_usage(a, c->tid, c->end_ns);
	const struct usage *first = find_begin(a, c), *last;

	/* where records were dropped, what comes next may be another call's */
	if (!first || after == a->t->n_usages || a->t->counters.records_dropped)
		return INT64_MAX;
	last = a->usages[after];
	if (last->tid != c->tid || last->run_delay_ns == UINT64_MAX || last->run_delay_ns < first->run_delay_ns ||
	    last->major_faults != first->major_faults)
		return INT64_MAX;
	return WAKE_NS + (int64_t)min64((int64_t)(last->run_delay_ns - first->run_delay_ns), c->end_ns - c->begin_ns);
}

int64_t accounts_handed_ns(const struct accounts *a, const struct call *c)
{
	size_t i = find_usage(a, c->tid, c->begin_ns);
	int64_t entered = INT64_MIN;

	for (; i < a->t->n_usages && a->usages[i]->tid == c->tid && a->usages[i]->time_ns < c->end_ns; i++)
		if (a->usages[i]->run_delay_ns != UINT64_MAX)
			entered = a->usages[i]->time_ns;
	return entered;
}

static int edge_by_thread(const void *left, const void *right)
{
	const struct edge *x = *(const struct edge *const *)left, *y = *(const struct edge *const *)right;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

static bool edge_before(const void *element, const void *key)
{
	return edge_by_thread(element, key) < 0;
}

int64_t accounts_asked_ns(const struct accounts *a, const struct call *c)
{
	const struct edge at = { .tid = c->tid, .begin_ns = c->begin_ns }, *key = &at;
	const struct usage *first = find_begin(a, c);
	int64_t asked_ns = first ? first->time_ns : c->begin_ns;

	for (size_t i = array_first(a->edges, a->t->n_edges, sizeof(*a->edges), edge_before, &key);
	     i < a->t->n_edges && a->edges[i]->tid == c->tid && a->edges[i]->begin_ns < c->end_ns; i++)
		asked_ns = max64(asked_ns, min64(a->edges[i]->end_ns, c->end_ns));
	return asked_ns;
}

bool accounts_find(struct accounts *a, const struct trace *t)
{
	*a = (struct accounts){ .usages = array_new(t->n_usages, sizeof(*a->usages)),
				.edges = array_new(t->n_edges, sizeof(*a->edges)),
				.t = t };
	if (!a->usages || !a->edges)
		return false;
	for (size_t i = 0; i < t->n_usages; i++)
		a->usages[i] = &t->usages[i];
	for (size_t i = 0; i < t->n_edges; i++)
		a->edges[i] = &t->edges[i];
	array_sort(a->usages, t->n_usages, sizeof(*a->usages), usage_by_thread);
	array_sort(a->edges, t->n_edges, sizeof(*a->edges), edge_by_thread);
	return true;
}

void accounts_free(struct accounts *a)
{
	free(a->usages);
	free(a->edges);
}
