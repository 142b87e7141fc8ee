/* SPDX-License-Identifier: BSD-2-Clause */
/* lab.h: what the programs share that leave a device idle for a cause they know, and write it down.
 *
 * The truth is a file of JSON lines, $LAB_TRUTH, one for each stretch of time in which a thread did one thing; all processes of a program
 * append to it. Times are CLOCK_MONOTONIC nanoseconds:
 *   {"cause":"input-storage","role":"main","step":3,"pid":1,"tid":1,"begin":…,"end":…,"cpu":…,"queued":…,"throttled":…,
 *    "path":"/x","offset":0,"bytes":4096,"device":0,"until":"hostfn"}
 * role main: the thread that submits waited, or worked, for that cause. Others ("worker", "holder" …) say what it was that it waited for;
 * "thread" is all of the loop.
 * device: only that one was idle for it. until: it lasted until the first kernel of that name, or host function, ended that ended after its
 * begin: the driver's log knows when (score_until.py).
 * cpu, queued: what the kernel's schedstat says the thread ran, and was runnable without a CPU, meanwhile. throttled: of $LAB_CPU_STAT. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define REQUIRE(condition)                                                                      \
	do {                                                                                    \
		if (!(condition)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s: %m\n", __FILE__, __LINE__, #condition); \
			_exit(3);                                                               \
		}                                                                               \
	} while (0)

#define MS 1000000L

/* ---- lab_truth.c ------------------------------------------------------------------------------------------------------ */

struct span {
	const char *cause, *role;
	long step;
	long begin, cpu, queued, throttled;
	const char *path; /* NULL none */
	long offset, bytes;
	int device;        /* -1: all */
	const char *until; /* NULL none */
};

long lab_now(void);
/* Opens $LAB_TRUTH; without it nothing is written. */
void truth_open(void);
/* From now on lines are kept until the end of the program: no write makes a gap longer. A child that is forked begins with truth_child(),
 * and writes what it kept before it ends by _exit(). */
void truth_keep(void);
void truth_child(void);
void truth_write(void);
struct span span_begin(const char *cause, const char *role, long step);
/* By the thread that began it. */
void span_end(const struct span *s);
/* Of what it waited for, only the end, in which it had been woken and was without a CPU. */
void span_end_woken(struct span *s);

/* Keeps a CPU for this much time of the thread's own. */
void compute_cpu(long ns);
/* … by the clock on the wall. */
void compute_until(long at);
void sleep_ns(long ns);

/* ---- lab_random.c: what the seed chose -------------------------------------------------------------------------------- */

#define PARTS_MAX 8

/* An environment variable as a number. */
long lab_param(const char *variable, long otherwise);
/* Of $SEED, and these. */
uint64_t lab_random(uint64_t a, uint64_t b);
/* 0 … n-1, in an order of the seed's and the salt's. */
void lab_shuffle(int *what, int n, uint64_t salt);
/* Whose lengths the next calls are about: the faults of a mixture have their own each. By the main thread, before any other call. */
void lab_part(int which);
/* How long the fault takes in this step, ns. */
long lab_length(long step);
/* How much is read then ($LAB_BATCH, or $LAB_RATE a second), where it lies in the file, and how much all steps read. */
long lab_bytes(long step);
long lab_offset(long step);
long lab_all_bytes(void);

/* ---- lab_device.c: $LAB_STREAMS streams on each of $LAB_DEVICES devices, one kernel ------------------------------------- */

void device_open(void);
/* Launches the step's kernel, which takes $LAB_KERNEL_US, in each stream; returns at once. */
void device_step(void);
/* Until the devices have nothing to do. */
void device_wait(void);
/* The weights to the host's memory. */
size_t device_read(void *buffer, size_t size);

/* ---- the faults: faults.def has them all ------------------------------------------------------------------------------- */

struct fault {
	const char *name;
	void (*open)(void);     /* before the first step; may be NULL */
	void (*ahead)(long step); /* while the device is busy; may be NULL */
	void (*act)(long step); /* the device is idle: begins and ends its spans. In a mixture others act before and after it */
	void (*close)(void);    /* may be NULL */
};

#define FAULT(name) extern const struct fault fault_##name;
#include "faults.def"
#undef FAULT
