/* SPDX-License-Identifier: BSD-2-Clause */
/* self_time.h: what the recorder itself takes of the program's time, measured while it works.
 *
 * One call in about 64, at random distances (a program's own rhythm must not choose them), is timed from its entry to the driver's
 * and from the driver's return to its own, and stands for those since the last one: gst_counters.own_ticks. What it spends in driver
 * calls of ours is counted as such, gst_counters.injected_ticks, and not here; nor is what stacks cost (stack.h), which is measured each time.
 * A timed call may be one whose stack is taken. */
#pragma once

#include <stdint.h>

#define SELF_TIME_EVERY 64 /* calls, on the average */

struct call;
struct thread;

/* A timed call: begins, enters the driver, has returned from it, is over. */
void self_time_begin(struct call *c);
void self_time_into_driver(struct call *c);
void self_time_from_driver(struct call *c);
void self_time_end(struct call *c);

/* This thread spent so long in driver calls that we added. */
void self_time_injected(struct thread *t, uint64_t ticks);
