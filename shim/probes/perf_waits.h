/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_waits.h: a task's switches become its waits: GST_WAIT, or GST_STALLS where they are short. What they were for is known from a look
 * taken meanwhile, from a major fault behind it, or from what the task was found at a moment ago. */
#pragma once

#include "perf_tasks.h"
#include "watch.h"

void perf_wait_out(struct watch *w, struct perf_task *task, uint64_t at, bool preempted);
void perf_wait_in(struct watch *w, struct perf_task *task, uint64_t at);
void perf_wait_fault(struct watch *w, struct perf_task *task, uint64_t at, uint64_t address);
/* A look at what it waits for, once in each wait. False: none was needed. */
bool perf_wait_look(struct watch *w, struct perf_task *task);
/* Writes the wait that is over, if no fault can be told of it any more: all that was there by then is known. */
void perf_wait_settle(struct watch *w, struct perf_task *task, uint64_t then);
/* Writes a wait that goes on. */
void perf_wait_last(struct watch *w, struct perf_task *task, uint64_t now);
/* Writes all there is of a task that has ended, or of which no more will be known. */
void perf_wait_finish(struct watch *w, struct perf_task *task);
