/* SPDX-License-Identifier: BSD-2-Clause */
#include "steps_order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/alloc.h"

#define LEAST_ROW 4 /* launches that are compared at once, of different kinds: several in a row are one … */
#define MOST_ROW 64
#define SPARE_BITS \
	4 /* … twice as many as it takes for one row in 2^4 to come again by chance: what is launched at random has habits, too */
#define LAUNCHES 4096 /* of an iteration */
#define BACK 4        /* iterations ago */
#define SAMPLES 64    /* iterations that are looked at … */
#define RUN 8         /* … so many in a row */

struct rows { /* of an iteration: each few launches in a row as a number, sorted */
	uint64_t at[LAUNCHES];
	size_t n;
};

struct look {
	const struct step_tokens *s;
	size_t row;
	uint32_t ids[LAUNCHES + MOST_ROW];
	struct rows last[BACK + 1]; /* of the last iterations, and the next */
};

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static bool goes_on(const struct step_tokens *s, size_t begin, size_t i)
{
	return i > begin && s->ids[i] == s->ids[i - 1];
}

/* A launch that could be any of eight tells more than one that could be one of two: of the latter it takes more in a row. 0: no memory. */
static size_t row_length(const struct step_tokens *s, size_t begin, size_t end, size_t iterations)
{
	uint32_t *counts = array_new(s->n_about, sizeof(*counts));
	double bits = 0, n = 0, row;

	if (!counts)
		return 0;
	for (size_t i = begin; i < end; i++)
		if (!goes_on(s, begin, i)) {
			counts[s->ids[i]]++;
			n++;
		}
	for (size_t i = 0; i < s->n_about; i++)
		if (counts[i])
			bits -= counts[i] / n * log2(counts[i] / n);
	free(counts);
	row = 2 * ceil((fmax(log2(n / (double)iterations), 0) + SPARE_BITS) / fmax(bits, 0.1));
	return row < LEAST_ROW ? LEAST_ROW : row > MOST_ROW ? MOST_ROW : (size_t)row;
}

/* Rows that begin in [begin, end); the last ones reach beyond. */
static void take(struct look *l, struct rows *rows, size_t begin, size_t end)
{
	size_t n = 0;

	rows->n = 0;
	for (size_t i = begin; i < l->s->n && rows->n < LAUNCHES && n < rows->n + l->row; i++) {
		if (goes_on(l->s, begin, i))
			continue;
		rows->n += i < end;
		l->ids[n++] = l->s->ids[i];
	}
	for (size_t i = 0; i < rows->n; i++) {
		uint64_t h = 0;

		for (size_t k = i; k < i + l->row && k < n; k++)
			h = (h ^ l->ids[k]) * 0x9e3779b97f4a7c15u;
		rows->at[i] = h ^ h >> 32;
	}
	array_sort(rows->at, rows->n, sizeof(rows->at[0]), by_number);
}

/* At least half of either. */
static bool alike(const struct rows *a, const struct rows *b)
{
	size_t i = 0, k = 0, same = 0;

	while (i < a->n && k < b->n) {
		if (a->at[i] == b->at[k]) {
			same++;
			i++;
			k++;
		} else if (a->at[i] < b->at[k]) {
			i++;
		} else {
			k++;
		}
	}
	return same * 2 >= (a->n > b->n ? a->n : b->n);
}

bool order_repeats(bool *out, const struct step_tokens *s, const size_t *at, const uint8_t *is_step, size_t n)
{
	struct look *l = calloc(1, sizeof(*l));
	size_t runs = n > SAMPLES ? SAMPLES / RUN : 1, looked = 0, good = 0, next = 0;
	bool ok = l != NULL;

	*out = false;
	if (l && n > 1) {
		l->s = s;
		l->row = row_length(s, at[0], at[n - 1], n - 1);
		ok = l->row != 0;
	}
	for (size_t r = 0; ok && r < runs; r++) {
		size_t taken = 0;

		for (size_t i = r * (n / runs); i + 1 < n && taken < (runs > 1 ? RUN : n); i++) {
			struct rows *now = &l->last[next % (BACK + 1)];
			bool like = false;

			if (!is_step[i])
				continue;
			take(l, now, at[i], at[i + 1]);
			for (size_t k = 1; k <= BACK && k <= taken; k++)
				like |= alike(now, &l->last[(next - k) % (BACK + 1)]);
			looked += taken > 0;
			good += like;
			next++;
			taken++;
		}
	}
	*out = looked && good * 2 >= looked;
	free(l);
	return ok;
}
