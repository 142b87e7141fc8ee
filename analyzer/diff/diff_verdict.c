/* SPDX-License-Identifier: BSD-2-Clause */
#include "diff_verdict.h"

#include <math.h>
#include <stdlib.h>

#include "diff_student.h"
#include "tools/alloc.h"

char diff_sign(enum diff_change change)
{
	return "~+-?x"[change];
}

/* ---- one row ---- */

struct spread {         /* of a side's typical value */
	double within;  /* variance of the mean over its runs, by their own steps */
	double between; /* variance of one run, as its runs show it; 0 of one */
	double df, df_within;
};

#define TAIL DIFF_ROWS /* as a row of typical values */

static double value_of(const struct diff_typical *t, size_t row)
{
	return (double)(row == TAIL ? t->tail_ns : t->row_ns[row]);
}

static double error_in(const struct diff_typical *t, size_t row)
{
	return row == TAIL ? t->tail_error_ns : t->error_ns[row];
}

static struct spread spread_of(const struct diff_side *side, size_t row)
{
	struct spread s = { .df = (double)side->n - 1 };
	double mean = 0;

	for (size_t i = 0; i < side->n; i++) {
		double blocks = (double)side->runs[i].blocks;

		double error = error_in(&side->runs[i], row);

		mean += value_of(&side->runs[i], row) / (double)side->n;
		s.within += error * error / (double)(side->n * side->n);
		s.df_within += blocks > 2 ? blocks - 1 : 1;
	}
	for (size_t i = 0; i < side->n && s.df > 0; i++) {
		double away = value_of(&side->runs[i], row) - mean;

		s.between += away * away / s.df;
	}
	return s;
}

/* The variance of the difference, and its degrees of freedom (Satterthwaite's). */
static double variance_of(double *df, double a, double df_a, double b, double df_b)
{
	double below = (df_a > 0 ? a * a / df_a : 0) + (df_b > 0 ? b * b / df_b : 0);

	*df = below > 0 ? (a + b) * (a + b) / below : INFINITY;
	return a + b;
}

static double error_of(double *df, const struct diff_side *base, const struct diff_side *now, size_t row)
{
	struct spread a = spread_of(base, row), b = spread_of(now, row);
	double within, df_within, between = 0;

	within = variance_of(&df_within, a.within, a.df_within, b.within, b.df_within);
	*df = df_within;
	if (a.df > 0 && b.df > 0) {
		between = variance_of(df, a.between / (double)base->n, a.df, b.between / (double)now->n, b.df);
	} else if (a.df > 0 || b.df > 0) { /* one run that varies like the other side's */
		between = (a.between + b.between) * (1 / (double)base->n + 1 / (double)now->n);
		*df = a.df + b.df;
	}
	if (between >= within)
		return sqrt(between);
	*df = df_within;
	return sqrt(within);
}

/* The mean of the runs: rounded so that rows still sum. A row's remainder is carried to the next one of its sum. */
static void means(int64_t row_ns[DIFF_ROWS], const struct diff_side *side)
{
	int64_t n = (int64_t)side->n, carried = 0;

	for (size_t leaf = 0; leaf < DIFF_LEAVES; leaf++) {
		size_t row = ROW_LEAVES + leaf;
		__int128 sum = carried;

		for (size_t i = 0; i < side->n; i++)
			sum += side->runs[i].row_ns[row];
		row_ns[row] = (int64_t)(sum / n);
		carried = (int64_t)(sum % n);
	}
	diff_rows_sum(row_ns);
}

static int64_t tail(const struct diff_side *side)
{
	int64_t ns = 0;

	for (size_t i = 0; i < side->n; i++)
		ns += side->runs[i].tail_ns / (int64_t)side->n;
	return ns;
}

/* A run that is compared whole has one step. */
static bool are_whole(const struct diff_side *side)
{
	for (size_t i = 0; i < side->n; i++)
		if (side->runs[i].n != 1)
			return false;
	return side->n >= DIFF_LEAST_RUNS;
}

