/* SPDX-License-Identifier: BSD-2-Clause */
/* interval.h: sets of instants as sorted, disjoint [begin, end) intervals. A point (begin == end) is kept: it separates
 * what lies before it from what lies after it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct interval {
	int64_t begin_ns, end_ns;
};

struct intervals {
	struct interval *at;
	size_t n, cap;
};

void intervals_free(struct intervals *s);

/* Any order, overlaps allowed, until intervals_merge. end < begin is not added. False: no memory. */
bool intervals_add(struct intervals *s, int64_t begin_ns, int64_t end_ns);
/* Sorts; overlapping and touching ones become one. */
void intervals_merge(struct intervals *s);

/* Of merged sets into an empty one; without points. False: no memory. */
bool intervals_intersect(struct intervals *out, const struct intervals *a, const struct intervals *b);
bool intervals_subtract(struct intervals *out, const struct intervals *a, const struct intervals *b);

/* Of a merged set: the first interval that ends after time_ns. */
size_t intervals_after(const struct intervals *s, int64_t time_ns);

/* Length of a merged set within [begin, end). *from: where to look first, moved on for the next, later question. */
int64_t intervals_within(const struct intervals *s, size_t *from, int64_t begin_ns, int64_t end_ns);
