/* SPDX-License-Identifier: BSD-2-Clause */
/* common_random_lane.h: what a thread of random work has. Its lanes are each a stream, a device buffer that only this stream touches, and what
 * the buffer must hold once all queued work is done. Streams run in order, so what a copy brings back is known when it is queued, however
 * late it arrives. */
#pragma once

#include "common_driver.h"
#include "common_random.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	LANES = 5,
	BUFFER_BYTES = 192 << 10,
	/* a pinned transfer; below and above this size drivers treat pageable memory differently */
	SLOT_BYTES = 48 << 10,
	SLOTS = 8, /* pinned transfers on their way per lane */
	MAX_THREADS = 16,
};

struct readback { /* a pinned copy from the device that may still be on its way */
	const uint8_t *at;
	uint8_t *expect;
	size_t bytes;
};

struct lane {
	CUstream stream;
	CUdeviceptr buffer;
	uint8_t *expect; /* the buffer's bytes once all queued work is done */
	uint8_t *pinned; /* SLOTS slots */
	unsigned slots_used, readbacks;
	struct readback readback[SLOTS];
	CUevent event;
	bool recorded;
};

struct worker {
	struct random random;
	unsigned index;
	uint64_t checksum;
	struct lane lanes[LANES];
	CUmodule module;
	uint8_t *pageable;       /* BUFFER_BYTES */
	uint64_t host_functions; /* queued */
	uint64_t host_functions_run;
};

#define MUST(expression) must(expression, #expression, __FILE__, __LINE__)
static inline void must(CUresult result, const char *what, const char *file, int line)
{
	if (result == CUDA_SUCCESS)
		return;
	fprintf(stderr, "%s:%d: %s: result %d\n", file, line, what, (int)result);
	_exit(1);
}

static inline void *memory(size_t bytes)
{
	void *p = calloc(1, bytes);

	if (!p)
		abort();
	return p;
}

static inline struct lane *any_lane(struct worker *w)
{
	return &w->lanes[random_below(&w->random, LANES)];
}

/* The default stream's lane: calls without a stream argument go there. Only thread 0's is the one they mean. */
static inline struct lane *default_lane(struct worker *w)
{
	return w->index == 0 ? &w->lanes[0] : NULL;
}

/* Data from the device: it must be this, and goes into the checksum. */
void lane_check(struct worker *w, const uint8_t *got, const uint8_t *expect, size_t bytes);

/* All the lane's work is done. */
void lane_settled(struct worker *w, struct lane *l);
void lane_synchronize(struct worker *w, struct lane *l);
/* SLOT_BYTES of pinned memory that no transfer uses. */
uint8_t *lane_slot(struct worker *w, struct lane *l);

void lane_open(struct worker *w, unsigned i);
void lane_close(struct lane *l, bool created);
