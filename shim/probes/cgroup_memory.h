/* SPDX-License-Identifier: BSD-2-Clause */
/* cgroup_memory.h: how much memory a process's control group may have, version 1 or 2. */
#pragma once

#include <stdint.h>

/* Bytes: the least of its own limit and of those of the groups it is in. UINT64_MAX: none, or not to be seen. */
uint64_t cgroup_memory_limit(uint32_t pid);
