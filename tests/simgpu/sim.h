/* SPDX-License-Identifier: BSD-2-Clause */
/* sim.h: what every file of the simulated driver shares: the CUDA types, the clock, the one lock.
 * __CUDA_API_VERSION_INTERNAL keeps cuda.h from renaming: cuMemAlloc and cuMemAlloc_v2 are both plain names here.
 * All state is under one mutex. Functions whose comment says "locked" are called with it held. */
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define SIM_EXPORT __attribute__((visibility("default")))

enum {
	SIM_MAX_DEVICES = 16,
	SIM_KERNEL_SLOTS = 128,    /* kernels that run at once on one device */
	SIM_STAGE_BYTES = 64 << 10 /* pageable memory up to this is staged at once; larger transfers take real time */
};

#define NSEC_PER_USEC 1000ull
#define NSEC_PER_SEC 1000000000ull

static inline uint64_t clock_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

void clock_sleep_until(uint64_t ns);
void clock_spin_until(uint64_t ns);
double clock_device_ms(int device, uint64_t from_ns, uint64_t to_ns); /* as events on the device's own 0.5 us clock see it */

void sim_lock(void);
bool sim_lock_for(uint64_t ns);    /* false: not to be had in that time */
void sim_unlock(void);
pthread_mutex_t *sim_mutex(void);  /* the same lock, to wait on conditions with */
uint64_t sim_thread(void);         /* a number for the calling thread, from 1, never used again */
bool sim_initialised(void);        /* cuInit has succeeded in this process */
bool sim_forked(void);             /* this is the child of a process that had initialised: nothing works */
void sim_set_initialised(void);
void *sim_wiped_page(size_t bytes); /* zeroed memory that is zero again in a child of fork; NULL if there is none */
