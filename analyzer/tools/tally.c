/* SPDX-License-Identifier: BSD-2-Clause */
#include "tally.h"

#include "alloc.h"

#include <stdlib.h>

bool tally_add_first(struct tally *t, int64_t ns)
{
	if ((uint64_t)ns >= TALLY_SHORT) {
		if (!array_room(t->others, t->n_others, t->cap_others))
			return false;
		t->others[t->n_others++] = ns;
	} else {
		t->counts = t->counts ? t->counts : array_new(TALLY_SHORT, sizeof(*t->counts));
		if (!t->counts)
			return false;
		t->counts[ns]++;
	}
	t->n++;
	return true;
}

/* The k-th, from 0; the others are sorted: those below 0 come first, then what was counted. */
static int64_t at(const struct tally *t, size_t k)
{
	size_t below = 0, counted = t->n - t->n_others;
	uint32_t ns = 0;

	while (below < t->n_others && t->others[below] < 0)
		below++;
	if (k < below)
		return t->others[k];
	if (k - below >= counted)
		return t->others[k - counted];
	for (k -= below; k >= t->counts[ns]; ns++)
		k -= t->counts[ns];
	return ns;
}

int64_t tally_median(struct tally *t)
{
	int64_t two[2];

	if (!t->n)
		return 0;
	array_sort(t->others, t->n_others, sizeof(*t->others), array_by_int64);
	two[0] = at(t, (t->n - 1) / 2);
	two[1] = at(t, t->n / 2);
	return array_median(two, 2);
}

void tally_free(struct tally *t)
{
	free(t->counts);
	free(t->others);
	*t = (struct tally){ 0 };
}
