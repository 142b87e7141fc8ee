/* SPDX-License-Identifier: BSD-2-Clause */
/* memory.h: device memory over time: what is allocated, what is reserved, and the largest piece that is free; and what happened where
 * there was no room. Of several processes on a device the sums, and the largest of their free pieces.
 *
 *   events ── sorted ──> one memory_process each ──> points of each device ──> peaks, fragmentation
 *                                     └── at a story's begin and end ──> what it looked like then */
#pragma once

#include "memory_story.h"
#include "memory_sum.h"

struct memory_point { /* from time_ns on */
	int64_t time_ns;
	struct memory_use use;
};

struct memory_framework { /* by its own accounts */
	uint64_t taken, given, refused; /* blocks */
	uint64_t allocated, reserved;   /* the last it said, bytes */
	uint64_t strays;                /* blocks outside of all memory whose allocation is on record */
	bool told;                      /* what all have is what these accounts say (memory_told.h); how free memory lies is not on record */
	uint64_t before, before_left;   /* … bytes taken before the trace began; what of the last total is at no address on record */
};

struct memory_device {
	const struct trace *trace; /* the first process that has it; borrowed */
	struct device device;      /* … as that describes it */
	struct memory_point *points; size_t n_points, cap_points; /* where run.brief: those that memory_asks wants */
	struct memory_use now;
	struct memory_sum sum; /* while it is gone through */
	uint64_t peak_allocated, peak_reserved;
	int64_t peak_allocated_ns, peak_reserved_ns;
	struct memory_point worst; /* while as much as ever was reserved: when the fragmentation was at its worst */
	uint64_t out_of_memory, retries;
	struct memory_framework framework;
};

struct memory_pooled { /* a pool, at the end */
	uint32_t process, pool;
	size_t device;
	struct pool_state last; /* time_ns 0: the driver was not asked */
};

struct memory {
	struct memory_device *devices; size_t n_devices, cap_devices;
	struct memory_stories stories;
	struct memory_pooled *pools; size_t n_pools, cap_pools;
};

enum err_kind memory_build(struct memory *out, const struct run *run, struct error *e);
void memory_free(struct memory *m);

/* 1 - largest piece / all that is reserved and free; 0 where nothing is. */
double memory_fragmentation(const struct memory_use *use);

/* The device that a process calls by this ordinal; MEMORY_NOWHERE: nothing is known of it. */
size_t memory_device_index(const struct memory *m, const struct trace *t, uint16_t ordinal);
/* … as it describes it; NULL: nothing is known of it. */
const struct memory_device *memory_of(const struct memory *m, const struct trace *t, const struct device *device);
/* Is memory_at asked for when this call begins? */
bool memory_asks(const struct call *c);
/* What was so at that time; zeros before anything was known. */
struct memory_use memory_at(const struct memory_device *d, int64_t time_ns);
/* The story in which this call was refused, or memory was given back to have room; NULL none. */
const struct memory_story *memory_story_of(const struct memory *m, const struct trace *t, const struct call *c);
