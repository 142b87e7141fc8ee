/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks_fit.c: first a line that outliers cannot move: the points' windows have their medians, and of all pairs of these the slope is the
 * median. Then the least squares of those points that are near it. */
#include "ranks_fit.h"

#include "tools/alloc.h"
#include "tools/ns.h"

#include <math.h>
#include <stdlib.h>

#define WINDOWS 64
#define DRIFT_MAX 1e-3 /* two CLOCK_MONOTONICs, each slewed by 500 ppm */
#define NEAR 5.0       /* median distances: what is further off is left out */
#define NEAR_NS 500.0
#define FAR (INT64_MAX / 4)

struct xy {
	double x, y;
};

struct line {
	double at_0, slope;
};

static int by_time(const void *a, const void *b)
{
	const struct fit_point *p = a, *q = b;

	if (p->at_ns != q->at_ns)
		return p->at_ns < q->at_ns ? -1 : 1;
	return (p->away_ns > q->away_ns) - (p->away_ns < q->away_ns);
}

/* Of the points from first on; room has place for n numbers. */
static struct xy middle(const struct xy *first, size_t n, double *room)
{
	struct xy m;

	for (size_t i = 0; i < n; i++)
		room[i] = first[i].x;
	m.x = array_median_double(room, n);
	for (size_t i = 0; i < n; i++)
		room[i] = first[i].y;
	m.y = array_median_double(room, n);
	return m;
}

/* Only of pairs that are far from each other: near ones have nothing but noise. */
static double slope_of(const struct xy *w, size_t n)
{
	double slopes[WINDOWS * (WINDOWS - 1) / 2] = { 0 }, least = (w[n - 1].x - w[0].x) / 4;
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n; k++)
			if (w[k].x - w[i].x > 0 && w[k].x - w[i].x >= least)
				slopes[found++] = (w[k].y - w[i].y) / (w[k].x - w[i].x);
	return found ? fmax(-DRIFT_MAX, fmin(array_median_double(slopes, found), DRIFT_MAX)) : 0;
}

static struct line robust(const struct xy *points, size_t n, double *room)
{
	size_t windows = n < WINDOWS ? n : WINDOWS;
	struct xy w[WINDOWS] = { { 0, 0 } };
	struct line l;

	for (size_t i = 0; i < windows; i++) {
		size_t first = i * n / windows;

		w[i] = middle(points + first, (i + 1) * n / windows - first, room);
	}
	l.slope = slope_of(w, windows);
	for (size_t i = 0; i < windows; i++)
		room[i] = w[i].y - l.slope * w[i].x;
	l.at_0 = array_median_double(room, windows);
	return l;
}

static double distance(const struct line *l, const struct xy *p)
{
	return fabs(p->y - l->at_0 - l->slope * p->x);
}

/* Least squares of the points within `near` of the line; the line itself where they say no more. */
static struct line refined(struct line l, const struct xy *points, size_t n, double near)
{
	double sx = 0, sy = 0, sxx = 0, sxy = 0, slope = l.slope;
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (distance(&l, &points[i]) > near)
			continue;
		sx += points[i].x;
		sy += points[i].y;
		kept++;
	}
	if (!kept)
		return l;
	sx /= (double)kept;
	sy /= (double)kept;
	for (size_t i = 0; i < n; i++) {
		if (distance(&l, &points[i]) > near)
			continue;
		sxx += (points[i].x - sx) * (points[i].x - sx);
		sxy += (points[i].x - sx) * (points[i].y - sy);
	}
	if (sxx > 0 && fabs(sxy / sxx) <= DRIFT_MAX)
		slope = sxy / sxx;
	return (struct line){ sy - slope * sx, slope };
}

/* The points as small numbers: those of the first clock since the first of them, the distances from their median. */
static struct xy *small_numbers(const struct fit_point *points, size_t n, int64_t *middle_ns)
{
	struct xy *small = array_new(n, sizeof(*small));
	int64_t *away = array_new(n, sizeof(*away));

	if (!small || !away) {
		free(small);
		free(away);
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		away[i] = points[i].away_ns;
	*middle_ns = clamp64(array_median(away, n), -FAR, FAR);
	free(away);
	for (size_t i = 0; i < n; i++)
		small[i] = (struct xy){ (double)(points[i].at_ns - points[0].at_ns),
					(double)(clamp64(points[i].away_ns, -FAR, FAR) - *middle_ns) };
	return small;
}

bool fit_line(struct fit *out, struct fit_point *points, size_t n)
{
	double *room = array_new(n < WINDOWS ? WINDOWS : n, sizeof(*room));
	int64_t middle_ns = 0;
	struct xy *small = NULL;
	struct line l;

	array_sort(points, n, sizeof(*points), by_time);
	if (room)
		small = small_numbers(points, n, &middle_ns);
	if (!small) {
		free(room);
		return false;
	}
	l = robust(small, n, room);
	for (size_t i = 0; i < n; i++)
		room[i] = distance(&l, &small[i]);
	l = refined(l, small, n, NEAR_NS + NEAR * array_median_double(room, n));
	*out = (struct fit){ points[0].at_ns, sum64(middle_ns, (int64_t)llround(l.at_0)), l.slope };
	free(small);
	free(room);
	return true;
}

int64_t fit_away(const struct fit *f, int64_t at_ns)
{
	return sum64(f->offset_ns, (int64_t)llround(f->drift * (double)(at_ns - f->at_ns)));
}

int64_t fit_percentile(int64_t *values, size_t n, unsigned percent)
{
	qsort(values, n, sizeof(*values), array_by_int64);
	return n ? values[(n * percent + 99) / 100 - 1] : 0;
}
