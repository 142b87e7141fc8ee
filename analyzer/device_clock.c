/* SPDX-License-Identifier: BSD-2-Clause */
#include "device_clock.h"

#include "alloc.h"
#include "clock.h"
#include "device_rate.h"
#include "edge_done.h"
#include "ns.h"

#include <math.h>
#include <stdlib.h>

static int by_group_and_time(const void *a, const void *b)
{
	const struct clock_point *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	if (x->device_ns != y->device_ns)
		return x->device_ns < y->device_ns ? -1 : 1;
	return (x->edge > y->edge) - (x->edge < y->edge);
}

/* Nanoseconds since the trace's begin on a scale that nobody slews. */
static double to_steady(const struct trace *t, int64_t ns)
{
	return t->clock ? clock_steady(t->clock, ns) : (double)(ns - t->begin_ns);
}

static int64_t from_steady(const struct trace *t, double steady)
{
	return t->clock ? clock_from_steady(t->clock, steady) : t->begin_ns + (int64_t)steady;
}

static struct clock_point point_of(const struct trace *t, size_t i, int64_t done_ns)
{
	const struct edge *edge = &t->edges[i];
	double low = to_steady(t, edge->begin_ns) - edge->device_ns;
	double high = done_ns == INT64_MAX ? INFINITY : to_steady(t, done_ns) - edge->device_ns;

	return (struct clock_point){ .device_ns = edge->device_ns,
				     .low = low - edge->step_ns,
				     .high = high + edge->step_ns,
				     .loose_ns = edge->step_ns,
				     .link_ns = edge->link_ns,
				     .edge = (uint32_t)i,
				     .root = edge->root,
				     .section = edge->section,
				     .device = edge->device };
}

/* The sum of FORMAT.md's "Error budget" for one edge. */
static void place(struct firing *f, const struct clock_point *p, const struct trace *t)
{
	double at = p->device_ns + (p->low + p->high) / 2;
	double error = fabs(p->high - p->low) / 2 + EVENT_STEP_NS + p->loose_ns;
	int64_t time_ns;

	f->residual_ns = p->residual_ns < (double)CLOCK_MAX_NS ? (int64_t)p->residual_ns : CLOCK_MAX_NS;
	if (!isfinite(at) || !isfinite(error) || fabs(at) > (double)CLOCK_MAX_NS || error > (double)CLOCK_MAX_NS)
		return;
	time_ns = from_steady(t, at);
	if (time_ns < 0 || time_ns > CLOCK_MAX_NS)
		return;
	f->time_ns = time_ns;
	f->error_ns = (int64_t)error + 1;
	f->exact = true;
}

enum err_kind device_clock_map(struct firing **out, const struct trace *t, struct error *e)
{
	struct firing *firings = array_new(t->n_edges, sizeof(*firings));
	struct clock_point *points = array_new(t->n_edges, sizeof(*points));
	int64_t *done = NULL;
	size_t n = 0, first = 0;
	bool ok = true;

	*out = NULL;
	if (!firings || !points || edge_done_find(&done, t, e)) {
		free(firings);
		free(points);
		return err_set(e, ERR_SYSTEM, t->path, ERR_NO_BYTE, "out of memory");
	}
	for (size_t i = 0; i < t->n_edges; i++) {
		firings[i].time_ns = done[i];
		if (!isnan(t->edges[i].device_ns))
			points[n++] = point_of(t, i, done[i]);
	}
	free(done);
	array_sort(points, n, sizeof(*points), by_group_and_time);
	for (size_t i = 1; i <= n && ok; i++) {
		if (i < n && points[i].device == points[first].device && points[i].root == points[first].root)
			continue;
		ok = device_rate_fit(points + first, i - first);
		first = i;
	}
	for (size_t i = 0; i < n && ok; i++)
		place(&firings[points[i].edge], &points[i], t);
	free(points);
	if (!ok) {
		free(firings);
		return err_set(e, ERR_SYSTEM, t->path, ERR_NO_BYTE, "out of memory");
	}
	*out = firings;
	return ERR_NONE;
}

/* ---- how well ------------------------------------------------------------------------------------------------------- */

static int by_length(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

struct span { /* of one chain: its first and last edge */
	const struct edge *first, *last;
	int64_t first_ns, last_ns;
};

static double span_length(const struct span *s)
{
	return s->first ? s->last->device_ns - s->first->device_ns : 0;
}

static void note_edge(struct device_fit *fit, struct span *now, struct span *longest, const struct edge *edge,
		      const struct firing *f)
{
	if (!now->first || now->first->root != edge->root)
		*now = (struct span){ edge, edge, f->time_ns, f->time_ns };
	now->last = edge;
	now->last_ns = f->time_ns;
	if (span_length(now) > span_length(longest))
		*longest = *now;
	fit->error_ns = max64(fit->error_ns, f->error_ns);
	fit->residual_ns = max64(fit->residual_ns, f->residual_ns);
}

bool device_clock_fit(struct device_fit *out, const struct trace *t, const struct firing *firings, uint32_t device)
{
	int64_t *errors = array_new(t->n_edges, sizeof(*errors));
	struct span now = { 0 }, longest = { 0 };

	*out = (struct device_fit){ 0 };
	if (!errors)
		return false;
	for (size_t i = 0; i < t->n_edges; i++) {
		if (!firings[i].exact || t->edges[i].device != device)
			continue;
		errors[out->edges++] = firings[i].error_ns;
		note_edge(out, &now, &longest, &t->edges[i], &firings[i]);
	}
	array_sort(errors, out->edges, sizeof(*errors), by_length);
	if (out->edges)
		out->median_error_ns = errors[out->edges / 2];
	free(errors);
	if (longest.last_ns > longest.first_ns)
		out->drift = span_length(&longest) / (double)(longest.last_ns - longest.first_ns) - 1;
	return true;
}
