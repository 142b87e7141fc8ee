/* SPDX-License-Identifier: BSD-2-Clause */
#include "clock.h"

#include "tools/alloc.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* CLOCK_MONOTONIC may be slewed by 500 ppm (adjtime); an anchor further off its neighbours than that, and than a long scheduling
 * pause between its reads, is no anchor, or the machine slept in between. */
#define SLEW_LIMIT 1e-3
#define PAUSE_NS 1e6
#define BASELINE_NS 1e7 /* shorter distances say nothing about the rate */
#define RATE_MIN 1e-3   /* ns per tick: 1 THz … 10 kHz holds every counter there is */
#define RATE_MAX 1e5
#define OPEN_GROUPS 8 /* nonsense anchors in a row that do not hide what they stand among */
#define GROUP_MIN 3   /* anchors that agree with each other, and not with those before: the machine slept */

struct point {
	uint64_t ticks;
	double ns;      /* since the file's start: keeps doubles exact far beyond a trace's length */
	double half_ns; /* its own uncertainty */
	uint32_t group; /* of anchors that agree with each other */
	uint32_t width_ticks;
};

struct clock {
	bool identity; /* ticks are nanoseconds already */
	uint64_t start_ticks;
	int64_t start_ns;     /* CLOCK_MONOTONIC */
	struct point *points; /* by ticks and by ns; [0] is the file header's own, which its check value guards */
	size_t n, cap;
	double rate;            /* over the longest baseline, ns per tick */
	double bend;            /* the furthest that the rate between two anchors was from that, relative */
	struct clock_line last; /* by which the last question was answered */
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
	c->start_ns = clock_clamp(header->start_mono_ns);
	c->points[c->n++] = (struct point){ .ticks = header->start_ticks };
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
	c->points[c->n++] = (struct point){ .ticks = a->ticks,
					    .ns = (double)((int64_t)a->mono_ns - c->start_ns),
					    .width_ticks = a->width_ticks };
	return ERR_NONE;
}

static int by_ticks(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	return (x->ticks > y->ticks) - (x->ticks < y->ticks);
}

/* The median of the rates from each anchor to the next: a nonsense one spoils two. 0: there is none. `rates` is room for them. */
static double median_rate(const struct clock *c, double baseline_ns, double *rates)
{
	size_t n = 0;

	for (size_t i = 1; i < c->n; i++) {
		double ticks = (double)(c->points[i].ticks - c->points[i - 1].ticks);
		double ns = c->points[i].ns - c->points[i - 1].ns;

		if (ticks > 0 && ns > baseline_ns && ns / ticks >= RATE_MIN && ns / ticks <= RATE_MAX)
			rates[n++] = ns / ticks;
	}
	return array_median_double(rates, n);
}

static bool agree(const struct point *before, const struct point *p, double rate)
{
	double ns = p->ns - before->ns, ticks = (double)(p->ticks - before->ticks);

	return p->ticks > before->ticks && ns > 0 && fabs(ns - ticks * rate) <= PAUSE_NS + SLEW_LIMIT * ns;
}

/* Anchors that agree are a group. `sizes` is room for how many each has. Returns how many groups there are. */
static uint32_t find_groups(struct clock *c, double rate, uint32_t *sizes)
{
	size_t open[OPEN_GROUPS]; /* the last anchor of each, the latest group last */
	uint32_t n_open = 0, n = 0;

	for (size_t i = 0; i < c->n; i++) {
		struct point *p = &c->points[i];
		uint32_t k = n_open;

		while (k > 0 && !agree(&c->points[open[k - 1]], p, rate))
			k--;
		if (k > 0) {
			p->group = c->points[open[k - 1]].group;
			open[k - 1] = i;
		} else {
			p->group = n++;
			sizes[p->group] = 0;
			if (n_open == OPEN_GROUPS)
				memmove(open, open + 1, --n_open * sizeof(*open));
			open[n_open++] = i;
		}
		sizes[p->group]++;
	}
	return n;
}

