/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "summary.h"
#include "tools/alloc.h"

struct ranked {
	int64_t length_ns;
	size_t number;
};

static bool longer(const struct ranked *a, const struct ranked *b)
{
	return a->length_ns != b->length_ns ? a->length_ns > b->length_ns : a->number < b->number;
}

static int by_length(const void *a, const void *b)
{
	return longer(a, b) ? -1 : longer(b, a) ? 1 : 0;
}

/* A heap of those that are kept, the shortest of them on top: of a million gaps a page asks for a few. */
struct longest {
	struct ranked *at;
	size_t n, room;
};

static void sink(struct longest *l, size_t i)
{
	for (size_t child; (child = 2 * i + 1) < l->n; i = child) {
		struct ranked moved = l->at[i];

		child += child + 1 < l->n && longer(&l->at[child], &l->at[child + 1]);
		if (!longer(&moved, &l->at[child]))
			return;
		l->at[i] = l->at[child];
		l->at[child] = moved;
	}
}

static void rank(struct longest *l, struct ranked r)
{
	if (l->n < l->room) {
		l->at[l->n++] = r;
		for (size_t i = l->n == l->room ? l->n / 2 : 0; i-- > 0;)
			sink(l, i);
	} else if (l->n && longer(&r, &l->at[0])) {
		l->at[0] = r;
		sink(l, 0);
	}
}

size_t *summary_longest(const struct summary *s, size_t *n)
{
	struct longest l = { .room = *n < s->n_gaps ? *n : s->n_gaps };
	size_t *numbers = array_new(l.room, sizeof(*numbers)), at = 0;

	l.at = array_new(l.room, sizeof(*l.at));
	if (!numbers || !l.at) {
		free(numbers);
		free(l.at);
		return NULL;
	}
	for (size_t i = 0; i < s->n_devices; i++) {
		const struct attribution *a = &s->devices[i].attribution;

		for (size_t k = 0; k < a->n_gaps; k++, at++)
			rank(&l, (struct ranked){ a->gaps[k].gap->end_ns - a->gaps[k].gap->begin_ns, at });
	}
	array_sort(l.at, l.n, sizeof(*l.at), by_length);
	for (size_t i = 0; i < l.n; i++)
		numbers[i] = l.at[i].number;
	free(l.at);
	*n = l.n;
	return numbers;
}
