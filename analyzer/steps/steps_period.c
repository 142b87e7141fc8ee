/* SPDX-License-Identifier: BSD-2-Clause */
#include "steps_period.h"

#include <stdlib.h>

#include "steps_candidate.h"
#include "steps_marks.h"
#include "tools/alloc.h"

#define WINDOW ((size_t)1 << 20) /* launches that are looked at: those in the middle of a longer run */
#define INTERVALS 4096           /* of an anchor, that are looked at for their turns */

struct look {
	const struct step_tokens *s;
	size_t from, until;
	struct step_marks marks;
	struct token_bags *bags;
	uint8_t bag_of[INTERVALS]; /* the first intervals of what is looked at */
};

static bool optimizes(const struct step_tokens *s, size_t begin, size_t end)
{
	while (begin < end && !s->about[s->ids[begin]].optimizer)
		begin++;
	return begin < end;
}

static bool copies(const struct token_bags *b, const struct bag *of)
{
	for (size_t i = 0; i < of->length; i++)
		if (b->s->about[b->s->ids[of->begin + i]].kind >= TOKEN_H2D)
			return true;
	return false;
}

/* Evaluations have many iterations, with data of their own; what is behind the last of an iteration's layers comes alone, and layers have none. */
static bool has_phases(const struct look *x, const struct candidate *c, const struct bag *typical)
{
	size_t last = SIZE_MAX, others = 0, runs = 0;
	bool other = false;

	for (size_t k = 0; k < x->bags->n; k++) {
		const struct bag *b = &x->bags->at[k];

		if (b->members > 1 && !bag_is_as_long(typical, b->length, b->work) && !copies(x->bags, b))
			return false;
	}
	for (size_t i = x->from; i < x->until; i++) {
		if (!anchor_is_at(&c->anchor, x->s, i))
			continue;
		if (last != SIZE_MAX) {
			bool now = !bag_is_as_long(typical, i - last, bags_work(x->bags, last, i));

			others += now;
			runs += now && !other;
			other = now;
		}
		last = i;
	}
	return others >= 2 * runs && c->all * 5 >= c->span * 4 && c->alike * 4 >= c->span;
}

/* After how many are they of the same kinds again? */
static bool take_turns(const uint8_t *bag_of, size_t n)
{
	for (size_t k = 1; k <= LEVEL_RATIO && 3 * k <= n; k++) {
		size_t same = 0;

		for (size_t i = k; i < n; i++)
			same += bag_of[i] == bag_of[i - k];
		if (same * 10 >= (n - k) * 9)
			return k > 1;
	}
	return false;
}

static bool have_inputs(const struct token_bags *b)
{
	for (size_t k = 0; k < b->n; k++) {
		size_t i = 0;

		while (i < b->at[k].length && b->s->about[b->s->ids[b->at[k].begin + i]].kind != TOKEN_H2D)
			i++;
		if (b->at[k].members > 1 && i == b->at[k].length)
			return false;
	}
	return true;
}

static void look_at(struct look *x, struct candidate *c)
{
	size_t last = SIZE_MAX, first = 0, n = 0, marked = 0, all = 0;
	struct bags_sum sum;

	bags_clear(x->bags);
	for (size_t i = x->from; i < x->until; i++) {
		if (!anchor_is_at(&c->anchor, x->s, i))
			continue;
		if (last != SIZE_MAX) {
			size_t bag = bags_add(x->bags, last, i);

			all++;
			marked += marks_between(&x->marks, last, i) > 0;
			if (n < INTERVALS)
				x->bag_of[n++] = (uint8_t)bag;
		} else {
			first = i;
		}
		last = i;
	}
	sum = bags_sum(x->bags);
	c->length = 0;
	if (!sum.typical)
		return;
	c->span = 0;
	for (size_t i = first; i < last; i++)
		c->span += token_work(x->s, i);
	c->span += !c->span;
	c->all = sum.all;
	c->time_ns = token_begin_ns(x->s, last) - token_begin_ns(x->s, first);
	c->alike = sum.alike;
	c->most = sum.most;
	c->members = sum.members;
	c->length = sum.typical->length;
	c->example = sum.typical->begin;
	c->marked = marked * 2 > all;
	c->whole = c->marked || optimizes(x->s, c->example, c->example + c->length);
	c->inputs = have_inputs(x->bags);
	c->turns = take_turns(x->bag_of, n);
	c->phases = c->marked && has_phases(x, c, sum.typical);
}

bool period_find(struct period *out, const struct step_tokens *s, struct token_bags *bags)
{
	size_t n = 0, window = s->n < WINDOW ? s->n : WINDOW;
	struct look x = { .s = s, .from = (s->n - window) / 2, .until = (s->n - window) / 2 + window, .bags = bags };
	struct candidate *c = NULL, best;
	const struct candidate *found = NULL;
	bool ok;

	*out = (struct period){ .from = x.from, .until = x.until };
	ok = anchors_find(&c, &n, s, x.from, x.until) && (!n || marks_count(&x.marks, s, x.from, x.until));
	for (size_t i = 0; ok && i < n; i++)
		look_at(&x, &c[i]);
	if (ok)
		found = candidate_choose(s, c, n);
	if (found) {
		best = *found;
		look_at(&x, &best);
		out->anchor = best.anchor;
		out->length = best.length;
		out->example = best.example;
	}
	marks_free(&x.marks);
	free(c);
	return ok;
}
