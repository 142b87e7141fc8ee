/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks_clock.c: how the hosts' clocks are to each other.
 *
 * Processes of one boot of a host share CLOCK_MONOTONIC. Those of others began to count at another time, and at another rate. An all-reduce, an
 * all-gather and a reduce-scatter end when the last piece has come from every rank: at the same instant on all of them, but for what a rank
 * takes to notice. So the clock that has most of them is the reference; the others follow in turns, each on what it has in common with those that
 * are aligned already. Nothing else of a trace says how the clocks are to each other as well as that: the wall clocks are off by milliseconds. */
#include "ranks_steps.h"

#include "ranks_fit.h"
#include "tools/alloc.h"
#include "tools/ns.h"

#include <stdlib.h>
#include <string.h>

#define TURNS 16      /* from the reference over others: each step adds its error */
#define ERROR_NS 1000 /* ends that are known so well are good in any case; else those as good as most on that clock: */
#define ERROR_OF_MEDIAN 2

/* ---- which ends say something ------------------------------------------------------------------------ */

static int64_t end_of(const struct rank_part *p)
{
	return middle64(p->end_low_ns, p->end_high_ns);
}

static int64_t end_error(const struct rank_part *p)
{
	return sum64((p->end_high_ns - p->end_low_ns) / 2, p->error_ns);
}

struct aligner {
	struct ranks *r;
	int64_t *error_max_ns; /* like clocks */
	struct fit *fits;      /* like clocks: to the reference's */
	uint64_t *uses;        /* … and how many parts of collectives */
	struct point *points;  /* of a turn */
	size_t n_points, cap_points;
	int64_t *ends;      /* room for the ends of one collective, */
	struct away *aways; /* and for all of them together */
	size_t n_aways, cap_aways;
};

struct point {
	uint32_t clock;
	struct fit_point at;
};

struct away { /* an end, from what the others say */
	uint32_t clock;
	int64_t ns;
};

static uint32_t clock_of(const struct aligner *a, const struct rank_part *p)
{
	return a->r->members[p->member].clock;
}

static bool counts(const struct aligner *a, const struct rank_part *p)
{
	return end_error(p) <= a->error_max_ns[clock_of(a, p)];
}

/* The collectives of which not all ranks are there tell as much about the others. But a number that one rank has twice is none. */
static bool usable(const struct ranks *r, const struct rank_collective *c)
{
	if (!c->together || c->n < 2)
		return false;
	for (size_t i = c->first + 1; i < c->first + c->n && !c->whole; i++)
		if (r->parts[i].member == r->parts[i - 1].member)
			return false;
	return true;
}

static int by_clock_away(const void *a, const void *b)
{
	const struct away *x = a, *y = b;

	return (x->clock > y->clock) - (x->clock < y->clock);
}

/* Those of each clock that `percent` are not beyond. False: no memory. */
static bool percentiles(struct aligner *a, unsigned percent, int64_t *out, uint64_t *count)
{
	int64_t *values = array_new(a->n_aways, sizeof(*values));

	if (!values)
		return false;
	array_sort(a->aways, a->n_aways, sizeof(*a->aways), by_clock_away);
	for (size_t i = 0, n; i < a->n_aways; i += n) {
		for (n = 0; i + n < a->n_aways && a->aways[i + n].clock == a->aways[i].clock; n++)
			values[n] = a->aways[i + n].ns;
		out[a->aways[i].clock] = fit_percentile(values, n, percent);
		count[a->aways[i].clock] = n;
	}
	free(values);
	a->n_aways = 0;
	return true;
}

static bool add_away(struct aligner *a, uint32_t clock, int64_t ns)
{
	if (!array_room(a->aways, a->n_aways, a->cap_aways))
		return false;
	a->aways[a->n_aways++] = (struct away){ clock, ns };
	return true;
}

static bool set_error_max(struct aligner *a)
{
	for (size_t i = 0; i < a->r->n_collectives; i++) {
		const struct rank_collective *c = &a->r->collectives[i];

		for (size_t k = c->first; usable(a->r, c) && k < c->first + c->n; k++)
			if (!add_away(a, clock_of(a, &a->r->parts[k]), end_error(&a->r->parts[k])))
				return false;
	}
	if (!percentiles(a, 50, a->error_max_ns, a->uses))
		return false;
	for (size_t i = 0; i < a->r->n_clocks; i++)
		a->error_max_ns[i] = max64(ERROR_NS, min64(a->error_max_ns[i], INT64_MAX / 4) * ERROR_OF_MEDIAN);
	return true;
}