/* Leaves out the anchors that few others agree with, or that would make time run backwards. start: the group of the header's own. */
static void keep_consistent(struct clock *c, const uint32_t *sizes, uint32_t start)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct point *p = &c->points[i];

		if (p->group != start && (sizes[p->group] < GROUP_MIN || p->ticks < c->start_ticks))
			continue;
		if (kept && (p->ticks <= c->points[kept - 1].ticks || p->ns <= c->points[kept - 1].ns))
			continue;
		c->points[kept++] = *p;
	}
	c->n = kept;
}

static double rate_after(const struct clock *c, size_t i)
{
	return (c->points[i + 1].ns - c->points[i].ns) / (double)(c->points[i + 1].ticks - c->points[i].ticks);
}

/* The longest baseline has the best rate, if the machine did not sleep on the way. */
static void set_rate(struct clock *c, double median)
{
	const struct point *first = &c->points[0], *last = &c->points[c->n - 1];

	c->rate = median;
	if (c->n >= 2 && first->group == last->group && last->ns - first->ns > BASELINE_NS)
		c->rate = (last->ns - first->ns) / (double)(last->ticks - first->ticks);
	for (size_t i = 0; i < c->n; i++)
		c->points[i].half_ns = c->points[i].width_ticks * c->rate / 2;
	for (size_t i = 0; i + 1 < c->n; i++)
		if (c->points[i + 1].ns - c->points[i].ns > BASELINE_NS && c->points[i].group == c->points[i + 1].group)
			c->bend = fmax(c->bend, fabs(rate_after(c, i) / c->rate - 1));
}

static enum err_kind settle(struct clock *c, double rate, struct error *e)
{
	uint32_t *sizes = array_new(c->n, sizeof(*sizes)), start = 0;

	if (!sizes)
		return err_set(e, ERR_SYSTEM, "", ERR_NO_BYTE, "out of memory");
	find_groups(c, rate, sizes);
	for (size_t i = 0; i < c->n; i++)
		if (c->points[i].ticks == c->start_ticks && c->points[i].ns == 0)
			start = c->points[i].group;
	keep_consistent(c, sizes, start);
	free(sizes);
	set_rate(c, rate);
	return ERR_NONE;
}

enum err_kind clock_ready(struct clock *c, struct error *e)
{
	double *rates = array_new(c->n, sizeof(*rates));
	double rate;

	if (!rates)
		return err_set(e, ERR_SYSTEM, "", ERR_NO_BYTE, "out of memory");
	c->last = (struct clock_line){ 0 };
	qsort(c->points, c->n, sizeof(*c->points), by_ticks);
	rate = median_rate(c, BASELINE_NS, rates);
	if (rate == 0)
		rate = median_rate(c, 0, rates);
	free(rates);
	if (rate != 0)
		return settle(c, rate, e);
	/* no usable anchor: the start is right, the rest is a guess of the order of magnitude */
	c->points[0] = (struct point){ .ticks = c->start_ticks };
	c->n = 1;
	return ERR_NONE;
}

