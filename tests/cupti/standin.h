/* SPDX-License-Identifier: BSD-2-Clause */
/* standin.h: the tests' libcupti: what of CUPTI 13.5 a tracer of kernels and copies uses, on the truth of the simulated driver. Its own part
 * of the interface is shim/cupti_api.h, as the shim has it. What it keeps to: one subscriber at a time; calls of kinds and callbacks that
 * are on alone; records in memory of the client's alone, and counted as dropped where there is none; a thread of its own that gives full
 * buffers back, and calls the driver now and then.
 *
 * CUPTI_STANDIN, words separated by commas: held: another tool has subscribed already; subscribe=N, enable=N: these calls fail with
 * result N; drop=N: every N-th record is dropped; no-clock: takes no clock of the client's: its own is CLOCK_REALTIME;
 * slow=N: a forced flush takes N ms. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "observer.h"
#include "shim/cupti_api.h"

/* What libcupti exports. */
#define API(name, params) __attribute__((visibility("default"))) int name params;
CUPTI_FUNCTIONS(API, API)

/* ---- options.c */
bool option(const char *name);
unsigned option_number(const char *name); /* 0: not given */

/* ---- clock.c */
uint64_t clock_of(uint64_t mono_ns); /* the client's, or ours */

/* ---- records.c */
void records_op(const struct observed_op *op); /* the driver's lock is held */
void records_deliver(bool all);                /* full buffers, or all */
bool records_ready(void);                      /* there are callbacks for buffers */

/* ---- observe.c */
bool observe_driver(void); /* false: there is no simulated driver */
void observe_advance(void);
bool kind_is_on(uint32_t kind);

/* ---- worker.c */
void worker_start(void);
