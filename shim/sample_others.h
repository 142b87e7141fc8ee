/* SPDX-License-Identifier: BSD-2-Clause */
/* sample_others.h: the process's other threads, at the moment in which one was found waiting for another of them (a futex): who runs may hold
 * the lock, who reads from a pipe may be who hands on what is waited for. Some of them at a time: a process may have thousands. */
#pragma once

#include <stdint.h>

#define SAMPLE_OTHERS_MAX 8 /* looked at, each time: that takes some 30 us */

/* Their ids, at most so many, without ours and `waiting`: those that were noted first, then the others in turn. The thread's alone that looks. */
unsigned sample_others(uint32_t waiting, uint32_t tids[SAMPLE_OTHERS_MAX]);

/* It was found at something that says who is waited for: it is asked first the next time. */
void sample_others_note(uint32_t tid);

/* After fork, in the child. */
void sample_others_forget(void);
