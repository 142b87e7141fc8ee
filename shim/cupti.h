/* SPDX-License-Identifier: BSD-2-Clause */
/* cupti.h: level `cupti`, on request alone: NVIDIA's CUPTI measures every kernel, copy and memset. While it is in force we inject nothing.
 *
 * There can be one subscriber in a process. We are none where somebody is already, or will be (an injected tool), and make room as soon
 * as the program itself asks for one (cupti_hooks.c); then and wherever CUPTI is not to be had the run goes on at `auto`, and a GST_LEVEL in
 * the file says so. We do not come back.
 *
 * libcupti has threads of its own, which no rule tells from the program's: a program whose main thread leaves with pthread_exit, the only
 * one left, does not end while they live (as it does not with NVIDIA's driver, which has some as well). */
#pragma once

#include <stdbool.h>

#include "cupti_api.h"
#include "format.h"
#include "thread.h"

/* Before the file is made; calls the loader, so outside of any lock of ours. Once a process; who comes meanwhile waits, but not for long. */
void cupti_start(void);

/* The calling thread is in cupti_start: what libcupti asks the driver for is nobody's call. */
bool cupti_is_starting(void);

/* The level for the file's header. */
enum gst_device_level cupti_level(void);

/* Writes what became of it into the thread's ring, if nobody has yet. */
void cupti_announce(struct thread *t);

/* The helper's: has CUPTI hand over what is done, now and then, and writes it. */
void cupti_attend(struct thread *t);

/* The program wants CUPTI for itself: it has it when this returns. In any thread. */
void cupti_yield(void);

/* After fork, in the child: CUPTI does not survive that. */
void cupti_forget(void);
