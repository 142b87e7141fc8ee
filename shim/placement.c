/* SPDX-License-Identifier: BSD-2-Clause */
#include "placement.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
	unsigned long cpus[8192 / 8 / sizeof(unsigned long)]; /* more than Linux can be built for */
	long cpus_bytes;                                      /* that the kernel filled in; <= 0 unknown */
	int nice;
} given;

void placement_note(void)
{
	int saved_errno = errno;

	given.cpus_bytes = syscall(SYS_sched_getaffinity, 0, sizeof(given.cpus), given.cpus);
	given.nice = getpriority(PRIO_PROCESS, 0);
	errno = saved_errno;
}

void placement_take(void)
{
	struct sched_param none = { 0 };
	int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;

	if (policy != SCHED_OTHER)
		sched_setscheduler(0, SCHED_OTHER, &none);
	if (given.cpus_bytes > 0)
		syscall(SYS_sched_setaffinity, 0, (size_t)given.cpus_bytes, given.cpus);
	if (getpriority(PRIO_PROCESS, 0) != given.nice)
		setpriority(PRIO_PROCESS, 0, given.nice);
	syscall(SYS_set_mempolicy, 0 /* MPOL_DEFAULT */, NULL, 0ul);
}
