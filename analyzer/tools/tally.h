/* SPDX-License-Identifier: BSD-2-Clause */
/* tally.h: the median of very many durations, most of them short: these are counted by their length, so that nothing is sorted and hardly
 * anything kept. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TALLY_SHORT 16384 /* ns: shorter ones are counted */

struct tally { /* zeroed: of none */
	uint32_t *counts;                /* by length; NULL none yet */
	int64_t *others; size_t n_others, cap_others; /* and whatever else, as it came */
	size_t n;
};

bool tally_add_first(struct tally *t, int64_t ns);

/* False: no memory. */
static inline bool tally_add(struct tally *t, int64_t ns)
{
	if (!t->counts || (uint64_t)ns >= TALLY_SHORT)
		return tally_add_first(t, ns);
	t->counts[ns]++;
	t->n++;
	return true;
}

/* As array_median has it: of an even number the middle of the two there, 0 of none. */
int64_t tally_median(struct tally *t);
void tally_free(struct tally *t);
