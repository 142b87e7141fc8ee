/* SPDX-License-Identifier: BSD-2-Clause */
/* pool_heap.c: the memory of a pool: best fit among free blocks, a new chunk otherwise. */
#include "pool.h"

#include "address_space.h"
#include "device_memory.h"

enum { BLOCK_ALIGN = 512, CHUNK = 32 << 20, CHUNK_SMALL = 2 << 20 };

/* Whether the memory is at rest, or what to wait for. */
static bool at_rest(struct pool_block *block)
{
	if (block->freed && op_done(block->freed)) {
		op_unref(block->freed);
		block->freed = NULL;
	}
	return !block->freed;
}

/* Blocks that are both at rest become one, of the same stream or of whichever. */
static void merge(struct pool_chunk *chunk, bool whichever)
{
	for (struct pool_block *block = chunk->blocks; block;) {
		struct pool_block *next = block->next;

		if (next && !block->used && !next->used && at_rest(block) && at_rest(next) &&
		    (whichever || block->freed_by == next->freed_by)) {
			if (block->freed_by != next->freed_by)
				block->freed_by = 0;
			block->bytes += next->bytes;
			block->next = next->next;
			free(next);
		} else {
			block = next;
		}
	}
}

enum fit { FIT_ORDERED, FIT_ANY };

/* FIT_ORDERED: without waiting for anything new. */
static struct pool_block *find(CUmemoryPool pool, const struct pool_wish *wish, enum fit fit)
{
	struct pool_block *best = NULL;

	for (struct pool_chunk *chunk = pool->chunks; chunk; chunk = chunk->next) {
		merge(chunk, pool->reuse_opportunistic);
		for (struct pool_block *block = chunk->blocks; block; block = block->next) {
			bool same_stream = !block->freed_by || block->freed_by == wish->stream;

			if (block->used || block->bytes < wish->bytes || (best && best->bytes <= block->bytes))
				continue;
			if (fit == FIT_ANY || same_stream || (pool->reuse_opportunistic && at_rest(block)))
				best = block;
		}
	}
	return best;
}

static struct pool_block *grow_by(CUmemoryPool pool, size_t bytes)
{
	struct pool_chunk *chunk;
	struct pool_block *block;

	if ((pool->props.maxSize && (bytes > pool->props.maxSize || pool->reserved > pool->props.maxSize - bytes)) ||
	    !device_memory_take(pool->device, bytes))
		return NULL;
	chunk = calloc(1, sizeof(*chunk));
	block = calloc(1, sizeof(*block));
	if (chunk && block)
		chunk->base = address_take(bytes, ADDRESS_ALIGN_LARGE, 0);
	if (!chunk || !block || !chunk->base) {
		free(chunk);
		free(block);
		device_memory_give(pool->device, bytes);
		return NULL;
	}
	chunk->bytes = block->bytes = bytes;
	block->base = chunk->base;
	chunk->blocks = block;
	chunk->next = pool->chunks;
	pool->chunks = chunk;
	pool->reserved += bytes;
	if (pool->reserved > pool->reserved_high)
		pool->reserved_high = pool->reserved;
	return block;
}

/* As much as helps next time too, or as little as will do. */
static struct pool_block *grow(CUmemoryPool pool, size_t bytes)
{
	static const size_t steps[] = { CHUNK, CHUNK_SMALL, BLOCK_ALIGN };
	struct pool_block *block = NULL;

	for (unsigned i = 0; i < sizeof(steps) / sizeof(*steps) && !block; i++)
		if (bytes + steps[i] > bytes)
			block = grow_by(pool, (bytes + steps[i] - 1) & ~(steps[i] - 1));
	return block;
}

static bool split(struct pool_block *block, size_t bytes)
{
	struct pool_block *rest;

	if (block->bytes == bytes)
		return true;
	rest = malloc(sizeof(*rest));
	if (!rest)
		return false;
	*rest = *block;
	rest->base += bytes;
	rest->bytes -= bytes;
	if (rest->freed)
		op_ref(rest->freed);
	block->bytes = bytes;
	block->next = rest;
	return true;
}

CUresult pool_heap_take(CUmemoryPool pool, const struct pool_wish *wish, CUdeviceptr *address)
{
	size_t bytes = (wish->bytes + BLOCK_ALIGN - 1) & ~(size_t)(BLOCK_ALIGN - 1);
	const struct pool_wish rounded = { bytes, wish->stream, wish->after, wish->grown };
	struct pool_block *block;

	if (bytes < wish->bytes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	block = find(pool, &rounded, FIT_ORDERED);
	if (!block) {
		block = grow(pool, bytes);
		*wish->grown = block != NULL;
	}
	if (!block && pool->reuse_internal)
		block = find(pool, &rounded, FIT_ANY);
	if (!block || !split(block, bytes) ||
	    !memory_range_add((struct memory_range){ .base = block->base,
						     .bytes = wish->bytes,
						     .reserved = bytes,
						     .kind = MEMORY_DEVICE,
						     .device = pool->device,
						     .pool = pool }))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (block->freed && block->freed_by != wish->stream)
		*wish->after = block->freed; /* the reference goes along */
	else
		op_unref(block->freed);
	block->freed = NULL;
	block->used = true;
	pool->used += bytes;
	if (pool->used > pool->used_high)
		pool->used_high = pool->used;
	*address = block->base;
	return CUDA_SUCCESS;
}

static struct pool_block *find_used(CUmemoryPool pool, uintptr_t address)
{
	for (struct pool_chunk *chunk = pool->chunks; chunk; chunk = chunk->next) {
		if (address - chunk->base >= chunk->bytes)
			continue;
		for (struct pool_block *block = chunk->blocks; block; block = block->next)
			if (block->base == address)
				return block;
	}
	return NULL;
}

void pool_heap_give(CUmemoryPool pool, uintptr_t address, struct op *freed, uint64_t stream)
{
	struct pool_block *block = find_used(pool, address);

	memory_range_remove(memory_find(address));
	if (!block)
		return;
	block->used = false;
	block->freed = freed ? op_ref(freed) : NULL;
	block->freed_by = freed ? stream : 0;
	pool->used -= block->bytes;
}

void pool_heap_trim(CUmemoryPool pool, uint64_t keep)
{
	for (struct pool_chunk **at = &pool->chunks; *at;) {
		struct pool_chunk *chunk = *at;
		struct pool_block *block = chunk->blocks;

		merge(chunk, true);
		if (block->used || block->bytes < chunk->bytes || !at_rest(block) ||
		    pool->reserved - chunk->bytes < keep) {
			at = &chunk->next;
			continue;
		}
		*at = chunk->next;
		pool->reserved -= chunk->bytes;
		device_memory_give(pool->device, chunk->bytes);
		address_give(chunk->base);
		free(block);
		free(chunk);
	}
}

bool pool_heap_busy(CUmemoryPool pool)
{
	for (struct pool_chunk *chunk = pool->chunks; chunk; chunk = chunk->next)
		for (struct pool_block *block = chunk->blocks; block; block = block->next)
			if (block->used || !at_rest(block))
				return true;
	return false;
}
