/* SPDX-License-Identifier: BSD-2-Clause */
/* stacks_plugin.h: three functions that call each other and then what they are given: in libraries of different kinds (tests/workloads/build.mk). */
#pragma once

#define STACKS_FUNCTION __attribute__((noinline, noclone, visibility("default"))) void
#define STACKS_BEHIND __asm__ volatile("" : : : "memory") /* something is left to do: no jump in place of the call */

STACKS_FUNCTION plugin_inner(void (*f)(void));
STACKS_FUNCTION plugin_middle(void (*f)(void));
STACKS_FUNCTION plugin_outer(void (*f)(void));

STACKS_FUNCTION plugin_inner(void (*f)(void))
{
#if defined(STACKS_NO_POINTER) && defined(__x86_64__)
	__asm__ volatile("movq $4242, %%rbp" : : : "rbp"); /* whoever follows frame pointers ends here */
#elif defined(STACKS_NO_POINTER)
	__asm__ volatile("mov x29, 4242" : : : "x29");
#endif
	f();
	STACKS_BEHIND;
}

STACKS_FUNCTION plugin_middle(void (*f)(void))
{
	char room[100];

	__asm__ volatile("" : : "r"(room) : "memory");
	plugin_inner(f);
	STACKS_BEHIND;
}

STACKS_FUNCTION plugin_outer(void (*f)(void))
{
	plugin_middle(f);
	STACKS_BEHIND;
}
