/* SPDX-License-Identifier: BSD-2-Clause */
#include "device_clock.h"

#include "clock.h"
#include "device_rate.h"
#include "edge_done.h"
#include "tools/alloc.h"
#include "tools/ns.h"
#include "tools/spill.h"

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
	struct firing *firings = spill_new(t->n_edges, sizeof(*firings));
	struct clock_point *points = spill_new(t->n_edges, sizeof(*points));
	int64_t *done = NULL;
	size_t n = 0, first = 0;
	bool ok = true;

	*out = NULL;
	if (!firings || !points || edge_done_find(&done, t, e)) {
		spill_free(firings);
		spill_free(points);
		return err_set(e, ERR_SYSTEM, t->path, ERR_NO_BYTE, "out of memory");
	}
	for (size_t i = 0; i < t->n_edges; i++) {
		firings[i].time_ns = done[i];
		if (!isnan(t->edges[i].device_ns))
			points[n++] = point_of(t, i, done[i]);
	}
	spill_free(done);
	array_sort(points, n, sizeof(*points), by_group_and_time);
	for (size_t i = 1; i <= n && ok; i++) {
		if (i < n && points[i].device == points[first].device && points[i].root == points[first].root)
			continue;
		ok = device_rate_fit(points + first, i - first);
		first = i;
	}
	for (size_t i = 0; i < n && ok; i++)
		place(&firings[points[i].edge], &points[i], t);
	spill_free(points);
	if (!ok) {
		spill_free(firings);
		return err_set(e, ERR_SYSTEM, t->path, ERR_NO_BYTE, "out of memory");
	}
	*out = firings;
	return ERR_NONE;
}

/* ---- how well ------------------------------------------------------------------------------------------------------- */

struct placed { /* an edge of one device; chains of several contexts take turns in the order of recording */
	uint32_t root;
	double device_ns;
	const struct firing *firing;
};

static int by_chain(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	if (x->device_ns != y->device_ns)
		return x->device_ns < y->device_ns ? -1 : 1;
	return (x->firing > y->firing) - (x->firing < y->firing);
}

/* Over the longest chain: what the ends' errors leave open of it is drift_error. */
static void set_drift(struct device_fit *fit, struct placed *placed, size_t n)
{
	double longest_ns = 0;

	array_sort(placed, n, sizeof(*placed), by_chain);
	for (size_t first = 0, last = 0; last < n; last++) {
		const struct firing *from, *to = placed[last].firing;
		double device_ns;

		if (placed[last].root != placed[first].root)
			first = last;
		from = placed[first].firing;
		device_ns = placed[last].device_ns - placed[first].device_ns;
		if (device_ns <= longest_ns || to->time_ns <= from->time_ns)
			continue;
		longest_ns = device_ns;
		fit->drift = device_ns / (double)(to->time_ns - from->time_ns) - 1;
		fit->drift_error = ((double)from->error_ns + (double)to->error_ns) / device_ns;
	}
}

bool device_clock_fit(struct device_fit *out, const struct trace *t, const struct firing *firings, uint32_t device)
{
	int64_t *errors = array_new(t->n_edges, sizeof(*errors));
	struct placed *placed = array_new(t->n_edges, sizeof(*placed));
	bool ok;

	*out = (struct device_fit){ 0 };
	for (size_t i = 0; errors && placed && i < t->n_edges; i++) {
		const struct firing *f = &firings[i];

		if (!f->exact || t->edges[i].device != device)
			continue;
		errors[out->edges] = f->error_ns;
		placed[out->edges++] = (struct placed){ t->edges[i].root, t->edges[i].device_ns, f };
		out->error_ns = max64(out->error_ns, f->error_ns);
		out->residual_ns = max64(out->residual_ns, f->residual_ns);
	}
	if (out->edges) {
		out->median_error_ns = array_median(errors, out->edges);
		set_drift(out, placed, out->edges);
	}
	ok = errors && placed;
	free(errors);
	free(placed);
	return ok;
}
