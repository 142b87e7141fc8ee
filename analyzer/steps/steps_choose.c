/* SPDX-License-Identifier: BSD-2-Clause */
/* steps_choose.c: which of the anchors' intervals are the iterations: not their layers, not several of them, and nothing that is over before. */
#include "steps_candidate.h"

/* Something must go on in it that could be an iteration: one launch after another of the same kernel is none. */
static bool may_be_iteration(const struct step_tokens *s, const struct candidate *c)
{
	bool differ = false, kernels = false, graphs = false;

	for (size_t i = 0; i < c->length; i++) {
		uint32_t id = s->ids[c->example + i];

		differ |= id != s->ids[c->example];
		kernels |= s->about[id].kind == TOKEN_KERNEL;
		graphs |= s->about[id].kind == TOKEN_GRAPH;
	}
	return graphs || (kernels && differ && (c->marked || c->length >= 4));
}

static bool is_valid(const struct step_tokens *s, const struct candidate *c)
{
	return c->length && c->members >= LEAST_STEPS && (c->alike * 5 >= c->span * 3 || c->phases) &&
	       may_be_iteration(s, c);
}

static bool same_level(const struct candidate *a, const struct candidate *b)
{
	return a->length * 20 <= b->length * 23 && b->length * 20 <= a->length * 23;
}

/* Of anchors of one period: which does not come within it again, explains more, is there in more iterations, begins earlier. */
static bool better(const struct candidate *a, const struct candidate *b)
{
	bool a_once = a->n <= 2 * a->members + 1, b_once = b->n <= 2 * b->members + 1;
	uint64_t a_share = a->alike * 50 / a->span, b_share = b->alike * 50 / b->span;
	bool as_much = a_share + 5 >= b_share && b_share + 5 >= a_share; /* the first ones may be others */

	if (a_once != b_once)
		return a_once;
	if (!as_much)
		return a_share > b_share;
	if (a->n != b->n)
		return a->n > b->n;
	return a->first < b->first;
}

/* Its anchor comes more than once in an iteration that the other has whole: its intervals are of several kinds in turn, and do not begin
 * each with data of their own, where those of the other are all alike; or there are hardly more long ones of them, and they leave out a
 * part. */
static bool is_a_part(const struct candidate *c, const struct candidate *of)
{
	uint64_t share = c->alike * 50 / c->span, of_share = of->alike * 50 / of->span;

	if (of->length <= c->length || of->length > LEVEL_RATIO * c->length)
		return false;
	if (c->members * 2 <= of->members * 3)
		return of_share > share + 5 || (c->n * 2 > of->n * 3 && of_share + 5 >= share);
	return c->turns && !c->inputs && !same_level(c, of) && of->most * 20 > of->alike * 17 && of_share + 5 >= share;
}

/* Parameters may be made in a loop, too: it is over before the other begins, and soon. */
static bool is_brief(const struct candidate *c, const struct candidate *beside)
{
	uint32_t from = c->first > beside->first ? c->first : beside->first;
	uint32_t until = c->last < beside->last ? c->last : beside->last;
	bool apart = until < from || until - from < (c->last - c->first) / 2;

	return apart && c->time_ns < beside->time_ns / 2;
}

/* The shortest one that touches the host or changes parameters: layers do not, and epochs are longer. */
const struct candidate *candidate_choose(const struct step_tokens *s, struct candidate *c, size_t n)
{
	const struct candidate *best = NULL;

	for (size_t i = 0; i < n; i++)
		c[i].valid = is_valid(s, &c[i]);
	for (size_t i = 0; i < n; i++) {
		bool part = !c[i].valid;

		for (size_t k = 0; k < n && !part; k++)
			part = c[k].valid && (is_a_part(&c[i], &c[k]) || is_brief(&c[i], &c[k]));
		if (part)
			continue;
		if (!best)
			best = &c[i];
		else if (same_level(best, &c[i]))
			best = better(&c[i], best) ? &c[i] : best;
		else if (c[i].whole != best->whole)
			best = c[i].whole ? &c[i] : best;
		else
			best = c[i].length < best->length ? &c[i] : best;
	}
	return best;
}
