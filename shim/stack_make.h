/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_make.h: one stack from a thread's registers to its record: native frames and Python's in one list, each list written once and known
 * by its number from then on. There is room for one in the making: who calls sees to it that nobody else does (stack.c's lock). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ring;
struct stack_registers;
struct stack_still;

/* The stack's number; 0: it has no frames, or no room. from NULL: where the native frames begin is not known. other NULL: the thread `tid` is
 * the caller; else it is another one, which may have gone on from where it was: then its native frames are left out. */
uint32_t stack_make(struct ring *r, const struct stack_registers *from, uint32_t tid, const struct stack_still *other,
		    unsigned *n_frames);

/* Likewise: who has the interpreter's lock that is waited for at that futex; 0 not known. */
uint32_t stack_make_holder(uint64_t futex);

/* By anybody, at any time: how many were written; the Python that was seen, as in GST_STACK_COST. */
uint64_t stack_make_told(void);
uint32_t stack_make_python(void);

void stack_make_forget(void);
