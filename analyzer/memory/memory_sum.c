/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory_sum.h"

#include "tools/alloc.h"

#include <stdlib.h>

static void play(struct memory_sum *s, size_t match)
{
	uint64_t a = s->largest[2 * match], b = s->largest[2 * match + 1];

	s->largest[match] = a > b ? a : b;
}

/* Twice as many leaves. */
static bool grow(struct memory_sum *s)
{
	size_t leaves = s->cap_leaves ? 2 * s->cap_leaves : 4;
	uint64_t *largest = array_new(2 * leaves, sizeof(*largest));

	if (!largest)
		return false;
	free(s->largest);
	s->largest = largest;
	s->cap_leaves = leaves;
	for (size_t i = 0; i < s->n; i++)
		s->largest[leaves + i] = s->of[i].largest_free;
	for (size_t i = leaves - 1; i > 0; i--)
		play(s, i);
	return true;
}

size_t memory_sum_join(struct memory_sum *s)
{
	if (!array_room(s->of, s->n, s->cap) || (s->n == s->cap_leaves && !grow(s)))
		return SIZE_MAX;
	s->of[s->n] = (struct memory_use){ 0 };
	return s->n++;
}

void memory_sum_set(struct memory_sum *s, size_t which, const struct memory_use *use)
{
	s->all.allocated += use->allocated - s->of[which].allocated;
	s->all.reserved += use->reserved - s->of[which].reserved;
	s->of[which] = *use;
	s->largest[s->cap_leaves + which] = use->largest_free;
	for (size_t i = (s->cap_leaves + which) / 2; i > 0; i /= 2)
		play(s, i);
	s->all.largest_free = s->as_one ? s->all.reserved - s->all.allocated : s->largest[1];
}

void memory_sum_free(struct memory_sum *s)
{
	free(s->of);
	free(s->largest);
	*s = (struct memory_sum){ 0 };
}