static bool have_steps(const struct diff_side *side)
{
	for (size_t i = 0; i < side->n; i++)
		if (side->runs[i].n < DIFF_LEAST_STEPS)
			return false;
	return side->n > 0;
}

static bool enough(const struct diff_side *base, const struct diff_side *now)
{
	return (have_steps(base) && have_steps(now)) || (are_whole(base) && are_whole(now));
}

static bool is_present(const struct diff_side *side, size_t row)
{
	for (size_t i = 0; i < side->n; i++)
		if (value_of(&side->runs[i], row) != 0 || error_in(&side->runs[i], row) > 0)
			return true;
	return false;
}

/* Where a step begins and ends is known; what of it was idle is not so well. */
int64_t diff_band(const struct diff_device *d, size_t row)
{
	double share = d->variance_known ? DIFF_TAIL_BAND : DIFF_TAIL_BAND_ALONE;

	if (row == TAIL)
		return (int64_t)(share * (double)d->row[ROW_STEP].base_ns);
	return d->band_ns + (row == ROW_STEP ? 0 : d->blurred_ns);
}

static void compare_row(struct diff_compared *out, const struct diff_side *base, const struct diff_side *now,
			size_t row, double band)
{
	double df, error = error_of(&df, base, now, row), delta, beyond;

	out->delta_ns = out->new_ns - out->base_ns;
	out->present = is_present(base, row) || is_present(now, row);
	delta = (double)out->delta_ns;
	beyond = fabs(delta) - band;
	if (error > 0) {
		double half = student_quantile(DIFF_ALPHA / 2, df) * error;

		out->low_ns = (int64_t)floor(delta - half);
		out->high_ns = (int64_t)ceil(delta + half);
		out->p = student_above(beyond / error, df);
	} else {
		out->low_ns = out->high_ns = out->delta_ns;
		out->p = beyond > 0 ? 0 : 1;
	}
}

static void compare_tail(struct diff_device *out, const struct diff_side *base, const struct diff_side *now)
{
	out->tail = (struct diff_compared){ .base_ns = out->base_tail_ns, .new_ns = out->new_tail_ns };
	compare_row(&out->tail, base, now, TAIL, (double)diff_band(out, TAIL));
}

/* Where in its bounds a gap's end lies nobody knows, but much the same on both sides, where times are taken alike: what may differ is what
 * one has more of, and a part of the rest. */
static int64_t blur(int64_t base_ns, int64_t new_ns)
{
	int64_t apart = base_ns < new_ns ? new_ns - base_ns : base_ns - new_ns;

	return apart + (int64_t)(DIFF_BLUR * (double)(base_ns + new_ns) / 2);
}

void diff_compare(struct diff_device *out, const struct diff_side *base, const struct diff_side *now)
{
	int64_t base_ns[DIFF_ROWS], new_ns[DIFF_ROWS];
	double share = DIFF_BAND;

	*out = (struct diff_device){ .comparable = enough(base, now),
				     .blurred_ns = blur(base->blurred_ns, now->blurred_ns),
				     .variance_known = base->n > 1 || now->n > 1 };
	if (!base->n || !now->n)
		return;
	means(base_ns, base);
	means(new_ns, now);
	if (!out->variance_known)
		share += sqrt(2) * DIFF_RUN_TO_RUN;
	out->band_ns = (int64_t)((double)base_ns[ROW_STEP] * share);
	out->base_tail_ns = tail(base);
	out->new_tail_ns = tail(now);
	for (size_t row = 0; row < DIFF_ROWS; row++) {
		out->row[row] = (struct diff_compared){ .base_ns = base_ns[row], .new_ns = new_ns[row] };
		compare_row(&out->row[row], base, now, row, (double)diff_band(out, row));
	}
	compare_tail(out, base, now);
}

/* ---- all rows ---- */

static int by_p(const void *a, const void *b)
{
	const struct diff_compared *const *x = a, *const *y = b;

	return ((*x)->p > (*y)->p) - ((*x)->p < (*y)->p);
}

