/* SPDX-License-Identifier: BSD-2-Clause */
/* random.h: numbers that a program's own rhythm does not know. xorshift32 (G. Marsaglia, "Xorshift RNGs", 2003). */
#pragma once

#include <stdint.h>

/* Never 0, nor may the state be, which is the thread's own. */
static inline uint32_t random_next(uint32_t *state)
{
	uint32_t x = *state;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return *state = x;
}
