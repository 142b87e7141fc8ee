/* SPDX-License-Identifier: BSD-2-Clause */
#include "diff_blocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "diff_typical.h"

#define REPLICATES_MOST 500
#define REPLICATES_LEAST 60 /* of a long run: within a tenth */
#define WORK 100000000u     /* steps times rows that all replicates may look at: about 0.1 s */

/* ---- how long a block is ---- */

/* The correlation of values that lie `lag` apart, as a covariance. */
static double covariance(const double *values, size_t n, double mean, size_t lag)
{
	double sum = 0;

	for (size_t i = 0; i + lag < n; i++)
		sum += (values[i] - mean) * (values[i + lag] - mean);
	return sum / (double)n;
}

/* The lag from which on K correlations in a row are as small as chance makes them (Politis and White's m). */
static size_t dies_out(const double *correlations, size_t lags, size_t n)
{
	size_t quiet = (size_t)fmax(5, ceil(sqrt(log10((double)n))));
	double chance = 2 * sqrt(log10((double)n) / (double)n);
	size_t run = 0;

	for (size_t lag = 1; lag <= lags; lag++) {
		run = fabs(correlations[lag]) < chance ? run + 1 : 0;
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
	size_t lags =
		n < 16 ? 0 : (size_t)fmin((double)n / 4, ceil(sqrt((double)n)) + fmax(5, ceil(sqrt(log10((double)n)))));
	double *covariances = array_new(lags + 1, sizeof(*covariances)),
	       *correlations = array_new(lags + 1, sizeof(*correlations));
	double mean = 0, spectrum, slope = 0, length = 1;
	size_t m;

	for (size_t i = 0; i < n; i++)
		mean += values[i] / (double)n;
	for (size_t lag = 0; covariances && correlations && lag <= lags; lag++) {
		covariances[lag] = covariance(values, n, mean, lag);
		correlations[lag] = covariances[0] > 0 ? covariances[lag] / covariances[0] : 0;
	}
	if (covariances && correlations && lags && covariances[0] > 0) {
		m = 2 * dies_out(correlations, lags, n);
		m = m < 1 ? 1 : m > lags ? lags : m;
		spectrum = covariances[0];
		for (size_t lag = 1; lag <= m; lag++) {
			double weight = 2 * flat_top((double)lag / (double)m) * covariances[lag];

			spectrum += weight;
			slope += weight * (double)lag;
		}
		if (spectrum > 0) /* the circular bootstrap's constant is 4/3 */
			length = ceil(cbrt(2 * slope * slope / (4.0 / 3 * spectrum * spectrum)) * cbrt((double)n));
		else
			length = (double)n / 4;
		length = fmin(fmax(length, 1), fmax(1, (double)n / 4));
	} else if (!covariances || !correlations) {
		length = 0;
	}
	free(covariances);
	free(correlations);
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

/* How often each step is drawn, n in all: blocks that begin anywhere, the last one cut; behind the last step comes the first. */
static void draw(uint32_t *times, size_t n, size_t length, uint64_t *state)
{
	size_t left = n;

	memset(times, 0, n * sizeof(*times));
	while (left) {
		size_t at = below(state, n), take = length < left ? length : left;

		left -= take;
		for (; take; take--, at = at + 1 == n ? 0 : at + 1)
			times[at]++;
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

static double mean_of(const uint32_t *times, const double *lengths, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += times[i] * lengths[i];
	return sum / (double)n;
}

static void resample(double error_ns[FIGURES], uint32_t *times, const double *lengths, const struct diff_series *s,
		     const uint32_t *by, size_t length, uint64_t seed)
{
	double mean[FIGURES] = { 0 }, square[FIGURES] = { 0 }, leaf[DIFF_LEAVES], row[FIGURES];
	size_t n = replicates(s);

	for (size_t k = 1; k <= n; k++) { /* Welford's sums: no difference of large numbers */
		draw(times, s->n, length, &seed);
		diff_middle(leaf, s, by, times);
		rows_of(row, leaf);
		row[DIFF_ROWS] = mean_of(times, lengths, s->n) - row[ROW_STEP];
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
	uint32_t *times = array_new(s->n, sizeof(*times));
	double *lengths = array_new(s->n, sizeof(*lengths)), errors[FIGURES];
	size_t length = times && lengths ? length_for(s) : 0;

	for (size_t i = 0; length && i < s->n; i++)
		lengths[i] = (double)diff_step_ns(s, i);
	if (length) {
		resample(errors, times, lengths, s, by, length, seed);
		memcpy(error_ns, errors, DIFF_ROWS * sizeof(*errors));
		*tail_error_ns = errors[DIFF_ROWS];
		*blocks = s->n / length;
	}
	free(lengths);
	free(times);
	return length != 0;
}
