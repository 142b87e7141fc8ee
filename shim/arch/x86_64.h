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

#define ARCH_DWARF_FP 6u
#define ARCH_DWARF_SP 7u
#define ARCH_DWARF_RA 16u
#define ARCH_RA_ON_STACK 1
#define ARCH_SIGNAL_FP 120 /* ucontext_t: uc_mcontext.gregs[REG_RBP] … */
#define ARCH_SIGNAL_LR 0   /* has none */
#define ARCH_SIGNAL_SP 160
#define ARCH_SIGNAL_PC 168

static inline uint64_t arch_code_address(uint64_t a)
{
	return a;
}

/* Without frame pointers %rbp may be one of the registers that are written: it is read first. */
static inline __attribute__((always_inline)) void arch_registers(uint64_t *pc, uint64_t *sp, uint64_t *fp)
{
	__asm__ volatile("movq %%rbp, %2\n\tleaq 0(%%rip), %0\n\tmovq %%rsp, %1" : "=&r"(*pc), "=&r"(*sp), "=&r"(*fp));
}

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
