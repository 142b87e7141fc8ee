/* SPDX-License-Identifier: BSD-2-Clause */
#include "clock.h"

#include "alloc.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* CLOCK_MONOTONIC may be slewed by 500 ppm (adjtime); an anchor further off than that, and than a long scheduling pause
 * between its reads, is not an anchor. */
#define SLEW_LIMIT 1e-3
#define PAUSE_NS 1e6
#define BASELINE_NS 1e7 /* shorter distances say nothing about the rate */
#define RATE_MIN 1e-3   /* ns per tick: 1 THz … 10 kHz holds every counter there is */
#define RATE_MAX 1e5

struct point {
	uint64_t ticks;
	double ns; /* since the file's start: keeps doubles exact far beyond a trace's length */
};

struct clock {
	bool identity; /* ticks are nanoseconds already */
	uint64_t start_ticks;
	int64_t start_ns;     /* CLOCK_MONOTONIC */
	struct point *points; /* by ticks; [0] is the file header's own, which its check value guards */
	size_t n, cap;
	double rate; /* over the longest baseline, ns per tick */
	size_t last; /* where the last question was answered */
};

enum err_kind clock_new(struct clock **out, const struct gst_file_header *header, struct error *e)
{
	struct clock *c = calloc(1, sizeof(*c));

	*out = NULL;
	if (!c || !array_room(c->points, c->n, c->cap)) {
		free(c);
		return err_set(e, ERR_SYSTEM, "", ERR_NO_BYTE, "out of memory");
	}
	c->identity = header->clock == GST_CLOCK_MONOTONIC;
	c->start_ticks = header->start_ticks;
	c->start_ns = header->start_mono_ns < (uint64_t)CLOCK_MAX_NS ? (int64_t)header->start_mono_ns : CLOCK_MAX_NS;
	c->points[c->n++] = (struct point){ header->start_ticks, 0 };
	c->rate = 1;
	*out = c;
	return ERR_NONE;
}

void clock_free(struct clock *c)
{
	if (!c)
		return;
	free(c->points);
	free(c);
}

enum err_kind clock_add(struct clock *c, const struct gst_anchor *a, struct error *e)
{
	if (c->identity || a->mono_ns > (uint64_t)CLOCK_MAX_NS)
		return ERR_NONE;
	if (!array_room(c->points, c->n, c->cap))
		return err_set(e, ERR_SYSTEM, "", ERR_NO_BYTE, "out of memory");
	c->points[c->n++] = (struct point){ a->ticks, (double)((int64_t)a->mono_ns - c->start_ns) };
	return ERR_NONE;
}

static int by_ticks(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	return (x->ticks > y->ticks) - (x->ticks < y->ticks);
}

static int by_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double ticks_since_start(const struct clock *c, uint64_t ticks)
{
	return (double)(int64_t)(ticks - c->start_ticks);
}

/* The median of the rates from the start to each anchor: half the anchors may be nonsense. `rates` is room for them. */
static double median_rate(const struct clock *c, double baseline_ns, double *rates)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		double ticks = ticks_since_start(c, c->points[i].ticks);

		if (ticks > 0 && c->points[i].ns > baseline_ns && c->points[i].ns / ticks >= RATE_MIN &&
		    c->points[i].ns / ticks <= RATE_MAX)
			rates[n++] = c->points[i].ns / ticks;
	}
	if (n == 0)
		return 0;
	qsort(rates, n, sizeof(*rates), by_double);
	return rates[n / 2];
}

/* Leaves out the anchors that lie off the median rate, or that would make time run backwards. */
static void keep_consistent(struct clock *c, double rate)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct point *p = &c->points[i];
		double ticks = ticks_since_start(c, p->ticks);

		if (fabs(p->ns - ticks * rate) > PAUSE_NS + SLEW_LIMIT * fabs(p->ns))
			continue;
		if (kept && (p->ticks <= c->points[kept - 1].ticks || p->ns <= c->points[kept - 1].ns))
			continue;
		c->points[kept++] = *p;
	}
	c->n = kept;
}

enum err_kind clock_ready(struct clock *c, struct error *e)
{
	double *rates = array_new(c->n, sizeof(*rates));
	double rate;

	if (!rates)
		return err_set(e, ERR_SYSTEM, "", ERR_NO_BYTE, "out of memory");
	qsort(c->points, c->n, sizeof(*c->points), by_ticks);
	rate = median_rate(c, BASELINE_NS, rates);
	if (rate == 0)
		rate = median_rate(c, 0, rates);
	free(rates);
	if (rate == 0) { /* no usable anchor: the start is right, the rest is a guess of the order of magnitude */
		c->points[0] = (struct point){ c->start_ticks, 0 };
		c->n = 1;
		return ERR_NONE;
	}
	keep_consistent(c, rate);
	c->rate = rate;
	if (c->n >= 2 && c->points[c->n - 1].ns - c->points[0].ns > BASELINE_NS)
		c->rate = (c->points[c->n - 1].ns - c->points[0].ns) /
			  (double)(c->points[c->n - 1].ticks - c->points[0].ticks);
	return ERR_NONE;
}

/* The last point at or before ticks, or 0. Questions come nearly in order, so try the neighbourhood first. */
static size_t find_point(struct clock *c, uint64_t ticks)
{
	size_t low = 0, high = c->n;

	if (c->points[c->last].ticks <= ticks && (c->last + 1 == c->n || ticks < c->points[c->last + 1].ticks))
		return c->last;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (c->points[middle].ticks <= ticks)
			low = middle;
		else
			high = middle;
	}
	return c->last = low;
}

int64_t clock_ns(struct clock *c, uint64_t ticks)
{
	const struct point *p;
	double rate = c->rate, since;

	if (c->identity)
		return ticks < (uint64_t)CLOCK_MAX_NS ? (int64_t)ticks : CLOCK_MAX_NS;
	p = &c->points[find_point(c, ticks)];
	if (p + 1 < c->points + c->n && ticks >= p->ticks)
		rate = (p[1].ns - p->ns) / (double)(p[1].ticks - p->ticks);
	since = p->ns + (double)(int64_t)(ticks - p->ticks) * rate;
	if (!(since > -(double)c->start_ns))
		return 0;
	return since < (double)(CLOCK_MAX_NS - c->start_ns) ? c->start_ns + (int64_t)floor(since) : CLOCK_MAX_NS;
}
