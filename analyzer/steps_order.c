/* SPDX-License-Identifier: BSD-2-Clause */
#include "steps_order.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"

#define IN_A_ROW 4    /* launches that are compared at once */
#define LAUNCHES 4096 /* of an iteration */
#define BACK 4        /* iterations ago */
#define SAMPLES 64    /* iterations that are looked at … */
#define RUN 8         /* … so many in a row */

struct grams { /* of an iteration: each few launches in a row as a number, sorted */
	uint64_t at[LAUNCHES];
	size_t n;
};

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void take(struct grams *g, const struct step_tokens *s, size_t begin, size_t end)
{
	g->n = 0;
	for (size_t i = begin; i < end && g->n < LAUNCHES; i++) {
		uint64_t h = 0;

		for (size_t k = 0; k < IN_A_ROW && i + k < s->n; k++)
			h = (h ^ s->ids[i + k]) * 0x9e3779b97f4a7c15u;
		g->at[g->n++] = h ^ h >> 32;
	}
	array_sort(g->at, g->n, sizeof(g->at[0]), by_number);
}

/* At least half of either. */
static bool alike(const struct grams *a, const struct grams *b)
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

struct rows { /* the last BACK iterations, and the next */
	struct grams at[BACK + 1];
};

bool order_repeats(bool *out, const struct step_tokens *s, const size_t *at, const uint8_t *is_step, size_t n)
{
	struct rows *rows = calloc(1, sizeof(*rows));
	size_t looked = 0, good = 0, row = 0, runs = n > SAMPLES ? SAMPLES / RUN : 1, apart = n / runs;

	*out = false;
	for (size_t r = 0; rows && r < runs; r++) {
		size_t first = r * apart, taken = 0;

		for (size_t i = first; i + 1 < n && taken < (runs > 1 ? RUN : n); i++) {
			bool like = false;

			if (!is_step[i])
				continue;
			take(&rows->at[row % (BACK + 1)], s, at[i], at[i + 1]);
			for (size_t k = 1; k <= BACK && k <= taken; k++)
				like |= alike(&rows->at[row % (BACK + 1)], &rows->at[(row - k) % (BACK + 1)]);
			looked += taken > 0;
			good += like;
			row++;
			taken++;
		}
	}
	*out = looked && good * 2 >= looked;
	free(rows);
	return rows != NULL;
}
