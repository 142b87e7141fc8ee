/* SPDX-License-Identifier: BSD-2-Clause */
#include "pack_grid.h"

#include <math.h>
#include <stdbool.h>

#define STEP_LEAST 3.0 /* ticks; of less nothing is won */
#define STEP_MOST 130.0
#define COHERENT 0.75    /* 1: each distance is a whole number of steps; 0: chance */
#define SHORT_FIRST 1500 /* ticks: distances that the first look takes, so that a rough step shows */
#define SHORT_LAST (1ull << 34)
#define TAKEN 512 /* distances for one look */
#define GLANCE 16 /* … that show already where nothing is coherent: most of what is tried */
#define ASTRAY 16
#define TICK ((__int128)1 << 32) /* with what is behind the point */

/* ---- which step ---- */

/* How well distances are multiples of it. */
static double coherence(const double *distances, size_t n, double step)
{
	double s = 0, c = 0, sine, cosine;

	for (size_t i = 0; i < n; i++) {
		if (i == GLANCE && hypot(s, c) < 0.5 * GLANCE)
			return 0;
		sincos(2 * M_PI * distances[i] / step, &sine, &cosine);
		s += sine;
		c += cosine;
	}
	return n ? hypot(s, c) / (double)n : 0;
}

static size_t distances_below(const uint64_t *ticks, size_t n, uint64_t most, double *out)
{
	size_t found = 0, first = 0;

	/* from an instant to those behind it, as far as `most` reaches: longer ones say more */
	for (size_t i = 1; i < n && found < TAKEN; i++) {
		while (first < i && (ticks[i] < ticks[first] || ticks[i] - ticks[first] >= most))
			first++;
		if (first < i && ticks[i] > ticks[first])
			out[found++] = (double)(ticks[i] - ticks[first]);
	}
	return found;
}

static double best_near(const double *distances, size_t n, double low, double high, double by, double *how_well)
{
	double best = 0;

	*how_well = 0;
	for (double step = low; step <= high; step += by) {
		double now = coherence(distances, n, step);

		if (now > *how_well) {
			*how_well = now;
			best = step;
		}
	}
	return best;
}

/* With 32 bits behind the point. Where it is as good as a fraction that somebody would have chosen, it is that. */
static uint64_t whole_part(double step)
{
	double chosen = round(step * 1024) / 1024;

	return (uint64_t)((fabs(chosen - step) < step * 1e-7 ? chosen : step) * 4294967296.0 + 0.5);
}

uint64_t pack_grid_find(const uint64_t *ticks, size_t n)
{
	double distances[TAKEN], well, step;
	uint64_t most = SHORT_FIRST;
	size_t found = distances_below(ticks, n, most, distances);

	while (found < TAKEN / 8 && most < SHORT_FIRST * 16) {
		most *= 2;
		found = distances_below(ticks, n, most, distances);
	}
	if (found < TAKEN / 8)
		return 0;
	/* in steps that shift the longest distance by a tenth of a turn */
	step = 0;
	well = 0;
	for (double low = STEP_LEAST; low < STEP_MOST; low *= 1.25) {
		double here, now = best_near(distances, found, low, low * 1.25, 0.1 * low * low / (double)most, &here);

		if (here > well - 0.02) { /* its half and its third do as well */
			well = here > well ? here : well;
			step = now;
		}
	}
	if (well < COHERENT)
		return 0;
	/* the longer the distances, the finer, as long as they are not those of several clocks */
	for (; most < SHORT_LAST; most *= 3) {
		double width = 0.2 * step * step / (double)most, finer;

		found = distances_below(ticks, n, most * 3, distances);
		finer = best_near(distances, found, step - width, step + width, width / 40, &well);
		if (found < TAKEN / 8 || well < COHERENT)
			break;
		step = finer;
	}
	return whole_part(step);
}

/* ---- instants and steps ---- */

/* Of the step nearest to an instant, counted from the grid's own. */
static int64_t number_of(const struct pack_grid *g, uint64_t ticks)
{
	__int128 off = (int64_t)(ticks - g->at) * TICK - g->part + (__int128)g->step / 2;
	__int128 number = off / (__int128)g->step;

	return (int64_t)(off % (__int128)g->step < 0 ? number - 1 : number);
}

/* The grid's instant of that number, 2^-32 ticks behind g->at. */
static __int128 place_of(const struct pack_grid *g, int64_t number)
{
	return (__int128)number * (__int128)g->step + g->part;
}

int64_t pack_grid_steps(const struct pack_grid *g, uint64_t from, uint64_t to)
{
	if (!g->step)
		return (int64_t)(to - from);
	return (int64_t)((uint64_t)number_of(g, to) - (uint64_t)number_of(g, from));
}

uint64_t pack_grid_after(const struct pack_grid *g, uint64_t from, int64_t steps)
{
	if (!g->step)
		return from + (uint64_t)steps;
	return g->at +
	       (uint64_t)(int64_t)(place_of(g, (int64_t)((uint64_t)number_of(g, from) + (uint64_t)steps)) >> 32);
}

void pack_grid_met(struct pack_grid *g, uint64_t ticks, int64_t off)
{
	__int128 place;

	if (!g->step)
		return;
	if (off > 2 || off < -2) {
		if (++g->astray < ASTRAY)
			return;
		place = (int64_t)(ticks - g->at) * TICK + TICK / 2;
	} else {
		place = place_of(g, number_of(g, ticks));
	}
	g->astray = 0;
	if (off > 0 && off <= 2)
		place = ((place >> 32) + off) * TICK; /* no more than need be */
	else if (off < 0 && off >= -2)
		place = ((place >> 32) + off) * TICK + TICK - 1;
	g->at += (uint64_t)(int64_t)(place >> 32);
	g->part = (uint32_t)place;
}
