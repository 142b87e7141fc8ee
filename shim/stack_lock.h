/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_lock.h: one stack at a time: what the files of stacks keep is that of the thread which has this lock. Nobody sleeps for it: a thread that
 * does not get it goes on without its stack. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* patience: ticks to try for, at least; 0 for a moment. */
bool stack_lock_take(uint64_t patience);
void stack_lock_give(void);

/* In a child after fork: whoever had it is not there. */
void stack_lock_forget(void);
