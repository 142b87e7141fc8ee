/* SPDX-License-Identifier: BSD-2-Clause */
/* trace_memory.h: what is on record of memory besides the calls themselves. Fields as in shim/FORMAT.md. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/format.h"

struct clock;
struct trace;

enum block_said { BLOCK_ALLOCATED = 1, BLOCK_RESERVED = 2 };

struct block_event { /* of a framework's allocator */
	int64_t time_ns;
	uint64_t address, bytes, allocated, reserved;
	uint64_t byte; /* in the file */
	uint32_t tid;
	uint16_t device;
	uint8_t kind; /* enum gst_block_kind */
	uint8_t said; /* enum block_said: these totals; what is not said is 0 */
};

struct mapping { /* physical memory stands at an address */
	int64_t time_ns;
	uint64_t address, bytes, handle, offset;
};

struct pool_state { /* as the driver says */
	int64_t time_ns;
	uint64_t reserved, reserved_high, used, used_high;
	uint32_t pool;
	uint16_t device; /* 0xffff: not said */
};

struct memory_left { /* of a device, behind a refusal */
	int64_t time_ns;
	uint64_t free, total;
	uint32_t tid;
	uint16_t device;
};

struct trace_memory { /* each by time */
	struct block_event *blocks; size_t n_blocks, cap_blocks;
	struct mapping *mappings;   size_t n_mappings, cap_mappings;
	struct pool_state *pools;   size_t n_pools, cap_pools;
	struct memory_left *left;   size_t n_left, cap_left;
};

/* A block whose time is still in ticks, until trace_memory_settle_blocks. False: no memory. */
bool trace_memory_add_block(struct trace_memory *m, const struct gst_block *r, uint32_t tid, uint64_t byte);
void trace_memory_settle_blocks(struct trace_memory *m, const struct clock *clock);
/* False: no memory. Other records are nothing to it. seen_ns: what came later is left out. */
bool trace_memory_add(struct trace_memory *m, struct clock *clock, int64_t seen_ns, const struct gst_record *r, uint32_t tid,
		      uint64_t byte);
void trace_memory_sort(struct trace_memory *m);
/* Leaves out what came after the cut; sorted. */
void trace_memory_cut(struct trace_memory *m, int64_t cut_ns);
/* The beginning was given up. */
void trace_memory_leave_out(struct trace_memory *m, int64_t from_ns);
/* The last one there is, at least end_ns. */
int64_t trace_memory_end(const struct trace_memory *m, int64_t end_ns);
void trace_memory_free(struct trace_memory *m);
