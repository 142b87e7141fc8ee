/* SPDX-License-Identifier: BSD-2-Clause */
/* spill_budget.h: how much of the machine's memory large arrays may take: see spill.h. */
#pragma once

#include <stdint.h>

/* Bytes; the same at each call. */
uint64_t spill_budget(void);

/* What a process of this control group file may still take: memory.max and the like of it and of those above it, below `root`; UINT64_MAX no
 * limit. groups: what /proc/self/cgroup says. */
uint64_t spill_group_room(const char *root, const char *groups);
