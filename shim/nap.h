/* SPDX-License-Identifier: BSD-2-Clause */
/* nap.h: waiting for another thread of ours, which is at it for a few instructions or one call of the driver. Never by spinning or
 * yielding alone: it may have lost its CPU to this very thread, if this is a real-time thread, for as long as that runs (100 ms and more). */
#pragma once

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "arch.h"

#define NAP_AFTER 100
#define NAP_NS 20000

/* Call it with 0, 1, 2 … between two looks. A system call as such: libc's is a place to be cancelled, also in fork()'s handlers. errno stays. */
static inline void nap(unsigned n)
{
	const struct timespec t = { 0, NAP_NS };
	int saved_errno = errno;

	if (n < NAP_AFTER)
		arch_relax();
	else
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, NULL);
	errno = saved_errno;
}
