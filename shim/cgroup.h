/* SPDX-License-Identifier: BSD-2-Clause */
/* cgroup.h: where a process's control group is, version 1 or 2. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CGROUP_OWN 0 /* pid: of the calling process, by whatever number /proc knows it */

/* Its folder, by the hierarchy of this controller ("cpu"). top: of it, what leads to the topmost group that is seen here; old: version 1.
 * False: not found. */
bool cgroup_find(char dir[PATH_MAX], const char *controller, uint32_t pid, size_t *top, bool *old);
