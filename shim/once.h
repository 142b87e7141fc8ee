/* SPDX-License-Identifier: BSD-2-Clause */
/* once.h: something done once a process, by whichever thread comes first, that a fork in the middle does not wedge: the
 * owner is a thread id, and an owner of another process is nobody. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nap.h"

struct once {
	uint64_t owner; /* pid << 32 | tid of the thread at work; 0 nobody */
	uint32_t done;
};

static inline bool once_is_done(const struct once *o)
{
	return __atomic_load_n(&o->done, __ATOMIC_ACQUIRE);
}

/* True: it is yours to do, then call once_end. False: it is done, or this very thread is in the middle of it. */
static inline bool once_begin(struct once *o)
{
	uint64_t pid = (uint64_t)getpid(), me = pid << 32 | (uint32_t)syscall(SYS_gettid), owner = 0;
	unsigned naps = 0;

	while (!once_is_done(o)) {
		if (__atomic_compare_exchange_n(&o->owner, &owner, me, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			if (!once_is_done(o))
				return true;
			__atomic_store_n(&o->owner, 0, __ATOMIC_RELEASE);
			return false;
		}
		if (owner == me)
			return false;
		if (owner >> 32 == pid) {
			owner = 0;
			nap(naps++);
		}
		/* else: a parent's thread that does not exist here; take it over */
	}
	return false;
}

static inline void once_end(struct once *o, bool done)
{
	__atomic_store_n(&o->done, done, __ATOMIC_RELEASE);
	__atomic_store_n(&o->owner, 0, __ATOMIC_RELEASE);
}
