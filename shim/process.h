/* SPDX-License-Identifier: BSD-2-Clause */
/* process.h: when recording starts and ends: the constructor (which opens and allocates nothing), the first driver call,
 * fork, exit. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Points into a page that the kernel wipes in children of fork, raw clone and _Fork alike (MADV_WIPEONFORK): there it reads 0,
 * no thread's generation matches, and the child's first driver call starts a file of its own. */
extern uint32_t *process_generation;

/* False: it is known to be off, impossible, or to be tried again later; then this call is counted as missed. */
bool process_may_arm(void);

/* Makes recording possible for the calling thread: creates the file at the first driver call of the process. False: never. */
bool process_arm(void);