/* Nothing is sure: it is no change if one of twice the band would have been seen. wide_ns: what the band is for this row. */
static enum diff_change unsure(const struct diff_compared *row, int64_t band_ns, int64_t wide_ns)
{
	bool small = row->delta_ns <= band_ns && row->delta_ns >= -band_ns;

	return small && row->low_ns >= -2 * wide_ns && row->high_ns <= 2 * wide_ns ? DIFF_UNCHANGED : DIFF_INCONCLUSIVE;
}

bool diff_row_is_alike(const struct diff_device *d, size_t row)
{
	if (!d->comparable)
		return false;
	switch (d->alike) {
	case DIFF_ALL_ROWS:
		return true;
	case DIFF_NO_CAUSES:
		return row < ROW_LEAVES + LEAF_CAUSES;
	default:
		return row == ROW_STEP;
	}
}

bool diff_judge(struct diff_device *devices, size_t n)
{
	struct diff_compared **tested = array_new(n * (DIFF_ROWS + 1), sizeof(*tested));
	size_t n_tested = 0;

	if (!tested)
		return false;
	for (size_t i = 0; i < n; i++) {
		devices[i].tail.change = !devices[i].comparable ? DIFF_NOT_COMPARABLE
								: unsure(&devices[i].tail, diff_band(&devices[i], TAIL),
									 diff_band(&devices[i], TAIL));
		if (devices[i].comparable && devices[i].tail.present)
			tested[n_tested++] = &devices[i].tail;
		for (size_t row = 0; row < DIFF_ROWS; row++) {
			struct diff_compared *r = &devices[i].row[row];
			bool alike = diff_row_is_alike(&devices[i], row);

			r->change = alike ? unsure(r, devices[i].band_ns, diff_band(&devices[i], row))
					  : DIFF_NOT_COMPARABLE;
			if (alike && r->present)
				tested[n_tested++] = r;
		}
	}
	array_sort(tested, n_tested, sizeof(*tested), by_p);
	for (size_t i = 0; i < n_tested && tested[i]->p <= DIFF_ALPHA / 2 / (double)(n_tested - i); i++)
		tested[i]->change = tested[i]->delta_ns > 0 ? DIFF_REGRESSED : DIFF_IMPROVED;
	free(tested);
	return true;
}

/* It is not sure not to have become much longer: what got better elsewhere does not settle it. */
static bool may_be_worse(const struct diff_device *d, size_t row)
{
	return d->row[row].change == DIFF_INCONCLUSIVE && d->row[row].high_ns > 2 * diff_band(d, row);
}

enum diff_change diff_overall(const struct diff_device *devices, size_t n)
{
	bool worse = false, seen[DIFF_NOT_COMPARABLE + 1] = { false }, all = true;

	for (size_t i = 0; i < n; i++) {
		const struct diff_compared *row = devices[i].row;

		seen[DIFF_NOT_COMPARABLE] |= !devices[i].comparable;
		all &= devices[i].alike != DIFF_STEP_ALONE;
		if (devices[i].tail.change != DIFF_INCONCLUSIVE)
			seen[devices[i].tail.change] = true;
		for (size_t k = 0; k < DIFF_ROWS; k++)
			if (diff_row_is_alike(&devices[i], k) &&
			    (row[k].change != DIFF_INCONCLUSIVE || k == ROW_STEP || k == ROW_IDLE))
				seen[row[k].change] = true;
		worse |= may_be_worse(&devices[i], ROW_STEP) ||
			 (diff_row_is_alike(&devices[i], ROW_IDLE) && may_be_worse(&devices[i], ROW_IDLE));
	}
	if (seen[DIFF_NOT_COMPARABLE] || n == 0)
		return DIFF_NOT_COMPARABLE;
	if (seen[DIFF_REGRESSED])
		return DIFF_REGRESSED;
	if (seen[DIFF_IMPROVED])
		return worse ? DIFF_INCONCLUSIVE : DIFF_IMPROVED;
	if (!all)
		return DIFF_NOT_COMPARABLE;
	return seen[DIFF_INCONCLUSIVE] ? DIFF_INCONCLUSIVE : DIFF_UNCHANGED;
}
