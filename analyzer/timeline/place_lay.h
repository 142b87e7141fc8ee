/* SPDX-License-Identifier: BSD-2-Clause */
/* place_lay.h: where in a known stretch its ops are drawn, and how far gaps let them. */
#pragma once

#include "timeline.h"

/* What place_lay does, one after the other. */
struct place_laying {
	double total, before, length;
	int64_t begin_ns, end_ns, at_ns;
};

struct place_laying place_lay_begin(const struct op *ops, size_t n, int64_t begin_ns, int64_t end_ns);
/* Where the next one begins, of count operations like this op's, whose call began at called_ns. */
int64_t place_lay_next(struct place_laying *l, int64_t called_ns, const struct op *op, uint32_t count);

/* Lays ops[0..n) end to end over [begin, end): a share each by weight, but none before its own call. */
void place_lay(struct op *ops, size_t n, int64_t begin_ns, int64_t end_ns);

/* Cuts an op down to its longest part outside the gaps; one that lies wholly inside a gap shrinks to the gap's nearer end. *near: the gap
 * that was asked for last, from 0. */
void place_leave_gaps(struct op *op, const struct device_timeline *out, size_t *near);
/* Would that change none of those that lie in [begin, end)? */
bool place_is_free(const struct device_timeline *out, int64_t begin_ns, int64_t end_ns, size_t *near);
