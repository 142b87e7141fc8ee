/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks_fit.h: how far one clock is from another, and how fast that changes, from instants that both know about and some of which are
 * wrong. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fit_point {
	int64_t at_ns;   /* on its own clock */
	int64_t away_ns; /* … from there to the other clock */
};

struct fit {
	int64_t at_ns, offset_ns; /* away(t) = offset + drift * (t - at) */
	double drift;
};

#define FIT_LEAST 8 /* points; fewer say nothing */

/* Sorts the points by time. False: no memory. Needs FIT_LEAST of them. */
bool fit_line(struct fit *out, struct fit_point *points, size_t n);
int64_t fit_away(const struct fit *f, int64_t at_ns);

/* The one below or at which `percent` of the n values are, which are sorted by that. 0 of none. */
int64_t fit_percentile(int64_t *values, size_t n, unsigned percent);
