/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_changes_alike.c: the same kernel, site or gap in several runs. */
#include "diff_changes.h"

#include <string.h>

#include "tools/alloc.h"

bool change_see(struct change_list *l, struct change_seen seen)
{
	if (!array_room(l->at, l->n, l->cap))
		return false;
	l->at[l->n++] = seen;
	return true;
}

static int by_what(const struct change_seen *x, const struct change_seen *y)
{
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int by_run(const void *a, const void *b)
{
	const struct change_seen *x = a, *y = b;
	int c = by_what(x, y);

	if (c)
		return c;
	if (x->now != y->now)
		return x->now ? 1 : -1;
	return (x->run > y->run) - (x->run < y->run);
}

void change_sort(struct change_list *l)
{
	array_sort(l->at, l->n, sizeof(*l->at), by_run);
}

size_t change_group(const struct change_list *l, size_t first)
{
	size_t end = first;

	while (end < l->n && by_what(&l->at[first], &l->at[end]) == 0)
		end++;
	return end - first;
}

const void *change_first(const struct change_seen *group, size_t n, bool now)
{
	for (size_t i = 0; i < n; i++)
		if (group[i].now == now)
			return group[i].of;
	return NULL;
}

struct change_of change_figure(const struct change_seen *group, size_t n, bool now, const struct change_side *side,
			       double (*figure)(const void *of))
{
	struct change_of c = { 0 };

	for (size_t run = 0; run < side->n; run++) {
		double sum = 0;

		for (size_t i = 0; i < n; i++)
			if (group[i].now == now && group[i].run == run)
				sum += figure(group[i].of);
		change_add(&c, run, side->n, sum);
	}
	return c;
}

int64_t change_mean_ns(const struct change_seen *group, size_t n, bool now, const struct change_side *side,
		       int64_t (*figure)(const void *of, size_t which), size_t which)
{
	__int128 sum = 0;

	for (size_t i = 0; i < n; i++)
		if (group[i].now == now)
			sum += figure(group[i].of, which);
	return (int64_t)(sum / (int64_t)side->n);
}
