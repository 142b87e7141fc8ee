/* SPDX-License-Identifier: BSD-2-Clause */
/* throttled.h: for how long this process had no CPU because the quota of its control group was used up. The thread's alone that looks. */
#pragma once

#include <stdint.h>

/* ns so far, the sum over its CPUs, by the kernel's own account. 0: there is no quota, or it is not to be seen. */
uint64_t throttled_ns(void);

/* In a fork's child: it may be put into another group. */
void throttled_forget(void);
