/* SPDX-License-Identifier: BSD-2-Clause */
/* sample_others.h: the process's other threads, at the moment in which one was found waiting for another of them (a futex): who runs may hold
 * the lock, who waits for data may be who hands on what is waited for. Some of them at a time: a process may have thousands.
 * The thread's alone that looks. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SAMPLE_OTHERS_MAX 8 /* looked at, each time: that takes some 30 us */

/* Their ids, at most so many, without ours, `waiting`, and those that are in a driver call: they wait for their device, however they do
 * that. Those that told something the last time are first, then the others in turn. */
unsigned sample_others(uint32_t waiting, uint32_t tids[SAMPLE_OTHERS_MAX]);

/* It was found at something that says who is waited for, or not: whether it is asked first the next time. */
void sample_others_note(uint32_t tid, bool told);

/* Is it the driver's own, or NCCL's? They compute and wait for what is theirs. */
bool sample_others_is_a_librarys(uint32_t tid);

/* Was it, at this look (now), or one since then, found to have run since the look before? A thread that never runs hands nothing on, though
 * it stands at a socket; nor does one that runs only because its poll comes back after idle_ticks (0 it never does), to go on waiting. False
 * as well where it was never looked at before, and where the kernel does not count. */
bool sample_others_ran(uint32_t tid, uint64_t idle_ticks, uint64_t since, uint64_t now);

/* After fork, in the child. */
void sample_others_forget(void);
