/* SPDX-License-Identifier: BSD-2-Clause */
/* short_slices.h: turns that come soon, for a thread that runs rarely and briefly. */
#ifndef GPUSHIM_SHORT_SLICES_H
#define GPUSHIM_SHORT_SLICES_H

#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Asks for time slices of 0.1 ms, the shortest there are, for the calling thread, if its policy is the ordinary one. The scheduler of Linux
 * 6.12 and later (EEVDF) lets it in the sooner before threads that compute; without that a wake-up on a full machine waits out somebody's
 * 3 ms. Older ones take no notice. errno may change. */
static inline void short_slices(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} a;

	if (syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) != 0 || a.policy != SCHED_OTHER)
		return;
	a.size = sizeof(a);
	a.runtime = 100000;
	syscall(SYS_sched_setattr, 0, &a, 0);
}

#endif
