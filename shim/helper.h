/* SPDX-License-Identifier: BSD-2-Clause */
/* helper.h: the first of our threads. It reads edges that have fired, asks streams that fell silent whether they are done, has looked at what
 * silent threads do, and keeps the clock anchored. It never puts work into a stream. */
#pragma once

#include "thread.h"

/* What it takes to have the helper's attention. */
enum helper_bell {
	HELPER_AWAKE = 0,  /* nothing: it looks by itself (or there is none to be had) */
	HELPER_RESTS = 1,  /* a blocking call's return is worth a ring, work is not */
	HELPER_ASLEEP = 2, /* both are */
	HELPER_NONE = 3,   /* not started: the first work for a device starts it */
};
extern uint32_t helper_bell;

void helper_ring(void);  /* wakes it, if it sleeps */
void helper_start(void); /* starts it if it was not yet, else wakes it */

/* A blocking call has returned: what the thread does next is worth a look. */
static inline void helper_wake(void)
{
	uint32_t bell = __atomic_load_n(&helper_bell, __ATOMIC_RELAXED);

	if (bell == HELPER_RESTS || bell == HELPER_ASLEEP)
		helper_ring();
}

/* Work was put into a stream. */
static inline void helper_watch(void)
{
	if (__builtin_expect(__atomic_load_n(&helper_bell, __ATOMIC_RELAXED) >= HELPER_ASLEEP, 0))
		helper_start();
}

/* At exit: stops it, and reads what it has not read yet. */
void helper_stop(void);

/* The context is gone. Gate closed. */
void helper_context_gone(uint64_t context);

void helper_forget(void);
