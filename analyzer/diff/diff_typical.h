/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_typical.h: the typical step of a run: the mean of the middle half of its steps by length (the interquartile mean).
 *
 * A median of each row for itself would not sum: what a step takes must be what its parts take. So the same steps are chosen for every row,
 * those that lie between the quartiles of the length, and each row is its mean over them. Like a median it does not see the few steps that take
 * much longer, and for what is distributed normally it is nearly as sharp as the mean (its variance is 1.2 times that; the median's 1.57).
 * What long steps add to the mean is said apart (`tail`). */
#pragma once

#include <stdbool.h>

#include "diff_rows.h"

struct diff_typical {
	int64_t row_ns[DIFF_ROWS]; /* leaves sum to step, causes to idle, exactly */
	double error_ns[DIFF_ROWS]; /* standard error, from blocks of the run's own steps (diff_blocks.h) */
	int64_t tail_ns; /* of a step: the mean less the typical one */
	double tail_error_ns; /* … and its standard error */
	size_t n;        /* steps */
	size_t blocks;   /* so many are as good as independent */
};

/* The middle half of n steps by length, where each step is four quarters. It begins within one step and ends within one. */
struct diff_middle {
	size_t first, last;           /* these: the same one where there are few */
	uint64_t in_first, in_last;   /* quarters of them that are in it, 2 n of all; the last's are 0 where it is the first */
};

/* times: how often each counts, by length, n in all; NULL: once. */
struct diff_middle diff_middle_of(size_t n, const uint32_t *times);

/* Of at least one step. The same seed gives the same errors. False: no memory. */
bool diff_typical_of(struct diff_typical *out, const struct diff_series *s, uint64_t seed);
