/* SPDX-License-Identifier: BSD-2-Clause */
/* x86-64: see ../arch.h. */
#pragma once

#include <stdint.h>
#include <x86intrin.h>

#include "../format.h"

#define ARCH_TICK_CLOCK GST_CLOCK_TSC
#define ARCH_TICK_CLOCKSOURCE "tsc"
#define ARCH_MACHINE GST_MACHINE_X86_64
#define ARCH_GLIBC "GLIBC_2.2.5"

static inline uint64_t arch_ticks(void)
{
	return __rdtsc();
}

static inline uint32_t arch_local_add(uint32_t *p, uint32_t n)
{
	__asm__ volatile("xaddl %0, %1" : "+r"(n), "+m"(*p) : : "memory", "cc"); /* no LOCK: 1.3 ns instead of 5 */
	return n;
}

static inline void arch_relax(void)
{
	_mm_pause();
}
