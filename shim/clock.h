/* SPDX-License-Identifier: BSD-2-Clause */
/* clock.h: ticks, and what they are in CLOCK_MONOTONIC. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "arch.h"

extern enum gst_clock clock_kind; /* decided by clock_choose; GST_CLOCK_MONOTONIC until then */

static inline uint64_t clock_mono_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t clock_ticks(void)
{
	return __builtin_expect(clock_kind == ARCH_TICK_CLOCK, 1) ? arch_ticks() : clock_mono_ns();
}

/* The processor's counter where the kernel itself uses it as its clock, else CLOCK_MONOTONIC. Once, before the first tick. */
void clock_choose(void);

/* The same, by whoever comes first: the thread that makes the file, or one whose program says something through NVTX before. */
void clock_choose_once(void);
bool clock_is_chosen(void);

struct clock_anchor {
	uint64_t ticks, mono_ns;
	uint32_t width_ticks;
};

/* The tightest of a few pairs of reads. */
struct clock_anchor clock_anchor_now(void);

/* The largest power of two, in ticks, that takes no longer than ns nanoseconds; at least 1. Instants that need not be known better are multiples of
 * it: so an archive has less noise to keep. */
uint64_t clock_grain(uint64_t ns);

/* The last multiple of a power of two that is no more. */
static inline uint64_t clock_floor(uint64_t value, uint64_t grain)
{
	return value & ~(grain - 1);
}

/* Ticks in ns nanoseconds, from the anchors taken so far; good to a few percent, for time-outs only. */
uint64_t clock_ticks_in(uint64_t ns);
