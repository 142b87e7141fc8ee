/* SPDX-License-Identifier: BSD-2-Clause */
/* aarch64: see ../arch.h. */
#pragma once

#include <stdint.h>

#include "../format.h"

#define ARCH_TICK_CLOCK GST_CLOCK_CNTVCT
#define ARCH_TICK_CLOCKSOURCE "arch_sys_counter"
#define ARCH_MACHINE GST_MACHINE_AARCH64
#define ARCH_GLIBC "GLIBC_2.17"

static inline uint64_t arch_ticks(void)
{
	uint64_t t;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	return t;
}

static inline uint32_t arch_local_add(uint32_t *p, uint32_t n)
{
	uint32_t old;

	__atomic_signal_fence(
		__ATOMIC_SEQ_CST); /* the compiler moves nothing across: a signal handler adds here, too */
	old = __atomic_fetch_add(p, n, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return old;
}

static inline void arch_relax(void)
{
	__asm__ volatile("yield");
}
