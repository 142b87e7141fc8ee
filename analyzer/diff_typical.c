/* SPDX-License-Identifier: BSD-2-Clause */
#include "diff_typical.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "diff_blocks.h"

struct length {
	int64_t ns;
	uint32_t step;
};

static int by_ns(const void *a, const void *b)
{
	const struct length *x = a, *y = b;

	return (x->ns > y->ns) - (x->ns < y->ns);
}

uint32_t *diff_by_length(const struct diff_series *s)
{
	struct length *lengths = array_new(s->n, sizeof(*lengths));
	uint32_t *by = array_new(s->n, sizeof(*by));

	for (size_t i = 0; lengths && by && i < s->n; i++)
		lengths[i] = (struct length){ diff_step_ns(s, i), (uint32_t)i };
	if (lengths && by) {
		array_sort(lengths, s->n, sizeof(*lengths), by_ns);
		for (size_t i = 0; i < s->n; i++)
			by[i] = lengths[i].step;
	} else {
		free(by);
		by = NULL;
	}
	free(lengths);
	return by;
}

/* ---- the middle half ---- */

/* Each step counts four quarters each time; the middle half is n quarters to either side of half of all. */
struct middle {
	uint64_t from, end, at; /* quarters, of 4 n */
};

static struct middle middle_of(size_t n)
{
	return (struct middle){ .from = n, .end = 3 * (uint64_t)n };
}

/* How many of the next step's quarters are in the middle. */
static uint64_t quarters(struct middle *m, uint32_t times)
{
	uint64_t begin = m->at, end = m->at += 4 * (uint64_t)times;

	begin = begin < m->from ? m->from : begin;
	end = end > m->end ? m->end : end;
	return end > begin ? end - begin : 0;
}

void diff_middle(double leaf_ns[DIFF_LEAVES], const struct diff_series *s, const uint32_t *by, const uint32_t *times)
{
	struct middle m = middle_of(s->n);

	memset(leaf_ns, 0, DIFF_LEAVES * sizeof(*leaf_ns));
	for (size_t i = 0; i < s->n && m.at < m.end; i++) {
		uint64_t weight = quarters(&m, times ? times[by[i]] : 1);

		for (size_t leaf = 0; weight && leaf < DIFF_LEAVES; leaf++)
			if (s->leaf[leaf])
				leaf_ns[leaf] += (double)weight * (double)s->leaf[leaf][by[i]];
	}
	for (size_t leaf = 0; leaf < DIFF_LEAVES; leaf++)
		leaf_ns[leaf] /= (double)(m.end - m.from);
}

/* ---- in whole nanoseconds ---- */

/* Sums over the middle half, in quarters of a nanosecond. */
static void exact_sums(__int128 sums[DIFF_LEAVES], const struct diff_series *s, const uint32_t *by)
{
	struct middle m = middle_of(s->n);

	memset(sums, 0, DIFF_LEAVES * sizeof(*sums));
	for (size_t i = 0; i < s->n; i++) {
		uint64_t weight = quarters(&m, 1);

		for (size_t leaf = 0; weight && leaf < DIFF_LEAVES; leaf++)
			if (s->leaf[leaf])
				sums[leaf] += (__int128)weight * s->leaf[leaf][by[i]];
	}
}

/* The means, rounded down, but for those with the largest remainders, so that they sum to the whole's own mean. */
static void share_out_remainders(int64_t leaf_ns[DIFF_LEAVES], const __int128 sums[DIFF_LEAVES], __int128 of)
{
	__int128 left[DIFF_LEAVES], total = 0;
	int64_t missing;

	for (size_t i = 0; i < DIFF_LEAVES; i++) {
		leaf_ns[i] = (int64_t)(sums[i] / of);
		left[i] = sums[i] % of;
		total += left[i];
	}
	for (missing = (int64_t)(total / of); missing > 0; missing--) {
		size_t most = 0;

		for (size_t i = 1; i < DIFF_LEAVES; i++)
			if (left[i] > left[most])
				most = i;
		leaf_ns[most]++;
		left[most] = -1;
	}
}

static void set_rows(int64_t row_ns[DIFF_ROWS], const int64_t leaf_ns[DIFF_LEAVES])
{
	memset(row_ns, 0, DIFF_ROWS * sizeof(*row_ns));
	for (size_t i = 0; i < DIFF_LEAVES; i++) {
		row_ns[ROW_LEAVES + i] = leaf_ns[i];
		row_ns[ROW_STEP] += leaf_ns[i];
		row_ns[ROW_IDLE] += i >= LEAF_CAUSES ? leaf_ns[i] : 0;
	}
}

bool diff_typical_of(struct diff_typical *out, const struct diff_series *s, uint64_t seed)
{
	__int128 sums[DIFF_LEAVES], all = 0;
	int64_t leaf_ns[DIFF_LEAVES];
	uint32_t *by = diff_by_length(s);
	bool ok = by != NULL;

	*out = (struct diff_typical){ .n = s->n };
	if (ok) {
		exact_sums(sums, s, by);
		share_out_remainders(leaf_ns, sums, 2 * (__int128)s->n);
		set_rows(out->row_ns, leaf_ns);
		for (size_t i = 0; i < s->n; i++)
			all += diff_step_ns(s, i);
		out->tail_ns = (int64_t)(all / (__int128)s->n) - out->row_ns[ROW_STEP];
		ok = diff_block_errors(out->error_ns, &out->tail_error_ns, &out->blocks, s, by, seed);
	}
	free(by);
	return ok;
}
