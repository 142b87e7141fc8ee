/* SPDX-License-Identifier: BSD-2-Clause */
/* bias.h: counters that mostly one thread adds to.
 *
 * An atomic add waits until every store before it has left the processor, and those are stores into pages of a file: 10 ns and more,
 * twice a launch. So the thread that counts first owns the counters and adds with plain loads and stores. When another thread
 * comes along, ownership ends for good, and everybody adds atomically.
 *
 * The owner says that it is about to count, then looks whether it is still the owner; who ends the ownership says so, then
 * looks whether the owner is counting. The fence that this takes is on the second one's side alone: membarrier(2). (Biased locking;
 * Dice, Huang, Yang, "Asymmetric Dekker Synchronization", 2001.) Where the kernel has no membarrier, nobody ever owns. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct thread_slot;

struct bias { /* all zero: nobody has counted yet */
	uintptr_t owner;
};

/* Once in the constructor, while the process has one thread (later the kernel takes 10 ms for it), and in each child of a fork. */
void bias_start(void);

/* Every thread of the process has passed a full fence when this returns; the price is an interrupt to each that is running. */
void bias_fence(void);

/* Is this thread, inside its bias_begin, the owner? Who is none ends the ownership. */
bool bias_take(struct bias *b, struct thread_slot *me);

/* Threads other than the owner do not see its additions in the order of their own actions, unless they bias_fence(). */
bool bias_is_others(const struct bias *b, const struct thread_slot *me);
/* Has nobody but this thread counted? False also where that is not known. */
bool bias_is_own(const struct bias *b, const struct thread_slot *me);
