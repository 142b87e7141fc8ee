/* SPDX-License-Identifier: BSD-2-Clause */
#include "throttled.h"

#include <stdbool.h>
#include <unistd.h>

#include "cgroup_cpu.h"

static struct cgroup_cpu group;
static bool known;

uint64_t throttled_ns(void)
{
	struct cgroup_throttled t;

	if (!known)
		cgroup_cpu_find(&group, (uint32_t)getpid());
	known = true;
	return group.quota && cgroup_cpu_read(&group, &t) ? t.ns : 0;
}

void throttled_forget(void)
{
	known = false;
}
