/* SPDX-License-Identifier: BSD-2-Clause */
/* aarch64: see ../arch.h. */
#pragma once

#include <stdint.h>

#include "../format.h"

#define ARCH_TICK_CLOCK GST_CLOCK_CNTVCT
#define ARCH_TICK_CLOCKSOURCE "arch_sys_counter"
#define ARCH_MACHINE GST_MACHINE_AARCH64
#define ARCH_GLIBC "GLIBC_2.17"

#define ARCH_DWARF_FP 29u
#define ARCH_DWARF_SP 31u
#define ARCH_DWARF_RA 30u
#define ARCH_RA_ON_STACK 0
#define ARCH_SIGNAL_FP (128 + 416) /* struct rt_sigframe: siginfo, then ucontext_t with uc_mcontext.regs[29] … */
#define ARCH_SIGNAL_LR (128 + 424)
#define ARCH_SIGNAL_SP (128 + 432)
#define ARCH_SIGNAL_PC (128 + 440)

static inline uint64_t arch_code_address(uint64_t a)
{
	return a & 0x0000ffffffffffffull; /* above it stands a signature (pointer authentication) */
}

/* Without frame pointers x29 may be one of the registers that are written: it is read first. */
static inline __attribute__((always_inline)) void arch_registers(uint64_t *pc, uint64_t *sp, uint64_t *fp)
{
	__asm__ volatile("mov %2, x29\n\tadr %0, .\n\tmov %1, sp" : "=&r"(*pc), "=&r"(*sp), "=&r"(*fp));
}

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
