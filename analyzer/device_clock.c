/* SPDX-License-Identifier: BSD-2-Clause */
#include "device_clock.h"

#include "alloc.h"
#include "clock.h"
#include "edge_done.h"

#include <math.h>
#include <stdlib.h>

#define DRIFT_LIMIT 100e-6 /* crystals are within ± 50 ppm of nominal each */
#define DRIFT_WANDER \
	1e-6 /* how much a rate changes with temperature while a trace runs; covers the floats' roundings too */
#define EVENT_STEP_NS 500.0 /* events tick in 0.5 us */
#define BUCKETS 256         /* the rate is estimated between this many places of a trace */

struct point { /* one edge; offset = host - device */
	double device_ns;
	double low, high; /* bounds on the offset from the trace's begin, ±INFINITY where there is none */
	uint32_t edge;
	uint32_t root;
	uint16_t device;
};

struct rates { /* bounds on the drift: offset change per device nanosecond */
	double low, high;
};

static int by_group_and_time(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	if (x->device_ns != y->device_ns)
		return x->device_ns < y->device_ns ? -1 : 1;
	return (x->edge > y->edge) - (x->edge < y->edge);
}

/* Carries every bound to every edge, loosened by what the clock can have drifted in between. */
static void propagate(struct point *p, size_t n, struct rates r)
{
	for (size_t i = 1; i < n; i++) {
		double dt = p[i].device_ns - p[i - 1].device_ns;

		p[i].low = fmax(p[i].low, p[i - 1].low + r.low * dt);
		p[i].high = fmin(p[i].high, p[i - 1].high + r.high * dt);
	}
	for (size_t i = n; i-- > 1;) {
		double dt = p[i].device_ns - p[i - 1].device_ns;

		p[i - 1].low = fmax(p[i - 1].low, p[i].low - r.high * dt);
		p[i - 1].high = fmin(p[i - 1].high, p[i].high - r.low * dt);
	}
}

/* Bounds on the rate from every pair of up to BUCKETS edges spread over the trace: a line through both windows. */
static struct rates estimate(const struct point *p, size_t n)
{
	struct rates r = { -DRIFT_LIMIT, DRIFT_LIMIT };
	size_t step = n / BUCKETS + 1;
	double middle, half;

	for (size_t i = 0; i < n; i += step) {
		for (size_t j = i + step; j < n; j += step) {
			double dt = p[j].device_ns - p[i].device_ns;

			if (dt <= 0)
				continue;
			r.low = fmax(r.low, (p[j].low - p[i].high - 2 * EVENT_STEP_NS) / dt);
			r.high = fmin(r.high, (p[j].high - p[i].low + 2 * EVENT_STEP_NS) / dt);
		}
	}
	/* Contradicting bounds (low > high) are noise: the width then says how much. */
	middle = (r.low + r.high) / 2;
	half = fabs(r.high - r.low) / 2 + DRIFT_WANDER;
	return (struct rates){ fmax(middle - half, -DRIFT_LIMIT), fmin(middle + half, DRIFT_LIMIT) };
}

/* One clock: edges of one device and root, by device time. */
static void map_group(struct point *p, size_t n, struct firing *out, const struct trace *t)
{
	propagate(p, n, (struct rates){ -DRIFT_LIMIT, DRIFT_LIMIT });
	propagate(p, n, estimate(p, n));
	for (size_t i = 0; i < n; i++) {
		struct firing *f = &out[p[i].edge];
		double offset = (p[i].low + p[i].high) / 2, half = fabs(p[i].high - p[i].low) / 2;
		double at = p[i].device_ns + offset; /* since the trace's begin */
		double error = half + EVENT_STEP_NS + t->edges[p[i].edge].step_ns;

		if (!isfinite(at) || !isfinite(error) || fabs(at) > (double)CLOCK_MAX_NS ||
		    error > (double)CLOCK_MAX_NS)
			continue;
		f->time_ns = t->begin_ns + (int64_t)at;
		if (f->time_ns < 0 || f->time_ns > CLOCK_MAX_NS) {
			f->time_ns = t->edges[p[i].edge].done_ns;
			continue;
		}
		f->error_ns = (int64_t)error + 1;
		f->exact = true;
	}
}

static struct point point_of(const struct trace *t, size_t i, int64_t done_ns)
{
	const struct edge *edge = &t->edges[i];

	return (struct point){ .device_ns = edge->device_ns,
			       .low = (double)(edge->begin_ns - t->begin_ns) - edge->device_ns,
			       .high = done_ns == INT64_MAX ? INFINITY
							    : (double)(done_ns - t->begin_ns) - edge->device_ns,
			       .edge = (uint32_t)i,
			       .root = edge->root,
			       .device = edge->device };
}

enum err_kind device_clock_map(struct firing **out, const struct trace *t, struct error *e)
{
	struct firing *firings = array_new(t->n_edges, sizeof(*firings));
	struct point *points = array_new(t->n_edges, sizeof(*points));
	int64_t *done = NULL;
	size_t n = 0, first = 0;

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
	for (size_t i = 1; i <= n; i++) {
		if (i < n && points[i].device == points[first].device && points[i].root == points[first].root)
			continue;
		map_group(points + first, i - first, firings, t);
		first = i;
	}
	free(points);
	*out = firings;
	return ERR_NONE;
}
