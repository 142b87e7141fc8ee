/* SPDX-License-Identifier: BSD-2-Clause */
/* pool.h: stream-ordered memory pools. Locked.
 *
 *   pool ── chunks, taken from the device's memory ── blocks, which follow each other without holes
 *                                                      used: a range that memory.h knows
 *                                                      free: since an operation of some stream (or since ever)
 *
 * A free block may be used again by whom it is in order with: by its own stream at once, by everybody once the operation is
 * done. Dependencies through events are not followed. Chunks with no used block go back to the device when the host
 * synchronises and the pool holds more than its threshold. */
#pragma once

#include "memory.h"

struct pool_block {
	uintptr_t base;
	size_t bytes;
	bool used;
	struct op *freed;  /* a reference; NULL: done long ago */
	uint64_t freed_by; /* the stream that freed it, a key of pool_alloc.c; 0: none in particular */
	struct pool_block *next;
};

struct pool_chunk {
	uintptr_t base;
	size_t bytes;
	struct pool_block *blocks; /* by address */
	struct pool_chunk *next;
};

struct CUmemPoolHandle_st {
	int device;
	bool is_default;
	bool destroyed; /* goes when its last block is free */
	CUmemPoolProps props;
	int reuse_events, reuse_opportunistic, reuse_internal;
	uint64_t release_threshold, reserved, reserved_high, used, used_high;
	CUmemAccess_flags access[SIM_MAX_DEVICES];
	struct pool_chunk *chunks;
	CUmemoryPool next; /* of all pools */
};

/* The heap of one pool (pool_heap.c). */
struct pool_wish {
	size_t bytes;
	uint64_t stream;   /* who asks, a key of pool_alloc.c */
	struct op **after; /* out: an operation to wait for before the memory is used, a reference; NULL: none */
	bool *grown;       /* out: memory was taken from the device */
};

CUresult pool_heap_take(CUmemoryPool pool, const struct pool_wish *wish, CUdeviceptr *address);
void pool_heap_give(CUmemoryPool pool, uintptr_t address, struct op *freed, uint64_t stream); /* freed NULL: free now */
void pool_heap_trim(CUmemoryPool pool,
		    uint64_t keep);     /* gives back what nobody uses, until only `keep` bytes are held */
bool pool_heap_busy(CUmemoryPool pool); /* has a block that is used, or freed by work not yet done */

CUmemoryPool pool_of_device(int device); /* its current one; NULL: out of memory */
bool pool_valid(CUmemoryPool pool);
void pool_settle(void);                /* the host has synchronised: thresholds are honoured, destroyed pools go */
void pool_free_now(uintptr_t address); /* an allocation of a pool, by a call that is not stream-ordered */