/* ---- the turns --------------------------------------------------------------------------------------- */

static int64_t on_reference(const struct aligner *a, const struct rank_part *p)
{
	int64_t end_ns = end_of(p);

	return sum64(end_ns, fit_away(&a->fits[clock_of(a, p)], end_ns));
}

/* What a collective says about clocks that are not aligned yet, from those that are. */
static bool add_points(struct aligner *a, const struct rank_collective *c)
{
	const struct rank_clock *clocks = a->r->clocks;
	size_t known = 0;
	int64_t end_ns;

	for (size_t i = c->first; i < c->first + c->n; i++)
		if (counts(a, &a->r->parts[i]) && clocks[clock_of(a, &a->r->parts[i])].aligned)
			a->ends[known++] = on_reference(a, &a->r->parts[i]);
	if (!known)
		return true;
	end_ns = array_median(a->ends, known);
	for (size_t i = c->first; i < c->first + c->n; i++) {
		const struct rank_part *p = &a->r->parts[i];

		if (!counts(a, p) || clocks[clock_of(a, p)].aligned)
			continue;
		if (!array_room(a->points, a->n_points, a->cap_points))
			return false;
		a->points[a->n_points++] = (struct point){ clock_of(a, p), { end_of(p), sum64(end_ns, -end_of(p)) } };
	}
	return true;
}

static int by_clock(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	if (x->clock != y->clock)
		return x->clock < y->clock ? -1 : 1;
	return (x->at.at_ns > y->at.at_ns) - (x->at.at_ns < y->at.at_ns);
}

/* The points of one clock. */
static bool align_clock(struct aligner *a, const struct point *points, size_t n)
{
	struct fit_point *own;
	bool ok;

	if (n < FIT_LEAST)
		return true;
	own = array_new(n, sizeof(*own));
	if (!own)
		return false;
	for (size_t i = 0; i < n; i++)
		own[i] = points[i].at;
	ok = fit_line(&a->fits[points->clock], own, n);
	a->r->clocks[points->clock].aligned = ok;
	free(own);
	return ok;
}

/* False: no memory. *more: some clock was aligned. */
static bool turn(struct aligner *a, bool *more)
{
	struct ranks *r = a->r;
	size_t aligned = 0;

	a->n_points = 0;
	for (size_t i = 0; i < r->n_collectives; i++)
		if (usable(r, &r->collectives[i]) && !add_points(a, &r->collectives[i]))
			return false;
	array_sort(a->points, a->n_points, sizeof(*a->points), by_clock);
	for (size_t i = 0, end; i < a->n_points; i = end) {
		for (end = i + 1; end < a->n_points && a->points[end].clock == a->points[i].clock;)
			end++;
		if (!align_clock(a, &a->points[i], end - i))
			return false;
		aligned += r->clocks[a->points[i].clock].aligned;
	}
	*more = aligned > 0;
	return true;
}

/* The clock that meets others most often; where none does, the one that has most. */
static uint32_t choose_reference(struct aligner *a)
{
	struct ranks *r = a->r;
	uint32_t best = 0;

	memset(a->uses, 0, r->n_clocks * sizeof(*a->uses));
	for (size_t i = 0; i < r->n_parts; i++)
		a->uses[clock_of(a, &r->parts[i])]++;
	for (size_t i = 0; i < r->n_collectives; i++) {
		const struct rank_collective *c = &r->collectives[i];
		bool several = false;

		for (size_t k = c->first + 1; usable(r, c) && k < c->first + c->n; k++)
			several |= clock_of(a, &r->parts[k]) != clock_of(a, &r->parts[c->first]);
		for (size_t k = c->first; several && k < c->first + c->n; k++)
			r->clocks[clock_of(a, &r->parts[k])].matches += counts(a, &r->parts[k]);
	}
	for (uint32_t i = 1; i < r->n_clocks; i++)
		if (r->clocks[i].matches != r->clocks[best].matches ? r->clocks[i].matches > r->clocks[best].matches
								    : a->uses[i] > a->uses[best])
			best = i;
	return best;
}

/* ---- how good that is -------------------------------------------------------------------------------- */

