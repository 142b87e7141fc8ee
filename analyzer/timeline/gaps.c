/* SPDX-License-Identifier: BSD-2-Clause */
#include "gaps.h"

#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/spill.h"
#include "trace/clock.h"

#include <stdlib.h>

struct region { /* one run of the outer union, over all streams */
	int64_t begin_ns, end_ns;
	int64_t latest_begin_ns, earliest_end_ns; /* the device was busy by, and until */
	int64_t last_latest_start_ns, likely_begin_ns, likely_end_ns;
	int64_t first_entry_ns, last_entry_ns;
	int64_t second_begin_ns; /* of the work that begins next after the first, at the earliest; INT64_MAX none */
	int64_t slack_ns;
	uint8_t end_known_by;
};

struct sweep {
	struct device_timeline *out;
	const struct device_work *d;
	struct stretch *stretches; /* by begin */
	struct region *regions;
	size_t n_regions, gaps_cap;
	struct intervals busy, inside, inner, candidates, unresolved;
	size_t at_busy, at_inner, at_unresolved, at_inside, at_stalled; /* cursors of the walk over regions */
};

static int by_begin(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

/* ---- regions ---------------------------------------------------------------------------------------- */

static struct region region_of(const struct stretch *s)
{
	return (struct region){ .begin_ns = s->begin_ns,
				.end_ns = s->end_ns,
				.latest_begin_ns = s->latest_begin_ns,
				.earliest_end_ns = s->earliest_end_ns,
				.last_latest_start_ns = s->last_latest_start_ns,
				.likely_begin_ns = s->likely_begin_ns,
				.likely_end_ns = s->likely_end_ns,
				.first_entry_ns = s->first_entry_ns,
				.last_entry_ns = s->last_entry_ns,
				.second_begin_ns = s->second_begin_ns,
				.slack_ns = s->slack_ns,
				.end_known_by = s->end_known_by };
}

static void widen(struct region *r, const struct stretch *s)
{
	if (s->end_ns > r->end_ns) {
		r->end_ns = s->end_ns;
		r->end_known_by = s->end_known_by;
	}
	r->second_begin_ns = min64(r->second_begin_ns, min64(s->begin_ns, s->second_begin_ns));
	r->slack_ns = sum64(r->slack_ns, s->slack_ns);
	r->latest_begin_ns = min64(r->latest_begin_ns, s->latest_begin_ns);
	r->earliest_end_ns = max64(r->earliest_end_ns, s->earliest_end_ns);
	r->last_latest_start_ns = max64(r->last_latest_start_ns, s->last_latest_start_ns);
	r->likely_begin_ns = min64(r->likely_begin_ns, s->likely_begin_ns);
	r->likely_end_ns = max64(r->likely_end_ns, s->likely_end_ns);
	r->first_entry_ns = min64(r->first_entry_ns, s->first_entry_ns);
	r->last_entry_ns = max64(r->last_entry_ns, s->last_entry_ns);
}

static void make_regions(struct sweep *w)
{
	for (size_t i = 0; i < w->d->n_stretches; i++) {
		if (w->n_regions && w->stretches[i].begin_ns <= w->regions[w->n_regions - 1].end_ns)
			widen(&w->regions[w->n_regions - 1], &w->stretches[i]);
		else
			w->regions[w->n_regions++] = region_of(&w->stretches[i]);
	}
}

/* What is held inside the regions (a wait may outlast what is known of its own stream) bounds their ends too. */
static void bound_regions(struct sweep *w, const struct intervals *held)
{
	for (size_t i = 0, k = 0; i < held->n; i++) {
		while (w->regions[k].end_ns < held->at[i].end_ns)
			k++;
		w->regions[k].latest_begin_ns = min64(w->regions[k].latest_begin_ns, held->at[i].begin_ns);
		w->regions[k].earliest_end_ns = max64(w->regions[k].earliest_end_ns, held->at[i].end_ns);
	}
}

/* Surely busy time, and the busy time that slack may take: where it takes all up to an end, that end bounds the region still. */
static bool make_busy(struct sweep *w)
{
	struct intervals outer = { 0 };
	bool ok = true;

	for (size_t i = 0; i < w->n_regions && ok; i++)
		ok = intervals_add(&outer, w->regions[i].begin_ns, w->regions[i].end_ns);
	ok = ok && intervals_intersect(&w->busy, &w->d->busy, &outer) &&
	     intervals_intersect(&w->inside, &w->d->inside, &outer);
	intervals_free(&outer);
	if (!ok)
		return false;
	bound_regions(w, &w->busy);
	bound_regions(w, &w->inside);
	return true;
}

/* The inner union, with each region's own two ends as points; and what may be idle inside it. */
static bool make_inner(struct sweep *w)
{
	struct intervals inside = { 0 };
	bool ok = true;

	for (size_t i = 0; i < w->d->n_stretches && ok; i++) {
		const struct stretch *s = &w->stretches[i];

		ok = intervals_add(&w->inner, s->latest_begin_ns, s->earliest_end_ns) &&
		     intervals_add(&w->candidates, s->latest_begin_ns, s->last_latest_start_ns);
	}
	for (size_t i = 0; i < w->inside.n && ok; i++)
		ok = intervals_add(&w->candidates, w->inside.at[i].begin_ns, w->inside.at[i].end_ns) &&
		     intervals_add(&w->inner, w->inside.at[i].begin_ns, w->inside.at[i].end_ns);
	for (size_t i = 0; i < w->d->stalled.n && ok; i++)
		ok = intervals_add(&w->candidates, w->d->stalled.at[i].begin_ns, w->d->stalled.at[i].end_ns);
	for (size_t i = 0; i < w->n_regions && ok; i++)
		if (w->regions[i].latest_begin_ns <= w->regions[i].earliest_end_ns)
			ok = intervals_add(&w->inner, w->regions[i].latest_begin_ns, w->regions[i].latest_begin_ns) &&
			     intervals_add(&w->inner, w->regions[i].earliest_end_ns, w->regions[i].earliest_end_ns);
	for (size_t i = 0; i < w->busy.n && ok; i++)
		ok = intervals_add(&w->inner, w->busy.at[i].begin_ns, w->busy.at[i].end_ns);
	intervals_merge(&w->inner);
	intervals_merge(&w->candidates);
	ok = ok && intervals_intersect(&inside, &w->candidates, &w->inner) &&
	     intervals_subtract(&w->unresolved, &inside, &w->busy);
	intervals_free(&inside);
	return ok;
}

/* ---- gaps ------------------------------------------------------------------------------------------- */

static bool add_gap(struct sweep *w, struct gap gap)
{
	struct device_timeline *out = w->out;

	if (!spill_room(out->gaps, out->n_gaps, w->gaps_cap))
		return false;
	out->gaps[out->n_gaps++] = gap;
	return true;
}

static int64_t begin_of(const struct region *r)
{
	return r->likely_begin_ns == INT64_MAX ? middle64(r->begin_ns, r->latest_begin_ns)
					       : clamp64(r->likely_begin_ns, r->begin_ns, r->latest_begin_ns);
}

static int64_t end_of(const struct region *r)
{
	return r->likely_end_ns == INT64_MIN ? middle64(r->earliest_end_ns, r->end_ns)
					     : clamp64(r->likely_end_ns, r->earliest_end_ns, r->end_ns);
}

/* From the end of one region to the begin of the next nothing can have run. A boundary known to lie in [low, high] is stated as its
 * middle, or where in there it likely is, with the distance to the further end. */
static bool add_sure_gap(struct sweep *w, const struct region *a, const struct region *b)
{
	int64_t begin = end_of(a), end = begin_of(b);

	return add_gap(w, (struct gap){ .begin_ns = begin,
					.end_ns = end,
					.begin_error_ns = max64(a->end_ns - begin, begin - a->earliest_end_ns),
					.end_error_ns = max64(end - b->begin_ns, b->latest_begin_ns - end),
					.begin_known_by = a->end_known_by });
}

/* Between streams, where work may or may not have run. */
static bool add_hole(struct sweep *w, int64_t begin_ns, int64_t end_ns, uint8_t known_by)
{
	int64_t quarter = (end_ns - begin_ns) / 4, claimed = end_ns - begin_ns - 2 * quarter;

	return add_gap(w, (struct gap){ .begin_ns = begin_ns + quarter,
					.end_ns = end_ns - quarter,
					.begin_error_ns = (claimed + 1) / 2,
					.end_error_ns = (claimed + 1) / 2,
					.begin_known_by = known_by });
}

/* Returns the length of the holes, or -1 without memory. */
static int64_t add_holes(struct sweep *w, const struct region *r)
{
	int64_t total = 0;

	while (w->at_inner < w->inner.n && w->inner.at[w->at_inner].end_ns < r->begin_ns)
		w->at_inner++;
	for (; w->at_inner + 1 < w->inner.n && w->inner.at[w->at_inner + 1].begin_ns <= r->end_ns; w->at_inner++) {
		int64_t begin = w->inner.at[w->at_inner].end_ns, end = w->inner.at[w->at_inner + 1].begin_ns;

		if (!add_hole(w, begin, end, r->end_known_by))
			return -1;
		total += end - begin;
	}
	return total;
}

/* ---- unresolved ------------------------------------------------------------------------------------- */

/* Moves the region's unresolved intervals into the result, no more of them than lies between its submissions and inside graphs. Their
 * length. */
static int64_t take_unresolved(struct sweep *w, const struct region *r)
{
	int64_t left = r->last_entry_ns - r->first_entry_ns, total = 0;

	left += intervals_within(&w->inside, &w->at_inside, r->begin_ns, r->end_ns) +
		intervals_within(&w->d->stalled, &w->at_stalled, r->begin_ns, r->end_ns);
	for (; w->at_unresolved < w->unresolved.n && w->unresolved.at[w->at_unresolved].begin_ns < r->end_ns;
	     w->at_unresolved++) {
		struct interval u = w->unresolved.at[w->at_unresolved];

		if (u.end_ns - u.begin_ns > left)
			u.end_ns = u.begin_ns + left;
		if (u.end_ns == u.begin_ns)
			continue;
		left -= u.end_ns - u.begin_ns;
		total += u.end_ns - u.begin_ns;
		w->out->unresolved[w->out->n_unresolved++] = u;
	}
	return total;
}

/* Is the region's first work known to have run on from wherever it started? Then its start hides no idle time. */
static bool runs_on(const struct sweep *w, const struct region *r)
{
	int64_t time_ns = r->latest_begin_ns;

	if (r->second_begin_ns <= time_ns)
		return false; /* other work may have come and gone before, or be what ran then */
	for (size_t i = w->at_busy; i < w->busy.n && w->busy.at[i].begin_ns <= time_ns; i++)
		if (w->busy.at[i].begin_ns == time_ns)
			return true;
	return false;
}

/* Before the first region there is no gap whose error could hold what its begin hides. */
static int64_t hidden_lead(const struct sweep *w, const struct region *r)
{
	return runs_on(w, r) ? 0 : r->latest_begin_ns - r->begin_ns;
}

/* Behind the last work's latest start, and when all may be over: idle time that lies inside the work itself, between a graph's nodes or where it
 * stands still. */
static int64_t idle_inside(const struct sweep *w, const struct region *r, int64_t from_ns)
{
	size_t at = 0;

	return sum64(r->slack_ns, intervals_within(&w->d->stalled, &at, from_ns, r->end_ns));
}

/* What of a region may be idle without being stated so far. At a gap's end the claimed half and its error cover the whole
 * distance; after the last work there is no gap, and behind the last start no idle time but what lies inside the work itself. */
static int64_t unstated(struct sweep *w, size_t i, int64_t holes_ns, int64_t unresolved_ns)
{
	const struct region *r = &w->regions[i];
	int64_t stated = holes_ns + unresolved_ns + r->latest_begin_ns - r->begin_ns;
	int64_t last_ns = min64(r->end_ns, max64(r->earliest_end_ns, r->last_latest_start_ns));

	if (i + 1 < w->n_regions)
		stated += r->end_ns - r->earliest_end_ns;
	else
		stated += max64(0, r->end_ns - last_ns - idle_inside(w, r, last_ns));
	stated += intervals_within(&w->busy, &w->at_busy, r->begin_ns, r->end_ns);
	return max64(0, r->end_ns - r->begin_ns - stated);
}

/* The gap that takes a region's remainder as error: the next one, else the one before; else only the sum shows it. */
static void add_error(struct sweep *w, size_t next_gap, int64_t error_ns, bool more)
{
	struct device_timeline *out = w->out;

	if (error_ns == 0)
		return;
	if (more)
		out->gaps[next_gap].begin_error_ns += error_ns;
	else if (next_gap > 0)
		out->gaps[next_gap - 1].end_error_ns += error_ns;
	else
		out->idle_error_ns += error_ns;
}

/* ---- all together ----------------------------------------------------------------------------------- */

static bool walk(struct sweep *w)
{
	struct device_timeline *out = w->out;

	for (size_t i = 0; i < w->n_regions; i++) {
		const struct region *r = &w->regions[i];
		int64_t holes = add_holes(w, r), unresolved, rest;
		bool more = i + 1 < w->n_regions;

		if (holes < 0 || (more && !add_sure_gap(w, r, r + 1)))
			return false;
		unresolved = take_unresolved(w, r);
		if (i == 0)
			out->idle_error_ns += hidden_lead(w, r);
		rest = unstated(w, i, holes, unresolved);
		add_error(w, out->n_gaps - more, rest, more);
		out->unresolved_ns += unresolved;
	}
	return true;
}

/* What all times of a process share: how well its anchors tell CLOCK_MONOTONIC. */
static struct clock_error host_error(const struct device_work *d, int64_t time_ns)
{
	struct clock_error worst = { INT64_MIN, INT64_MAX, 0 };
	const struct trace *seen = NULL;

	for (size_t i = 0; i < d->n; i++) {
		const struct trace *t = d->streams[i].trace;

		if (t != seen && t->clock) {
			struct clock_error own = clock_error_at(t->clock, time_ns);

			worst.from_ns = max64(worst.from_ns, own.from_ns);
			worst.until_ns = min64(worst.until_ns, own.until_ns);
			worst.error_ns = max64(worst.error_ns, own.error_ns);
		}
		seen = t;
	}
	return worst;
}

/* last: the one that was asked for before. */
static int64_t host_error_ns(struct clock_error *last, const struct device_work *d, int64_t time_ns)
{
	if (time_ns < last->from_ns || time_ns >= last->until_ns)
		*last = host_error(d, time_ns);
	return last->error_ns;
}

static void add_host_errors(struct device_timeline *out, const struct device_work *d)
{
	struct clock_error last = { 0 };

	for (size_t i = 0; i < out->n_gaps; i++) {
		struct gap *gap = &out->gaps[i];
		int64_t begin_ns = host_error_ns(&last, d, gap->begin_ns);
		int64_t end_ns = host_error_ns(&last, d, gap->end_ns);

		gap->begin_error_ns += begin_ns;
		gap->end_error_ns += end_ns;
		out->host_error_ns = max64(out->host_error_ns, max64(begin_ns, end_ns));
	}
}

static void sum_up(struct device_timeline *out)
{
	for (size_t i = 0; i < out->n_gaps; i++) {
		const struct gap *gap = &out->gaps[i];

		out->idle_ns += gap->end_ns - gap->begin_ns;
		out->idle_error_ns = sum64(out->idle_error_ns, gap->begin_error_ns + gap->end_error_ns);
	}
}

static bool build(struct sweep *w)
{
	const struct device_work *d = w->d;
	struct device_timeline *out = w->out;

	w->stretches = spill_new(d->n_stretches, sizeof(*w->stretches));
	w->regions = spill_new(d->n_stretches, sizeof(*w->regions));
	if (!w->stretches || !w->regions)
		return false;
	for (size_t i = 0; i < d->n_stretches; i++)
		w->stretches[i] = d->stretches[i];
	array_sort(w->stretches, d->n_stretches, sizeof(*w->stretches), by_begin);
	make_regions(w);
	if (!make_busy(w) || !make_inner(w))
		return false;
	out->unresolved = spill_new(w->unresolved.n, sizeof(*out->unresolved));
	if (!out->unresolved)
		return false;
	if (w->n_regions) {
		const struct region *last = &w->regions[w->n_regions - 1];

		out->begin_ns = begin_of(&w->regions[0]);
		out->end_ns = max64(out->begin_ns, end_of(last));
	}
	return walk(w);
}

enum err_kind gaps_build(struct device_timeline *out, const struct device_work *d, struct error *e)
{
	struct sweep w = { .out = out, .d = d };
	bool ok = build(&w);

	spill_free(w.stretches);
	spill_free(w.regions);
	intervals_free(&w.busy);
	intervals_free(&w.inside);
	intervals_free(&w.inner);
	intervals_free(&w.candidates);
	intervals_free(&w.unresolved);
	if (!ok)
		return err_set(e, ERR_SYSTEM, "", ERR_NO_BYTE, "out of memory");
	add_host_errors(out, d);
	sum_up(out);
	return ERR_NONE;
}