/* The last point at or before ticks, or 0. */
static size_t find_point(const struct clock *c, uint64_t ticks)
{
	size_t low = 0, high = c->n;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (c->points[middle].ticks <= ticks)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static int64_t in_range(const struct clock *c, double since)
{
	if (!(since > -(double)c->start_ns))
		return 0;
	return since < (double)(CLOCK_MAX_NS - c->start_ns) ? c->start_ns + (int64_t)floor(since) : CLOCK_MAX_NS;
}

bool clock_is_ns(const struct clock *c)
{
	return c->identity;
}

/* Before the first point, and behind the last, the rate over all goes on. */
struct clock_line clock_line_at(const struct clock *c, uint64_t ticks)
{
	size_t i = find_point(c, ticks);
	const struct point *p = &c->points[i];
	struct clock_line l = { .from = i || ticks >= p->ticks ? p->ticks : 0,
				.until = i + 1 < c->n ? p[1].ticks : UINT64_MAX,
				.origin = p->ticks,
				.ns = p->ns,
				.rate = c->rate,
				.start_ns = c->start_ns };

	if (ticks < p->ticks)
		l.until = p->ticks;
	else if (i + 1 < c->n)
		l.rate = (p[1].ns - p->ns) / (double)(p[1].ticks - p->ticks);
	return l;
}

int64_t clock_ns(struct clock *c, uint64_t ticks)
{
	if (c->identity)
		return clock_clamp(ticks);
	if (ticks < c->last.from || ticks >= c->last.until)
		c->last = clock_line_at(c, ticks);
	return clock_line_ns(&c->last, ticks);
}

/* ---- by nanoseconds ------------------------------------------------------------------------------------------------- */

/* The last point at or before this many nanoseconds since the start, or 0. */
static size_t point_before(const struct clock *c, double since)
{
	size_t low = 0, high = c->n;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (c->points[middle].ns <= since)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* How much the rate behind point i differs from that behind point `other`, its neighbour, beyond what the anchors' own errors explain. */
static double bend_against(const struct clock *c, size_t i, size_t other)
{
	const struct point *p = &c->points[i], *q = &c->points[other];
	double noise = (p[0].half_ns + p[1].half_ns) / (p[1].ns - p[0].ns) +
		       (q[0].half_ns + q[1].half_ns) / (q[1].ns - q[0].ns);

	return fmax(0, fabs(1 - rate_after(c, other) / rate_after(c, i)) - noise);
}

static int64_t whole_error(double error)
{
	return error < (double)CLOCK_MAX_NS ? (int64_t)ceil(error) : CLOCK_MAX_NS;
}

/* Behind point i, up to the next: a rate that changed once between two anchors, or for a while, or a clock that stood still, strays from the line
 * between them by no more than the line strays from the neighbours' rate. */
static double error_between(const struct clock *c, size_t i)
{
	const struct point *p = &c->points[i];
	double bend = i > 0 ? bend_against(c, i, i - 1) : 0;

	if (i + 2 < c->n)
		bend = fmax(bend, bend_against(c, i, i + 1));
	return fmax(p->half_ns, p[1].half_ns) + fmin(bend, 1) * (p[1].ns - p->ns);
}

struct clock_error clock_error_at(const struct clock *c, int64_t ns)
{
	const struct point *p;
	double since;
	size_t i;

	if (c->identity)
		return (struct clock_error){ INT64_MIN, INT64_MAX, 0 };
	since = (double)(ns - c->start_ns);
	i = point_before(c, since);
	p = &c->points[i];
	if (i + 1 == c->n || since < p->ns)
		return (struct clock_error){ ns, ns, whole_error(p->half_ns + fabs(since - p->ns) * c->bend) };
	return (struct clock_error){ in_range(c, p->ns), in_range(c, p[1].ns), whole_error(error_between(c, i)) };
}

int64_t clock_error_ns(const struct clock *c, int64_t ns)
{
	return clock_error_at(c, ns).error_ns;
}

double clock_steady(const struct clock *c, int64_t ns)
{
	double since = (double)(ns - c->start_ns);
	const struct point *p;
	size_t i;

	if (c->identity || c->n < 2)
		return since;
	i = point_before(c, since);
	p = &c->points[i];
	if (i + 1 == c->n || since < p->ns)
		return (double)(int64_t)(p->ticks - c->start_ticks) * c->rate + since - p->ns;
	return ((double)(int64_t)(p->ticks - c->start_ticks) + (since - p->ns) / rate_after(c, i)) * c->rate;
}

int64_t clock_from_steady(const struct clock *c, double steady)
{
	double since = steady, ticks = steady / c->rate;
	const struct point *p = c->points;
	size_t low = 0, high = c->n;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if ((double)(int64_t)(p[middle].ticks - c->start_ticks) <= ticks)
			low = middle;
		else
			high = middle;
	}
	if (!c->identity && c->n >= 2) {
		ticks -= (double)(int64_t)(p[low].ticks - c->start_ticks);
		since = p[low].ns + ticks * (low + 1 < c->n && ticks >= 0 ? rate_after(c, low) : c->rate);
	}
	return in_range(c, since);
}
