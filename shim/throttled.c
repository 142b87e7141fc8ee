/* SPDX-License-Identifier: BSD-2-Clause */
#include "throttled.h"

#include "cgroup_cpu.h"
#include "clock.h"

#define AGAIN_NS 2000000000u /* a group may be given a quota, or the process be put into another group */

static struct cgroup_cpu group;
static uint64_t found_ns; /* 0 never */

uint64_t throttled_so_far(void)
{
	uint64_t now = clock_mono_ns();
	struct cgroup_throttled t;

	if (!found_ns || now - found_ns > AGAIN_NS) {
		cgroup_cpu_find(&group, CGROUP_OWN);
		found_ns = now;
	}
	return group.quota && cgroup_cpu_read(&group, &t) ? t.ns + 1 : 0;
}

void throttled_forget(void)
{
	found_ns = 0;
}
