/* SPDX-License-Identifier: BSD-2-Clause */
/* ns.h: arithmetic of instants and durations, all int64_t nanoseconds. */
#pragma once

#include <stdint.h>

static inline int64_t max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static inline int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static inline int64_t clamp64(int64_t x, int64_t low, int64_t high)
{
	return max64(low, min64(x, high));
}

/* For totals over processes, devices or records, of which a hostile trace may have any number: they stay at the end of the range. */
static inline int64_t sum64(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? a < 0 ? INT64_MIN : INT64_MAX : sum;
}

static inline int64_t middle64(int64_t low, int64_t high)
{
	return low + (high - low) / 2;
}
