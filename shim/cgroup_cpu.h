/* SPDX-License-Identifier: BSD-2-Clause */
/* cgroup_cpu.h: a process's control group for CPU time, version 1 or 2: its quota and how often that was used up. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "cgroup.h"

struct cgroup_cpu {
	char dir[PATH_MAX]; /* of the nearest one that has a quota; else its own; "" not found */
	bool quota;
};

struct cgroup_throttled {
	uint64_t ns, periods;
};

/* pid: CGROUP_OWN is the calling process. False: there is none, or it is not to be seen from here. */
bool cgroup_cpu_find(struct cgroup_cpu *g, uint32_t pid);
bool cgroup_cpu_read(const struct cgroup_cpu *g, struct cgroup_throttled *t);
/* What a cpu.stat says. */
bool cgroup_cpu_parse(const char *text, struct cgroup_throttled *t);
