/* SPDX-License-Identifier: BSD-2-Clause */
#include "steps_bags.h"

#include <stdlib.h>

#include "tools/alloc.h"

#define YOUNG 16 /* stretches of which the shortest makes the bag: the first iterations may do more than all others */

bool bags_begin(struct token_bags *b, const struct step_tokens *s)
{
	*b = (struct token_bags){ .s = s };
	b->counts = array_new(s->n_about, sizeof(*b->counts));
	b->seen = array_new(s->n_about, sizeof(*b->seen));
	if (b->counts && b->seen)
		return true;
	bags_free(b);
	return false;
}

void bags_free(struct token_bags *b)
{
	free(b->counts);
	free(b->seen);
	*b = (struct token_bags){ 0 };
}

static void empty(struct token_bags *b, size_t which)
{
	for (size_t i = 0; i < b->at[which].length; i++)
		b->counts[b->s->ids[b->at[which].begin + i]][which] = 0;
}

void bags_clear(struct token_bags *b)
{
	for (size_t i = 0; i < b->n; i++)
		empty(b, i);
	b->n = 0;
}

void bags_share(struct token_bags *b, size_t begin, size_t end, struct bag_share shared[BAGS])
{
	for (size_t k = 0; k < BAGS; k++)
		shared[k] = (struct bag_share){ 0, 0 };
	for (size_t i = begin; i < end; i++) {
		uint32_t nth = b->seen[b->s->ids[i]]++;

		for (size_t k = 0; k < BAGS; k++)
			if (nth < b->counts[b->s->ids[i]][k]) {
				shared[k].tokens++;
				shared[k].work += token_work(b->s, i);
			}
	}
	for (size_t i = begin; i < end; i++)
		b->seen[b->s->ids[i]] = 0;
}

uint64_t bags_work(const struct token_bags *b, size_t begin, size_t end)
{
	uint64_t n = 0;

	for (size_t i = begin; i < end; i++)
		n += token_work(b->s, i);
	return n;
}

/* Makes it of this stretch. */
static void fill(struct token_bags *b, size_t which, size_t begin, size_t end)
{
	empty(b, which);
	b->at[which].begin = begin;
	b->at[which].length = end - begin;
	b->at[which].work = bags_work(b, begin, end);
	for (size_t i = begin; i < end; i++)
		b->counts[b->s->ids[i]][which]++;
}

size_t bags_take(struct token_bags *b, size_t begin, size_t end)
{
	size_t which = b->n;

	if (b->n == BAGS) {
		which = 0;
		for (size_t k = 1; k < BAGS; k++)
			if (b->at[k].members < b->at[which].members ||
			    (b->at[k].members == b->at[which].members && b->at[k].begin < b->at[which].begin))
				which = k;
		empty(b, which);
	} else {
		b->n++;
	}
	b->at[which] = (struct bag){ .members = 1 };
	fill(b, which, begin, end);
	b->at[which].launches = b->at[which].work;
	return which;
}

static bool most_of(uint64_t shared, uint64_t a, uint64_t b)
{
	return shared * 5 >= (a > b ? a : b) * 3;
}

size_t bags_add(struct token_bags *b, size_t begin, size_t end)
{
	uint64_t work = bags_work(b, begin, end);
	struct bag_share shared[BAGS];
	size_t best = 0;

	bags_share(b, begin, end, shared);
	for (size_t k = 1; k < b->n; k++) /* in parts of what either has */
		if ((uint64_t)shared[k].tokens * (b->at[best].length + (end - begin)) >
		    (uint64_t)shared[best].tokens * (b->at[k].length + (end - begin)))
			best = k;
	if (!b->n || !most_of(shared[best].tokens, b->at[best].length, end - begin) ||
	    !most_of(shared[best].work, b->at[best].work, work))
		return bags_take(b, begin, end);
	b->at[best].launches += work;
	if (++b->at[best].members <= YOUNG && end - begin < b->at[best].length)
		fill(b, best, begin, end);
	return best;
}

static bool about_as_many(uint64_t a, uint64_t b)
{
	return b * 4 >= a * 3 && b * 4 <= a * 5;
}

bool bag_is_as_long(const struct bag *b, size_t length, uint64_t work)
{
	return b->work ? about_as_many(b->work, work) : about_as_many(b->length, length);
}

static const struct bag *typical(const struct token_bags *b)
{
	const struct bag *most = NULL, *best;

	for (size_t k = 0; k < b->n; k++)
		if (b->at[k].members > 1 && (!most || b->at[k].launches > most->launches))
			most = &b->at[k];
	best = most;
	for (size_t k = 0; k < b->n; k++)
		if (b->at[k].members > 1 && b->at[k].launches * 2 >= most->launches && b->at[k].length > best->length &&
		    !bag_is_as_long(most, b->at[k].length, b->at[k].work))
			best = &b->at[k];
	return best;
}

struct bags_sum bags_sum(const struct token_bags *b)
{
	struct bags_sum sum = { .typical = typical(b) };

	if (!sum.typical)
		return sum;
	sum.most = sum.typical->launches;
	for (size_t k = 0; k < b->n; k++) {
		if (b->at[k].members < 2)
			continue;
		sum.all += b->at[k].launches;
		if (!bag_is_as_long(sum.typical, b->at[k].length, b->at[k].work))
			continue;
		sum.alike += b->at[k].launches;
		sum.members += b->at[k].members;
	}
	return sum;
}
