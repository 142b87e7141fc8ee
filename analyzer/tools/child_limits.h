/* SPDX-License-Identifier: BSD-2-Clause */
/* child_limits.h: what a forked child does first that is to read untrusted bytes with somebody else's library. */
#pragma once

/* The parent's handlers are about the parent's affairs; an input that ends the child leaves no core. */
void child_be_ordinary(void);

/* At most so many bytes of private memory beside what the process has already. */
void child_bound_memory(long long bytes);
