/* SPDX-License-Identifier: BSD-2-Clause */
#include "range_ends.h"

#include <stdint.h>

#include "tools/alloc.h"
#include "tools/ns.h"
#include "trace_ranges.h"

#define DEPTH 64 /* levels that are looked at; the recorder knows as many */

/* Pushed and not popped, outermost first, of one thread and domain. */
struct pushed {
	struct range *open[DEPTH];
	size_t n;
};

/* What counts levels together: a thread's pushed ranges of one domain, by begin, further out first. */
static int by_stack(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->domain != y->domain)
		return (uintptr_t)x->domain < (uintptr_t)y->domain ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->level != y->level)
		return x->level < y->level ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static bool same_stack(const struct range *a, const struct range *b)
{
	return a->tid == b->tid && a->domain == b->domain;
}

/* Those from the i-th on were popped by then at the latest; none before the one around it. */
static void pop(struct pushed *p, size_t i, int64_t by_ns)
{
	for (size_t k = i; k < p->n; k++) {
		struct range *r = p->open[k];

		if (r->end_ns != INT64_MAX)
			continue;
		r->end_ns = by_ns;
		if (k)
			r->end_ns = max64(r->begin_ns, min64(r->end_ns, p->open[k - 1]->end_ns));
	}
	p->n = i;
}

/* Those that had been popped before this one was pushed: at its level or further in, or with an end before. */
static size_t still_open(const struct pushed *p, const struct range *next)
{
	size_t i = 0;

	while (i < p->n && p->open[i]->level < next->level && p->open[i]->end_ns > next->begin_ns)
		i++;
	return i;
}

void range_ends_find(struct range *ranges, size_t n)
{
	struct pushed pushed = { .n = 0 };
	const struct range *last = NULL;
	size_t unknown = 0;

	for (size_t i = 0; i < n; i++)
		unknown += ranges[i].kind == GST_RANGE_PUSHED && ranges[i].end_ns == INT64_MAX;
	if (!unknown)
		return;
	array_sort(ranges, n, sizeof(*ranges), by_stack);
	for (size_t i = 0; i < n; i++) {
		if (ranges[i].kind != GST_RANGE_PUSHED)
			continue;
		if (last && !same_stack(last, &ranges[i]))
			pop(&pushed, 0, INT64_MAX);
		pop(&pushed, still_open(&pushed, &ranges[i]), ranges[i].begin_ns);
		if (pushed.n < DEPTH)
			pushed.open[pushed.n++] = &ranges[i];
		last = &ranges[i];
	}
	pop(&pushed, 0, INT64_MAX);
}
