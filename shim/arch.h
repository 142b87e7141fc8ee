/* SPDX-License-Identifier: BSD-2-Clause */
/* arch.h: all that differs between processors, one header for each (and its dlsym trampoline, arch/dlsym_<arch>.S):
 *
 *   ARCH_TICK_CLOCK        what the file calls the processor's counter
 *   ARCH_TICK_CLOCKSOURCE  the kernel's name for it: it is fit to be a clock where the kernel itself uses it as one
 *   ARCH_MACHINE           what the file calls the processor
 *   ARCH_GLIBC             the version that all of glibc's first functions have there
 *   ARCH_DWARF_FP, _SP, _RA  numbers of the frame pointer, the stack pointer and the return address in debugging tables
 *   ARCH_RA_ON_STACK       the return address always lies on the stack
 *   ARCH_SIGNAL_…          where the kernel has put the registers, from the stack pointer that a signal handler returns with
 *   arch_code_address(a)   a return address without what the processor signs it with
 *   arch_registers(pc, sp, fp)  where we are
 *   arch_ticks()           the counter, unordered: a few instructions may drift across it, which is far below what we resolve
 *   arch_local_add(p, n)   *p += n, returning the old value; atomic against signal handlers of this thread, not against other threads
 *   arch_relax()           between two looks at a word that another thread will change */
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64.h"
#elif defined(__aarch64__)
#include "arch/aarch64.h"
#else
#error "gpushim knows x86-64 and aarch64"
#endif
