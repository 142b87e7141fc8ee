/* SPDX-License-Identifier: BSD-2-Clause */
/* memory_pools.h: what a process's pools of the driver do to its maps. A pool says how much it holds, and never where: what was handed out
 * once is known by its addresses, the rest is a number. */
#pragma once

#include "memory_process.h"

#define MEMORY_POOLS 256 /* numbers beyond are none: the recorder knows 64 pools */

/* By its number; NULL: not known. */
struct memory_pool *memory_pool_of(struct memory_process *p, uint32_t number);

/* What pools had in these addresses is not theirs any more: others' memory comes to stand there. Before it does. */
void memory_pools_lose(struct memory_process *p, size_t where, uint64_t address, uint64_t bytes);

/* These are false where there is no memory; *where: the device whose use changed. */
bool memory_pool_made(struct memory_process *p, const struct call *c, size_t where);
bool memory_pool_take(struct memory_process *p, const struct call *c, size_t where);
bool memory_pool_is(struct memory_process *p, const struct pool_state *s, size_t *where);
bool memory_pool_gone(struct memory_process *p, uint32_t number, size_t *where);
