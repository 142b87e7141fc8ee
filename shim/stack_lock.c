/* SPDX-License-Identifier: BSD-2-Clause */
#include "stack_lock.h"

#include "arch.h"
#include "clock.h"
#include "sanitizer.h"

#define TRIES 200

static uint32_t lock;

static bool try(void)
{
	return !__atomic_load_n(&lock, __ATOMIC_RELAXED) && !__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE);
}

bool stack_lock_take(uint64_t patience)
{
	uint64_t begin = patience ? clock_ticks() : 0;

	for (unsigned i = 0; i < TRIES || (patience && clock_ticks() - begin < patience); i++) {
		if (try()) {
			sanitizer_taken(&lock);
			return true;
		}
		arch_relax();
	}
	return false;
}

void stack_lock_give(void)
{
	sanitizer_giving(&lock);
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

void stack_lock_forget(void)
{
	lock = 0;
}
