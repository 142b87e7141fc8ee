/* SPDX-License-Identifier: BSD-2-Clause */
#include "futex_owner.h"

#include <linux/futex.h>

#include "peek.h"

/* As every pthread_mutex_t of glibc begins, on all 64-bit machines; the futex is the first word. */
struct mutex {
	uint32_t lock;
	uint32_t count;
	uint32_t owner;
};

#define TAKEN_AND_WAITED_FOR 2

uint32_t futex_owner(uint64_t word)
{
	struct mutex m;

	if (!word || !peek(&m, (const void *)(uintptr_t)word, sizeof(m)))
		return 0;
	/* a robust one, or one with priority inheritance, has its owner in the lock as well */
	if (m.lock == TAKEN_AND_WAITED_FOR || (m.lock & FUTEX_TID_MASK) == m.owner)
		return m.owner;
	return 0;
}
