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

/* From then, which a file says and which may be any number, until ns, which is not negative; 0 where it is later. */
static inline int64_t since64(int64_t ns, uint64_t then)
{
	return then < (uint64_t)ns ? ns - (int64_t)then : 0;
}

static inline int64_t middle64(int64_t low, int64_t high)
{
	return low + (high - low) / 2;
}
