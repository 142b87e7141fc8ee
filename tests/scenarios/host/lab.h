/* SPDX-License-Identifier: BSD-2-Clause */
/* lab.h: what the programs share that leave a device idle for a cause they know, and write it down.
 *
 * The truth is a file of JSON lines, $LAB_TRUTH, one for each stretch of time in which a thread did one thing; all processes of a program
 * append to it. Times are CLOCK_MONOTONIC nanoseconds:
 *   {"cause":"input-storage","role":"main","step":3,"pid":1,"tid":1,"begin":…,"end":…,"cpu":…,"queued":…,"throttled":…,
 *    "path":"/x","offset":0,"bytes":4096}
 * role main: the thread that submits waited, or worked, for that cause. Others ("worker", "holder" …) say what it was that it waited for;
 * "thread" is all of the loop.
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
};

long lab_now(void);
/* Opens $LAB_TRUTH; without it nothing is written. */
void truth_open(void);
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

/* ---- lab_device.c: one stream, one kernel ----------------------------------------------------------------------------- */

void device_open(void);
/* Launches the step's kernel, which takes 2 ms; returns at once. */
void device_step(void);
/* Until the device has nothing to do. */
void device_wait(void);
/* The weights to the host's memory. */
size_t device_read(void *buffer, size_t size);

/* ---- the faults -------------------------------------------------------------------------------------------------------- */

struct fault {
	const char *name;
	void (*open)(void);     /* before the first step; may be NULL */
	void (*ahead)(long step); /* while the device is busy; may be NULL */
	void (*act)(long step); /* the device is idle: begins and ends its spans */
	void (*close)(void);    /* may be NULL */
};

extern const struct fault fault_read, fault_mmap, fault_direct, fault_warm;      /* fault_file.c */
extern const struct fault fault_sleep, fault_compute, fault_quota, fault_lock;   /* fault_host.c */
extern const struct fault fault_socket;                                          /* fault_socket.c */
extern const struct fault fault_checkpoint, fault_memory;                        /* fault_memory.c */
