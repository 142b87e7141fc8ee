/* SPDX-License-Identifier: BSD-2-Clause */
/* turns.h: whose kernels and copies run when several processes share a device (SIMGPU_SHARED).
 *
 * Without MPS a device runs the kernels of one process at a time and goes round the processes that have work. So here:
 *   - The kernels of one process run together, up to SIM_KERNEL_SLOTS; those of two processes never do. A copy engine does one
 *     copy at a time, whoever's.
 *   - A turn lasts TURN_NS and ends earlier when the holder has nothing to run. What has begun is finished. While nobody else
 *     wants the device the turn is renewed.
 *   - Then it is the next process's turn, round the slots, so that all that have work get the same share. A change of process
 *     costs SWITCH_NS.
 *   - A start is decided when its time has come, or within the turn when the device has no idle time before it: never is the
 *     device promised beyond the turn. A process that is late (its host thread got no CPU) starts in the past, where
 *     the device has been kept for it; it is passed over when it is more than ABSENT_NS late.
 *   - A context that is switched out does nothing at all: an event fires in a turn too, unless it stands behind a copy in
 *     its stream (those have channels of their own) or behind a kernel that just ended.
 * Memsets and copies on the device take no turns: they run beside kernels, as in one process. Stream priorities mean nothing
 * between processes. All locked. */
#pragma once

#include "timeline.h"

bool turns_concern(const struct op *op); /* SIMGPU_SHARED is set, and it takes turns */
void turns_submit(struct op *op);        /* ready at a known time: has it started when its turn comes */
void turns_end(struct op *op);           /* one that took real time has ended at end_ns */
void turns_look(const struct op *look);  /* the moment to look again has come */
void turns_close(void);                  /* at exit: nothing starts any more */
