/* SPDX-License-Identifier: BSD-2-Clause */
/* throttled.h: for how long this process's control group had used up its CPU quota. The thread's alone that looks. */
#pragma once

#include <stdint.h>

/* 1 + the ns so far, the sum over the group's CPUs, by the kernel's own account. 0: there is no quota, or it is not to be seen. */
uint64_t throttled_so_far(void);

/* In a fork's child: it may be put into another group. */
void throttled_forget(void);
