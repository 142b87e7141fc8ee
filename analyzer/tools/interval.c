/* SPDX-License-Identifier: BSD-2-Clause */
#include "interval.h"

#include "alloc.h"
#include "ns.h"
#include "spill.h"

void intervals_free(struct intervals *s)
{
	spill_free(s->at);
	*s = (struct intervals){ 0 };
}

bool intervals_add(struct intervals *s, int64_t begin_ns, int64_t end_ns)
{
	if (end_ns < begin_ns)
		return true;
	if (!spill_room(s->at, s->n, s->cap))
		return false;
	s->at[s->n++] = (struct interval){ begin_ns, end_ns };
	return true;
}

static int by_begin(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

void intervals_merge(struct intervals *s)
{
	size_t kept = 0;

	array_sort(s->at, s->n, sizeof(*s->at), by_begin);
	for (size_t i = 0; i < s->n; i++) {
		if (kept && s->at[i].begin_ns <= s->at[kept - 1].end_ns)
			s->at[kept - 1].end_ns = max64(s->at[kept - 1].end_ns, s->at[i].end_ns);
		else
			s->at[kept++] = s->at[i];
	}
	s->n = kept;
}

bool intervals_intersect(struct intervals *out, const struct intervals *a, const struct intervals *b)
{
	size_t i = 0, j = 0;

	while (i < a->n && j < b->n) {
		int64_t begin = max64(a->at[i].begin_ns, b->at[j].begin_ns);
		int64_t end = min64(a->at[i].end_ns, b->at[j].end_ns);

		if (begin < end && !intervals_add(out, begin, end))
			return false;
		if (a->at[i].end_ns < b->at[j].end_ns)
			i++;
		else
			j++;
	}
	return true;
}

bool intervals_subtract(struct intervals *out, const struct intervals *a, const struct intervals *b)
{
	size_t j = 0;

	for (size_t i = 0; i < a->n; i++) {
		int64_t at = a->at[i].begin_ns, end = a->at[i].end_ns;

		while (j < b->n && b->at[j].end_ns <= at)
			j++;
		for (size_t k = j; k < b->n && b->at[k].begin_ns < end; k++) {
			if (b->at[k].begin_ns > at && !intervals_add(out, at, b->at[k].begin_ns))
				return false;
			at = max64(at, b->at[k].end_ns);
		}
		if (at < end && !intervals_add(out, at, end))
			return false;
	}
	return true;
}

static bool ends_before(const void *element, const void *key)
{
	return ((const struct interval *)element)->end_ns <= *(const int64_t *)key;
}

size_t intervals_after(const struct intervals *s, int64_t time_ns)
{
	return array_first(s->at, s->n, sizeof(*s->at), ends_before, &time_ns);
}

int64_t intervals_within(const struct intervals *s, size_t *from, int64_t begin_ns, int64_t end_ns)
{
	int64_t total = 0;

	while (*from < s->n && s->at[*from].end_ns <= begin_ns)
		++*from;
	for (size_t i = *from; i < s->n && s->at[i].begin_ns < end_ns; i++)
		total += min64(s->at[i].end_ns, end_ns) - max64(s->at[i].begin_ns, begin_ns);
	return total;
}
