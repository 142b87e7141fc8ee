/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_changes_sites.c: statements by which more or less idle time goes. What is found on one side alone may be a statement that moved, because
 * lines were put in above it: it goes with one of the same function. */
#include "diff_changes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diff_keep.h"
#include "tools/alloc.h"

#define BEFORE \
	"[before] " /* the thread was there after the time; in one run it may be seen on the way, in another it may not */

struct site {                               /* in all runs */
	const struct diff_site *base, *now; /* means; NULL: none there */
	struct change_of was, is;
	bool gone; /* it went with another */
};

struct sites {
	struct site *at;
	size_t n, cap;
};

static const char *place_of(const struct diff_site *s)
{
	return strncmp(s->where, BEFORE, strlen(BEFORE)) == 0 ? s->where + strlen(BEFORE) : s->where;
}

static double idle(const void *of)
{
	return (double)((const struct diff_site *)of)->idle_ns;
}

static double gaps(const void *of)
{
	return ((const struct diff_site *)of)->gaps;
}

static int64_t cause(const void *of, size_t which)
{
	return ((const struct diff_site *)of)->causes[which];
}

/* ---- the same statement ---- */

static const struct diff_site *mean_of(struct diff *out, const struct change_seen *at, size_t n, bool now,
				       const struct change_side *side, bool *failed)
{
	const struct diff_site *first = change_first(at, n, now), *kept;
	struct diff_site s = { 0 };

	if (!first)
		return NULL;
	s.where = first->where;
	s.gaps = change_figure(at, n, now, side, gaps).mean;
	for (size_t i = 0; i < CAUSE_COUNT; i++) {
		s.causes[i] = change_mean_ns(at, n, now, side, cause, i);
		s.idle_ns += s.causes[i];
	}
	kept = diff_keep_list(&out->texts, &s, 1, sizeof(s));
	*failed |= !kept;
	return kept;
}

static bool add(struct diff *out, struct sites *to, const struct change_seen *at, size_t n,
		const struct change_side *base, const struct change_side *now)
{
	bool failed = false;
	struct site s = { .base = mean_of(out, at, n, false, base, &failed),
			  .now = mean_of(out, at, n, true, now, &failed) };

	if (failed || !array_room(to->at, to->n, to->cap))
		return false;
	s.was = change_figure(at, n, false, base, idle);
	s.is = change_figure(at, n, true, now, idle);
	to->at[to->n++] = s;
	return true;
}

/* ---- one that moved ---- */

/* "load_batch (train.py:41)" and "load_batch (train.py:43)" */
static bool is_same_function(const struct diff_site *a, const struct diff_site *b)
{
	const char *x = place_of(a), *y = place_of(b), *x_line = strrchr(x, ':'), *y_line = strrchr(y, ':');

	return x_line && y_line && x_line - x == y_line - y && strncmp(x, y, (size_t)(x_line - x)) == 0;
}

/* Those of base with the first of the same function that is left; they are in the order of their places. */
static void match_moved(struct sites *s)
{
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->n && s->at[i].base && !s->at[i].now; k++) {
			struct site *other = &s->at[k];

			if (other->gone || other->base || !other->now || !is_same_function(s->at[i].base, other->now))
				continue;
			s->at[i].now = other->now;
			s->at[i].is = other->is;
			other->gone = true;
		}
}

/* ---- the list ---- */

static bool is_full(const struct change_side *side)
{
	for (size_t i = 0; i < side->n; i++)
		if (change_device(side, i)->n_sites >= DIFF_SITES)
			return true;
	return false;
}

static bool is_worth_telling(const struct site *s, double step_ns, bool full)
{
	double delta = fabs(s->is.mean - s->was.mean);

	if (s->gone || (full && (!s->base || !s->now)))
		return false;
	return change_is_by(&s->was, &s->is, CHANGE_SITE) && delta >= CHANGE_PART * step_ns && delta > 0;
}

static double delta_ns(const struct diff_site_change *c)
{
	return fabs((c->now ? (double)c->now->idle_ns : 0) - (c->base ? (double)c->base->idle_ns : 0));
}

static int by_weight(const void *a, const void *b)
{
	const struct diff_site_change *x = a, *y = b;
	double by = delta_ns(y) - delta_ns(x);

	if (by < 0 || by > 0)
		return by < 0 ? -1 : 1;
	return strcmp((x->base ? x->base : x->now)->where, (y->base ? y->base : y->now)->where);
}

static bool publish(struct diff *out, struct diff_pair *pair, const struct sites *s, bool full)
{
	struct diff_site_change *list = array_new(s->n, sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; list && i < s->n; i++)
		if (is_worth_telling(&s->at[i], (double)pair->compared.row[ROW_STEP].base_ns, full))
			list[n++] = (struct diff_site_change){ s->at[i].base, s->at[i].now };
	if (list)
		array_sort(list, n, sizeof(*list), by_weight);
	pair->n_sites = n < CHANGES_MOST ? n : CHANGES_MOST;
	pair->sites = list ? diff_keep_list(&out->texts, list, pair->n_sites, sizeof(*list)) : NULL;
	free(list);
	return pair->sites != NULL;
}

static bool see_all(struct change_list *l, const struct change_side *side, bool now)
{
	for (size_t run = 0; run < side->n; run++)
		for (size_t i = 0; i < change_device(side, run)->n_sites; i++) {
			const struct diff_site *s = &change_device(side, run)->sites[i];

			if (!change_see(l, (struct change_seen){ s, place_of(s), 0, now, run }))
				return false;
		}
	return true;
}

bool diff_changed_sites(struct diff *out, struct diff_pair *pair, const struct change_side *base,
			const struct change_side *now)
{
	struct change_list l = { 0 };
	struct sites s = { 0 };
	bool ok = see_all(&l, base, false) && see_all(&l, now, true);

	change_sort(&l);
	for (size_t first = 0, n; ok && (n = change_group(&l, first)); first += n)
		ok = add(out, &s, &l.at[first], n, base, now);
	if (ok)
		match_moved(&s);
	ok = ok && publish(out, pair, &s, is_full(base) || is_full(now));
	free(s.at);
	free(l.at);
	return ok;
}
