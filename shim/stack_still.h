/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_still.h: what another thread is at, and whether it has stood still since: its stack is read in several pieces, and means something only
 * as that of one moment. A thread of ours asks: it opens files. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct stack_still {
	uint32_t tid;
	uint64_t sp, pc; /* of one that is blocked in a system call, or elsewhere in the kernel; 0 not known: it runs */
	char text[256];  /* /proc/self/task/<tid>/syscall: "running", or "-1 sp pc", or "nr a0 … a5 sp pc"; "" not to be had */
	char ran[64];    /* …/schedstat: for how long it has run, and how often it began to; "" the kernel does not count */
};

void stack_still_look(struct stack_still *s, uint32_t tid);
/* Its text alone, for half the price: nothing can be said later of whether it stood. */
void stack_still_glance(struct stack_still *s, uint32_t tid);

/* It stands where it did, and, where the kernel counts, has not run in between: it could be back at the same call, called from elsewhere. */
bool stack_still_stands(const struct stack_still *s);
