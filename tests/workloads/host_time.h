/* SPDX-License-Identifier: BSD-2-Clause */
/* host_time.h: what programs share that idle and compute for set times: the clock, and calls that must succeed. */
#pragma once

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Ends the program with the call's name if it failed. */
static inline void check(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "%s: error %d\n", what, (int)rc);
	exit(1);
}

#define CHECK(call) check(call, #call)

/* CLOCK_MONOTONIC. */
static inline long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Keeps a CPU busy. */
static inline void compute(long ns)
{
	long end = now_ns() + ns;

	while (now_ns() < end)
		;
}
