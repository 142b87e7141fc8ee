/* SPDX-License-Identifier: BSD-2-Clause */
/* cupti_record.h: CUPTI's records into ours. */
#pragma once

#include <stdbool.h>

#include "cupti_api.h"
#include "thread.h"

/* own_clock: the times are not CLOCK_MONOTONIC but CUPTI's own clock. */
void cupti_record_start(const struct cupti_api *functions, bool own_clock);

/* Writes all that CUPTI has given back into the thread's ring, and frees it; counts what was dropped. One thread at a time: false, another
 * one is at it. */
bool cupti_record_all(struct thread *t);

/* The thread that was at it is gone: after fork, in the child. */
void cupti_record_forget(void);
