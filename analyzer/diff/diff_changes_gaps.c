/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_changes_gaps.c: which gaps explain the difference in idle time: the same gaps of both sides, with what each side's first run tells of them.
 * Where other work stands in front of a gap now, or behind it, it is another one; so of those that are on one side alone the longest of
 * each go together where what is behind them, or in front, is the same. */
#include "diff_changes.h"

#include <stdlib.h>
#include <string.h>

#include "diff_keep.h"
#include "tools/alloc.h"
#include "tools/ns.h"

static double count(const void *of)
{
	return ((const struct diff_gap *)of)->per_step;
}

static int64_t cause(const void *of, size_t which)
{
	return ((const struct diff_gap *)of)->causes[which];
}

/* The story is that of the first run that has it. */
static const struct diff_gap *mean_of(struct diff *out, const struct change_seen *at, size_t n, bool now,
				      const struct change_side *side, bool *failed)
{
	const struct diff_gap *first = change_first(at, n, now), *kept;
	struct diff_gap g;

	if (!first)
		return NULL;
	g = *first;
	g.per_step = change_figure(at, n, now, side, count).mean;
	g.ns_per_step = 0;
	for (size_t i = 0; i < CAUSE_COUNT; i++) {
		g.causes[i] = change_mean_ns(at, n, now, side, cause, i);
		g.ns_per_step += g.causes[i];
	}
	kept = diff_keep_list(&out->texts, &g, 1, sizeof(g));
	*failed |= !kept;
	return kept;
}

/* What one not on a side's list may take there all the same: as much as the shortest on it, where the list is full. */
static int64_t unlisted_ns(const struct change_side *side)
{
	int64_t most = 0;

	for (size_t i = 0; i < side->n; i++) {
		const struct diff_run_device *d = change_device(side, i);

		if (d->n_gaps >= DIFF_GAPS)
			most = max64(most, d->gaps[d->n_gaps - 1].ns_per_step);
	}
	return most;
}

struct changes {
	struct diff_gap_change *at; /* first all, then those that are told */
	size_t n, cap;
	int64_t base_ns, new_ns; /* unlisted_ns() of the sides */
	double least_ns;
};

/* Of one that is on one side's list alone, what it is sure to differ by. */
static int64_t delta_of(const struct changes *to, const struct diff_gap_change *c)
{
	if (!c->base)
		return max64(0, c->now->ns_per_step - to->base_ns);
	if (!c->now)
		return min64(0, to->new_ns - c->base->ns_per_step);
	return c->now->ns_per_step - c->base->ns_per_step;
}

static bool compare(struct diff *out, struct changes *to, const struct change_seen *at, size_t n,
		    const struct change_side *base, const struct change_side *now)
{
	bool failed = false;
	struct diff_gap_change c = { .base = mean_of(out, at, n, false, base, &failed),
				     .now = mean_of(out, at, n, true, now, &failed) };

	if (failed)
		return false;
	if (!array_room(to->at, to->n, to->cap))
		return false;
	to->at[to->n++] = c;
	return true;
}

/* ---- those that have other neighbours now ---- */

static int by_longest(const void *a, const void *b)
{
	const struct diff_gap_change *x = a, *y = b;
	const struct diff_gap *p = x->base ? x->base : x->now, *q = y->base ? y->base : y->now;

	if (p->ns_per_step != q->ns_per_step)
		return p->ns_per_step > q->ns_per_step ? -1 : 1;
	return (p->key > q->key) - (p->key < q->key);
}

static bool are_alike(const struct diff_gap *a, const struct diff_gap *b, bool behind)
{
	return (a->key & DIFF_GAP_BETWEEN) == (b->key & DIFF_GAP_BETWEEN) &&
	       strcmp(behind ? a->after : a->before, behind ? b->after : b->before) == 0;
}

/* Those of base that are gone, each with the first one that came and is alike. What went with another has neither any more. */
static void pair_off(struct changes *to, bool behind)
{
	for (size_t i = 0; i < to->n; i++)
		for (size_t k = 0; k < to->n && to->at[i].base && !to->at[i].now; k++) {
			struct diff_gap_change *other = &to->at[k];

			if (other->base || !other->now || !are_alike(to->at[i].base, other->now, behind))
				continue;
			to->at[i].now = other->now;
			other->now = NULL;
		}
}

static void leave_out_small(struct changes *to)
{
	size_t n = 0;

	for (size_t i = 0; i < to->n; i++) {
		struct diff_gap_change *c = &to->at[i];

		if (!c->base && !c->now)
			continue;
		c->delta_ns = delta_of(to, c);
		if (c->delta_ns && (double)(c->delta_ns < 0 ? -c->delta_ns : c->delta_ns) >= to->least_ns)
			to->at[n++] = *c;
	}
	to->n = n;
}

/* ---- the list ---- */

/* The largest increase first; the other way round, the largest decrease. */
static int by_increase(const void *a, const void *b)
{
	const struct diff_gap_change *x = a, *y = b;

	if (x->delta_ns != y->delta_ns)
		return x->delta_ns > y->delta_ns ? -1 : 1;
	return ((x->base ? x->base : x->now)->key > (y->base ? y->base : y->now)->key) ? 1 : -1;
}

static int by_decrease(const void *a, const void *b)
{
	const struct diff_gap_change *x = a, *y = b;

	return x->delta_ns == y->delta_ns ? by_increase(a, b) : x->delta_ns < y->delta_ns ? -1 : 1;
}

static bool see_all(struct change_list *l, const struct change_side *side, bool now)
{
	for (size_t run = 0; run < side->n; run++)
		for (size_t i = 0; i < change_device(side, run)->n_gaps; i++) {
			const struct diff_gap *g = &change_device(side, run)->gaps[i];

			if (!change_see(l, (struct change_seen){ g, "", g->key, now, run }))
				return false;
		}
	return true;
}

bool diff_changed_gaps(struct diff *out, struct diff_pair *pair, const struct change_side *base,
		       const struct change_side *now)
{
	struct change_list l = { 0 };
	struct changes to = { .base_ns = unlisted_ns(base), .new_ns = unlisted_ns(now) };
	bool ok = see_all(&l, base, false) && see_all(&l, now, true);

	to.least_ns = CHANGE_PART * (double)pair->compared.row[ROW_STEP].base_ns;
	change_sort(&l);
	for (size_t first = 0, n; ok && (n = change_group(&l, first)); first += n)
		ok = compare(out, &to, &l.at[first], n, base, now);
	if (ok && to.n) {
		array_sort(to.at, to.n, sizeof(*to.at), by_longest);
		pair_off(&to, true);
		pair_off(&to, false);
		leave_out_small(&to);
		array_sort(to.at, to.n, sizeof(*to.at),
			   pair->compared.row[ROW_IDLE].delta_ns < 0 ? by_decrease : by_increase);
	}
	pair->n_gaps = to.n < CHANGES_MOST ? to.n : CHANGES_MOST;
	pair->gaps = ok ? diff_keep_list(&out->texts, to.at, pair->n_gaps, sizeof(*to.at)) : NULL;
	free(to.at);
	free(l.at);
	return pair->gaps != NULL;
}
