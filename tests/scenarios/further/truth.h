/* SPDX-License-Identifier: BSD-2-Clause */
/* truth.h: what each thread of a program does, written down by itself: one line of $LAB_TRUTH for each stretch of time (host/lab.h has the
 * form). A thread is in one phase after the other, each with the cause that the device is idle for if it is; a phase ends where the next
 * begins, by the same reading of the clock, so a thread's lines neither overlap nor leave holes. Lines stay in memory until truth_close.
 *
 * A cause may be "a|b|c": a, and CAUSES.md may be read so that it is b or c ("also" in the line).
 *
 * Roles: "main" submits work, "thread" is all of its loop, "submit" a stretch in which it submits (of several threads, whose gap it is),
 * "device": the device itself has the cause. Others are threads that it may wait for. */
#pragma once

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define REQUIRE(condition)                                                                          \
	do {                                                                                        \
		if (!(condition)) {                                                                 \
			fprintf(stderr, "%s:%d: not so: %s: %m\n", __FILE__, __LINE__, #condition); \
			_exit(3);                                                                   \
		}                                                                                   \
	} while (0)
#define CHECK(call) REQUIRE((call) == CUDA_SUCCESS)

#define US 1000L
#define MS 1000000L

long now_ns(void);

/* ---- $SEED decides -------------------------------------------------------------------------------------------------- */

void seed_open(unsigned lane);      /* another sequence for each lane; of the thread that calls */
long draw_int(long low, long high); /* both included */
long draw_ns(long low, long high);  /* each decade as likely as the next */
bool draw_one_in(long n);

/* ---- phases ---------------------------------------------------------------------------------------------------------- */

void truth_thread(const char *role);          /* the calling thread's, from now on */
void phase(const char *cause);                /* NULL: none */
void phase_waits(const char *cause, int tid); /* … for that thread */
void span(const char *role, const char *cause, int device, long begin, long end);
void truth_close(void); /* by the last thread of a process */

/* Works for so long on a CPU: where the clock jumps meanwhile, it had none, and that is a phase of its own. */
void compute(long ns);
void sleep_for(long ns);

/* What a program tells as it goes: to $FURTHER_LOG, a pipe with a reader that takes its time; else standard output. */
int log_open(void);
int companion(const char *name); /* the thread of somebody else's that a variable names; 0 where it does not */

/* ---- the device -------------------------------------------------------------------------------------------------------- */

CUfunction kernel_of(CUmodule module, const char *what,
		     long us); /* "what__<us>us": on the simulated driver its name is its length */
void launch(CUfunction kernel, CUstream stream);
