/* SPDX-License-Identifier: BSD-2-Clause */
#include "steps_bags.h"

#include <stdlib.h>

#include "alloc.h"

bool bags_begin(struct token_bags *b, const uint32_t *ids, size_t n_tokens)
{
	*b = (struct token_bags){ .ids = ids, .n_tokens = n_tokens };
	b->counts = array_new(n_tokens, sizeof(*b->counts));
	b->seen = array_new(n_tokens, sizeof(*b->seen));
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
		b->counts[b->ids[b->at[which].begin + i]][which] = 0;
}

void bags_clear(struct token_bags *b)
{
	for (size_t i = 0; i < b->n; i++)
		empty(b, i);
	b->n = 0;
}

void bags_share(struct token_bags *b, size_t begin, size_t end, uint32_t shared[BAGS])
{
	for (size_t k = 0; k < BAGS; k++)
		shared[k] = 0;
	for (size_t i = begin; i < end; i++) {
		uint32_t nth = b->seen[b->ids[i]]++;

		for (size_t k = 0; k < BAGS; k++)
			shared[k] += nth < b->counts[b->ids[i]][k];
	}
	for (size_t i = begin; i < end; i++)
		b->seen[b->ids[i]] = 0;
}

void bags_take(struct token_bags *b, size_t begin, size_t end)
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
	b->at[which] = (struct bag){ begin, end - begin, 1, end - begin };
	for (size_t i = begin; i < end; i++)
		b->counts[b->ids[i]][which]++;
}

bool bag_is_like(size_t shared, size_t a, size_t b)
{
	return shared * 5 >= (a > b ? a : b) * 3;
}

void bags_add(struct token_bags *b, size_t begin, size_t end)
{
	uint32_t shared[BAGS];
	size_t best = 0;

	bags_share(b, begin, end, shared);
	for (size_t k = 1; k < b->n; k++) /* in parts of what either has */
		if ((uint64_t)shared[k] * (b->at[best].length + (end - begin)) >
		    (uint64_t)shared[best] * (b->at[k].length + (end - begin)))
			best = k;
	if (!b->n || !bag_is_like(shared[best], b->at[best].length, end - begin)) {
		bags_take(b, begin, end);
		return;
	}
	b->at[best].members++;
	b->at[best].total += end - begin;
}

bool bag_is_as_long(const struct bag *b, size_t length)
{
	return length * 4 >= b->length * 3 && length * 4 <= b->length * 5 + 4;
}

struct bags_sum bags_sum(const struct token_bags *b)
{
	struct bags_sum sum = { .typical = NULL };

	for (size_t k = 0; k < b->n; k++)
		if (b->at[k].members > 1 && (!sum.typical || b->at[k].total > sum.typical->total))
			sum.typical = &b->at[k];
	if (!sum.typical)
		return sum;
	sum.most = sum.typical->total;
	for (size_t k = 0; k < b->n; k++)
		if (b->at[k].members > 1 && bag_is_as_long(sum.typical, b->at[k].length)) {
			sum.alike += b->at[k].total;
			sum.members += b->at[k].members;
		}
	return sum;
}
