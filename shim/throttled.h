/* SPDX-License-Identifier: BSD-2-Clause */
/* throttled.h: for how long this process's control group had used up its CPU quota: the sum over the group's CPUs, by the kernel's own
 * account. Where the group has no quota, or that is not to be seen, no question costs more than a look at memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Finds the group, now and then again. The thread's alone that looks at the others: its descriptors are its own. */
void throttled_watch(void);

/* 1 + the ns so far; 0 not known. The same thread's. */
uint64_t throttled_so_far(void);

/* As gst_usage has it, for any thread: asks where it was switched out against its will since it last came here, or the quota was used up a
 * moment ago; else what was last heard. Takes some microseconds where it asks, no lock and little stack. */
uint32_t throttled_account(bool switched_out);

/* In a fork's child: it may be put into another group. */
void throttled_forget(void);
