/* SPDX-License-Identifier: BSD-2-Clause */
#include "diff_typical.h"

#include <stdlib.h>
#include <string.h>

#include "diff_blocks.h"
#include "tools/alloc.h"

struct length {
	int64_t ns;
	uint32_t step;
};

static int by_ns(const void *a, const void *b)
{
	const struct length *x = a, *y = b;

	return (x->ns > y->ns) - (x->ns < y->ns);
}

/* The steps by length, the shortest first; equals in their order. The caller frees it; NULL: no memory. */
static uint32_t *by_length(const struct diff_series *s)
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

struct diff_middle diff_middle_of(size_t n, const uint32_t *times)
{
	struct diff_middle m = { 0 };
	uint64_t from = n, until = 3 * (uint64_t)n, end = 0;

	while ((end += 4 * (uint64_t)(times ? times[m.first] : 1)) <= from)
		m.first++;
	m.last = m.first;
	m.in_first = (end < until ? end : until) - from;
	while (end < until) {
		m.last++;
		m.in_last = 4 * (uint64_t)(times ? times[m.last] : 1);
		end += m.in_last;
	}
	m.in_last -= m.last > m.first ? end - until : 0;
	return m;
}

/* ---- in whole nanoseconds ---- */

/* Sums over the middle half, in quarters of a nanosecond. */
static void exact_sums(__int128 sums[DIFF_LEAVES], const struct diff_series *s, const uint32_t *by)
{
	struct diff_middle m = diff_middle_of(s->n, NULL);

	memset(sums, 0, DIFF_LEAVES * sizeof(*sums));
	for (size_t i = m.first; i <= m.last; i++) {
		uint64_t weight = i == m.first ? m.in_first : i == m.last ? m.in_last : 4;

		for (size_t leaf = 0; leaf < DIFF_LEAVES; leaf++)
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

bool diff_typical_of(struct diff_typical *out, const struct diff_series *s, uint64_t seed)
{
	__int128 sums[DIFF_LEAVES], all = 0;
	uint32_t *by = by_length(s);
	bool ok = by != NULL;

	*out = (struct diff_typical){ .n = s->n };
	if (ok) {
		exact_sums(sums, s, by);
		share_out_remainders(out->row_ns + ROW_LEAVES, sums, 2 * (__int128)s->n);
		diff_rows_sum(out->row_ns);
		for (size_t i = 0; i < s->n; i++)
			all += diff_step_ns(s, i);
		out->tail_ns = (int64_t)(all / (__int128)s->n) - out->row_ns[ROW_STEP];
		ok = diff_block_errors(out->error_ns, &out->tail_error_ns, &out->blocks, s, by, seed);
	}
	free(by);
	return ok;
}
