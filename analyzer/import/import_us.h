/* SPDX-License-Identifier: BSD-2-Clause */
/* import_us.h: decimal microseconds, as traces write times, to nanoseconds without a double in between.
 *
 * What is finer than a nanosecond is kept, up to 12 decimals, until a begin or an end is asked for: each of them is rounded once, half up (towards
 * the future). So an event that ends where another begins still does so. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMPORT_US_REST 1000000000u
#define IMPORT_US_MAX (INT64_MAX / 4) /* ns either way: two of them can be added */

struct import_us {
	int64_t ns;    /* rounded down */
	uint32_t rest; /* of 1e-9 ns, below IMPORT_US_REST */
};

/* [-]digits[.digits][e[+-]digits]; false: it is none, or out of range. */
bool import_us_read(struct import_us *out, const char *at, size_t bytes);

static inline int64_t import_us_ns(struct import_us t)
{
	return t.ns + (t.rest >= IMPORT_US_REST / 2);
}

static inline struct import_us import_us_add(struct import_us a, struct import_us b)
{
	uint32_t rest = a.rest + b.rest;

	return (struct import_us){ a.ns + b.ns + (rest >= IMPORT_US_REST), rest % IMPORT_US_REST };
}
