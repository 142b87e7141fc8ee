/* SPDX-License-Identifier: BSD-2-Clause */
#include "diff_blocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diff_typical.h"
#include "tools/alloc.h"

#define REPLICATES_MOST 500
#define REPLICATES_LEAST 60 /* of a long run: within a tenth */
#define FEW 16              /* values */
#define LAGS_MOST 512       /* what depends on longer ago than that, in a very long run, is not looked for */
#define WORK 100000000u     /* steps times rows that all replicates may look at: about 0.1 s */

/* ---- how long a block is ---- */

/* How values that lie so far apart go together; each lag is summed up when it is asked for, as most series ask for few. */
struct covariances {
	const double *values;
	size_t n, known; /* known: lags */
	double mean, *at;
};

static double covariance(struct covariances *c, size_t lag)
{
	for (; c->known <= lag; c->known++) {
		double sum = 0;

		for (size_t i = 0; i + c->known < c->n; i++)
			sum += (c->values[i] - c->mean) * (c->values[i + c->known] - c->mean);
		c->at[c->known] = sum / (double)c->n;
	}
	return c->at[lag];
}

/* The lag from which on K correlations in a row are as small as chance makes them (Politis and White's m). */
static size_t dies_out(struct covariances *c, size_t lags)
{
	size_t quiet = (size_t)fmax(5, ceil(sqrt(log10((double)c->n))));
	double chance = 2 * sqrt(log10((double)c->n) / (double)c->n) * covariance(c, 0);
	size_t run = 0;

	for (size_t lag = 1; lag <= lags; lag++) {
		run = fabs(covariance(c, lag)) < chance ? run + 1 : 0;
		if (run == quiet)
			return lag - quiet;
	}
	return lags;
}

/* The flat-top window: 1 up to a half, falling to 0 at 1. */
static double flat_top(double x)
{
	return x <= 0.5 ? 1 : x < 1 ? 2 * (1 - x) : 0;
}

size_t diff_block_length(const double *values, size_t n)
{
	size_t lags = (size_t)fmin(fmin((double)n / 4, LAGS_MOST),
				   ceil(sqrt((double)n)) + fmax(5, ceil(sqrt(log10((double)n)))));
	struct covariances c = { .values = values, .n = n };
	double spectrum, slope = 0, length = 1;
	size_t m;

	if (n < FEW) /* they say nothing of how they depend on each other: the worst is taken */
		return n < 4 ? 1 : n / 4;
	c.at = array_new(lags + 1, sizeof(*c.at));
	if (!c.at)
		return 0;
	for (size_t i = 0; i < n; i++)
		c.mean += values[i] / (double)n;
	if (covariance(&c, 0) > 0) {
		m = 2 * dies_out(&c, lags);
		m = m < 1 ? 1 : m > lags ? lags : m;
		spectrum = covariance(&c, 0);
		for (size_t lag = 1; lag <= m; lag++) {
			double weight = 2 * flat_top((double)lag / (double)m) * covariance(&c, lag);

			spectrum += weight;
			slope += weight * (double)lag;
		}
		if (spectrum > 0) /* the circular bootstrap's constant is 4/3 */
			length = ceil(cbrt(2 * slope * slope / (4.0 / 3 * spectrum * spectrum)) * cbrt((double)n));
		else
			length = (double)n / 4;
		length = fmin(fmax(length, 1), fmax(1, (double)n / 4));
	}
	free(c.at);
	return (size_t)length;
}

/* ---- resampling ---- */

/* splitmix64: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014. */
static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static size_t below(uint64_t *state, size_t n)
{
	return (size_t)(((unsigned __int128)next(state) * n) >> 64);
}

/* A run's steps by length: what each replicate reads is then in a row. */
struct by_length {
	size_t n;
	uint32_t *place;           /* of each step */
	double *leaf[DIFF_LEAVES]; /* ns; NULL: 0 all through */
	double *step;
	uint32_t *times; /* how often each is drawn */
};

static void by_length_free(struct by_length *l)
{
	for (size_t i = 0; i < DIFF_LEAVES; i++)
		free(l->leaf[i]);
	free(l->place);
	free(l->step);
	free(l->times);
}

/* False: no memory. */
static bool by_length_make(struct by_length *l, const struct diff_series *s, const uint32_t *by)
{
	*l = (struct by_length){ .n = s->n };
	l->place = array_new(s->n, sizeof(*l->place));
	l->step = array_new(s->n, sizeof(*l->step));
	l->times = array_new(s->n, sizeof(*l->times));
	if (!l->place || !l->step || !l->times)
		return false;
	for (size_t i = 0; i < s->n; i++) {
		l->place[by[i]] = (uint32_t)i;
		l->step[i] = (double)diff_step_ns(s, by[i]);
	}
	for (size_t leaf = 0; leaf < DIFF_LEAVES; leaf++) {
		if (!s->leaf[leaf])
			continue;
		l->leaf[leaf] = array_new(s->n, sizeof(double));
		if (!l->leaf[leaf])
			return false;
		for (size_t i = 0; i < s->n; i++)
			l->leaf[leaf][i] = (double)s->leaf[leaf][by[i]];
	}
	return true;
}

