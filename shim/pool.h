/* SPDX-License-Identifier: BSD-2-Clause */
/* pool.h: the driver's memory pools by number, and what the driver says of them. How much memory a pool holds follows from no call: it
 * grows when it must and shrinks when the host waits. So the driver is asked, seldom. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "hooks.h"

struct thread;

/* 1, 2, 3 …; 0: none, or there are more pools than places. */
uint32_t pool_number(CUmemoryPool pool);

/* The pool that a device's plain cuMemAllocAsync takes from. */
uint32_t pool_of_device(struct thread *t, uint16_t device);

/* A device has another pool now; a pool is gone, or nobody knows which of them a device has. */
void pool_set_device(uint16_t device, uint32_t pool);
void pools_changed(void);

/* Asks the driver, if it is time to or `now`, and writes a GST_POOL. */
void pool_ask(struct thread *t, uint32_t pool, uint16_t device, bool now);

/* How much memory the device has left, for the thread's current context, after a refusal: if it is time to, a GST_MEMORY_LEFT. */
void memory_left_ask(struct thread *t);

/* After fork, in the child. */
void pools_forget(void);
