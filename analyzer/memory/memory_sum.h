/* SPDX-License-Identifier: BSD-2-Clause */
/* memory_sum.h: what all processes together use of one device, kept up change by change: sums, and of the largest free pieces the largest, for
 * the logarithm of their number. */
#pragma once

#include "memory_process.h"

struct memory_sum {
	struct memory_use all;
	struct memory_use *of;           /* of each */
	size_t n, cap;
	uint64_t *largest;               /* a tournament: [1] the largest of all, [i] of [2i] and [2i + 1], the n leaves from [cap_leaves] on */
	size_t cap_leaves;
	bool as_one; /* how what is free lies nobody says: it is taken for one piece */
};

/* One more that uses the device. SIZE_MAX: no memory. */
size_t memory_sum_join(struct memory_sum *s);
void memory_sum_set(struct memory_sum *s, size_t which, const struct memory_use *use);
void memory_sum_free(struct memory_sum *s);