/* n in all: blocks that begin anywhere, the last one cut; behind the last step comes the first. */
static void draw(struct by_length *l, size_t length, uint64_t *state)
{
	size_t left = l->n;

	memset(l->times, 0, l->n * sizeof(*l->times));
	while (left) {
		size_t at = below(state, l->n), take = length < left ? length : left;

		left -= take;
		for (; take; take--, at = at + 1 == l->n ? 0 : at + 1)
			l->times[l->place[at]]++;
	}
}

/* In four sums, which do not wait for each other. */
static double weighted_sum(const uint32_t *times, const double *values, size_t n)
{
	double sum[4] = { 0 };
	size_t i = 0;

	for (; i + 4 <= n; i += 4)
		for (size_t k = 0; k < 4; k++)
			sum[k] += times[i + k] * values[i + k];
	for (; i < n; i++)
		sum[0] += times[i] * values[i];
	return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* The leaves' means over the middle half of what was drawn. */
static void middle_means(double leaf_ns[DIFF_LEAVES], const struct by_length *l)
{
	struct diff_middle m = diff_middle_of(l->n, l->times);
	size_t between = m.last > m.first ? m.last - m.first - 1 : 0;

	for (size_t i = 0; i < DIFF_LEAVES; i++) {
		const double *leaf = l->leaf[i];

		leaf_ns[i] = !leaf ? 0
				   : ((double)m.in_first * leaf[m.first] + (double)m.in_last * leaf[m.last] +
				      4 * weighted_sum(l->times + m.first + 1, leaf + m.first + 1, between)) /
					     (2 * (double)l->n);
	}
}

static void rows_of(double row[DIFF_ROWS], const double leaf[DIFF_LEAVES])
{
	memset(row, 0, DIFF_ROWS * sizeof(*row));
	for (size_t i = 0; i < DIFF_LEAVES; i++) {
		row[ROW_LEAVES + i] = leaf[i];
		row[ROW_STEP] += leaf[i];
		row[ROW_IDLE] += i >= LEAF_CAUSES ? leaf[i] : 0;
	}
}

static size_t replicates(const struct diff_series *s)
{
	size_t leaves = 1, n;

	for (size_t i = 0; i < DIFF_LEAVES; i++)
		leaves += s->leaf[i] != NULL;
	n = WORK / leaves / s->n;
	return n < REPLICATES_LEAST ? REPLICATES_LEAST : n > REPLICATES_MOST ? REPLICATES_MOST : n;
}

#define FIGURES (DIFF_ROWS + 1) /* the last: the tail */

static void resample(double error_ns[FIGURES], struct by_length *l, size_t n, size_t length, uint64_t seed)
{
	double mean[FIGURES] = { 0 }, square[FIGURES] = { 0 }, leaf[DIFF_LEAVES], row[FIGURES];

	for (size_t k = 1; k <= n; k++) { /* Welford's sums: no difference of large numbers */
		draw(l, length, &seed);
		middle_means(leaf, l);
		rows_of(row, leaf);
		row[DIFF_ROWS] = weighted_sum(l->times, l->step, l->n) / (double)l->n - row[ROW_STEP];
		for (size_t i = 0; i < FIGURES; i++) {
			double away = row[i] - mean[i];

			mean[i] += away / (double)k;
			square[i] += away * (row[i] - mean[i]);
		}
	}
	for (size_t i = 0; i < FIGURES; i++)
		error_ns[i] = sqrt(square[i] / (double)(n - 1));
}

/* The longest that the step or its idle time asks for. */
static size_t length_for(const struct diff_series *s)
{
	double *values = array_new(s->n, sizeof(*values));
	size_t longest = 0;

	for (int idle = 0; values && idle < 2; idle++) {
		size_t length;

		for (size_t i = 0; i < s->n; i++) {
			values[i] = idle ? 0 : (double)diff_step_ns(s, i);
			for (size_t leaf = LEAF_CAUSES; idle && leaf < DIFF_LEAVES; leaf++)
				values[i] += s->leaf[leaf] ? (double)s->leaf[leaf][i] : 0;
		}
		length = diff_block_length(values, s->n);
		if (!length) {
			longest = 0;
			break;
		}
		longest = length > longest ? length : longest;
	}
	free(values);
	return longest;
}

bool diff_block_errors(double error_ns[DIFF_ROWS], double *tail_error_ns, size_t *blocks, const struct diff_series *s,
		       const uint32_t *by, uint64_t seed)
{
	double errors[FIGURES];
	struct by_length l;
	bool ok = by_length_make(&l, s, by);
	size_t length = ok ? length_for(s) : 0;

	if (length) {
		resample(errors, &l, replicates(s), length, seed);
		memcpy(error_ns, errors, DIFF_ROWS * sizeof(*errors));
		*tail_error_ns = errors[DIFF_ROWS];
		*blocks = s->n / length;
	}
	by_length_free(&l);
	return length != 0;
}
