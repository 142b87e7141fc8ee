/* SPDX-License-Identifier: BSD-2-Clause */
/* pool.h: work that falls apart into tasks which know nothing of each other, done side by side.
 *
 * Tasks are begun in order, each by whoever has nothing to do: the caller, and threads that end when there are no tasks left. Each writes to a place
 * of its own, so what comes out is the same whatever the number of threads. Where a thread cannot be made, those that are there do its work.
 * A child of fork has no threads but those that it makes; it must not come back to a run that its parent was in.
 * A task may run a pool itself: all of them together have no more threads than pool_threads() says, and a thread whose run has no more tasks goes on with
 * another run's.
 *
 * GPUSHIM_THREADS says how many work, the caller among them; without it as many as there are CPUs for this process, 16 at most.
 * Progress (progress.h) is told by the caller's thread only. */
#pragma once

#include "error.h"

#include <stddef.h>

typedef enum err_kind pool_task(void *job, size_t task, struct error *e);

/* Does tasks 0 to n-1. Where some fail, what is told is the first of them, by its number; later ones may not have been begun. */
enum err_kind pool_run(size_t n, pool_task *task, void *job, struct error *e);

/* How many threads work at most, from 1. */
unsigned pool_threads(void);
