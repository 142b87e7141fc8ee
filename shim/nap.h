/* SPDX-License-Identifier: BSD-2-Clause */
/* nap.h: waiting for another thread of ours, which is at it for a few instructions or one call of the driver. Never by spinning or
 * yielding alone: it may have lost its CPU to this very thread, if this is a real-time thread, for as long as that runs (100 ms and more). */
#pragma once

#include <time.h>

#include "arch.h"

#define NAP_AFTER 100
#define NAP_NS 20000

/* Call it with 0, 1, 2 … between two looks. */
static inline void nap(unsigned n)
{
	struct timespec t = { 0, NAP_NS };

	if (n < NAP_AFTER)
		arch_relax();
	else
		nanosleep(&t, NULL);
}