/* Each end from the median of the others'. */
static bool add_aways(struct aligner *a, const struct rank_collective *c)
{
	const struct ranks *r = a->r;
	size_t n = 0;

	for (size_t i = c->first; i < c->first + c->n; i++)
		if (counts(a, &r->parts[i]) && r->clocks[clock_of(a, &r->parts[i])].aligned)
			a->ends[n++] = on_reference(a, &r->parts[i]);
	if (n < 2)
		return true;
	qsort(a->ends, n, sizeof(*a->ends), array_by_int64);
	for (size_t i = c->first; i < c->first + c->n; i++) {
		const struct rank_part *p = &r->parts[i];
		int64_t own, low, high;

		if (!counts(a, p) || !r->clocks[clock_of(a, p)].aligned)
			continue;
		own = on_reference(a, p);
		/* the middle of the list without this one: it is shifted by one place where this one is before it */
		low = a->ends[(n - 2) / 2 + (own <= a->ends[(n - 2) / 2])];
		high = a->ends[(n - 1) / 2 + (own <= a->ends[(n - 1) / 2])];
		if (!add_away(a, clock_of(a, p), llabs(own - middle64(low, high))))
			return false;
	}
	return true;
}

/* No rank is done before the last has begun. */
static void count_violations(struct aligner *a, const struct rank_collective *c)
{
	struct ranks *r = a->r;
	int64_t last_ns = INT64_MIN;

	for (size_t i = c->first; i < c->first + c->n; i++) {
		const struct rank_part *p = &r->parts[i];
		const struct rank_clock *clock = &r->clocks[clock_of(a, p)];

		if (clock->aligned)
			last_ns = max64(last_ns, sum64(rank_clock_reference(clock, p->begin_low_ns), -p->error_ns));
	}
	for (size_t i = c->first; i < c->first + c->n; i++) {
		const struct rank_part *p = &r->parts[i];
		struct rank_clock *clock = &r->clocks[clock_of(a, p)];

		clock->violations +=
			clock->aligned && sum64(rank_clock_reference(clock, p->end_high_ns), p->error_ns) < last_ns;
	}
}

static bool judge(struct aligner *a)
{
	struct ranks *r = a->r;

	for (size_t i = 0; i < r->n_collectives; i++) {
		if (!usable(r, &r->collectives[i]))
			continue;
		if (!add_aways(a, &r->collectives[i]))
			return false;
		count_violations(a, &r->collectives[i]);
	}
	memset(a->uses, 0, r->n_clocks * sizeof(*a->uses));
	if (!percentiles(a, 99, a->error_max_ns, a->uses))
		return false;
	for (size_t i = 0; i < r->n_clocks; i++) {
		r->clocks[i].matches = a->uses[i];
		r->clocks[i].residual_p99_ns = a->uses[i] ? a->error_max_ns[i] : 0;
	}
	return true;
}

static bool align(struct aligner *a)
{
	struct ranks *r = a->r;
	uint32_t reference;
	bool more = true;

	if (!r->n_clocks)
		return true;
	if (!set_error_max(a))
		return false;
	reference = choose_reference(a);
	r->clocks[reference].reference = r->clocks[reference].aligned = true;
	for (unsigned i = 0; i < TURNS && more; i++) {
		if (!turn(a, &more))
			return false;
		more = more || ranks_adopt_clocks(r, a->fits);
	}
	ranks_join_clocks(r, a->fits, a->error_max_ns);
	r->aligned = true;
	for (size_t i = 0; i < r->n_clocks; i++) {
		struct rank_clock *c = &r->clocks[i];

		c->at_ns = a->fits[i].at_ns;
		c->offset_ns = a->fits[i].offset_ns;
		c->drift = a->fits[i].drift;
		c->matches = 0;
		r->aligned &= c->aligned || !a->uses[i];
	}
	return judge(a);
}

bool ranks_align(struct ranks *r)
{
	struct aligner a = { .r = r,
			     .fits = array_new(r->n_clocks, sizeof(*a.fits)),
			     .uses = array_new(r->n_clocks, sizeof(*a.uses)),
			     .ends = array_new(r->n_parts, sizeof(*a.ends)),
			     .error_max_ns = array_new(r->n_clocks, sizeof(*a.error_max_ns)) };
	bool ok = a.fits && a.uses && a.ends && a.error_max_ns && align(&a);

	free(a.fits);
	free(a.uses);
	free(a.points);
	free(a.ends);
	free(a.error_max_ns);
	free(a.aways);
	return ok;
}
