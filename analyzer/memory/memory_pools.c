/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory_pools.h"

#include "tools/alloc.h"

#define POOL_STEP 512u /* a pool hands out whole steps of this */

struct memory_pool *memory_pool_of(struct memory_process *p, uint32_t number)
{
	for (size_t i = 0; i < p->n_pools; i++)
		if (p->pools[i].pool == number)
			return &p->pools[i];
	return NULL;
}

static struct memory_pool *pool_at(struct memory_process *p, uint32_t number, size_t where)
{
	struct memory_pool *pool = memory_pool_of(p, number);

	if (!pool) {
		if (!array_room(p->pools, p->n_pools, p->cap_pools))
			return NULL;
		pool = &p->pools[p->n_pools++];
		*pool = (struct memory_pool){ .pool = number, .device = (uint32_t)where };
	} else if (pool->gone) { /* another one at the same place */
		*pool = (struct memory_pool){ .pool = number, .device = (uint32_t)where };
	}
	return pool;
}

bool memory_pool_made(struct memory_process *p, const struct call *c, size_t where)
{
	return !c->pool || c->pool > MEMORY_POOLS || pool_at(p, c->pool, where);
}

/* The piece that an address lies in, else the next one. */
static bool piece_from(const struct memory_map *m, uint64_t address, struct memory_piece *out)
{
	return memory_map_at(m, address, out) || memory_map_next(m, address, out);
}

void memory_pools_lose(struct memory_process *p, size_t where, uint64_t address, uint64_t bytes)
{
	const struct memory_map *m = &p->held[where].map;
	uint64_t end = bytes > UINT64_MAX - address ? UINT64_MAX : address + bytes;
	struct memory_piece piece;

	for (uint64_t at = address; p->n_pools && piece_from(m, at, &piece) && piece.address < end;
	     at = piece.address + piece.bytes) {
		uint64_t from = piece.address > address ? piece.address : address;
		uint64_t until = piece.address + piece.bytes < end ? piece.address + piece.bytes : end;
		struct memory_pool *pool =
			piece.source == MEMORY_POOLED ? memory_pool_of(p, (uint32_t)piece.owner) : NULL;

		if (pool)
			pool->covered -= until - from < pool->covered ? until - from : pool->covered;
	}
}

/* A block where the pool has no free piece for it. */
static bool take_new(struct memory_process *p, struct memory_pool *pool, const struct memory_piece *block, size_t where)
{
	uint64_t covered = pool->covered, more;

	memory_pools_lose(p, where, block->address, block->bytes);
	more = block->bytes - (covered - pool->covered);
	if (!memory_map_add(&p->held[where].map, block))
		return false;
	pool->covered += block->bytes;
	pool->unseen -= more < pool->unseen ? more : pool->unseen;
	return true;
}

bool memory_pool_take(struct memory_process *p, const struct call *c, size_t where)
{
	struct memory_pool *pool = pool_at(p, c->pool <= MEMORY_POOLS ? c->pool : 0, where);
	struct memory_piece piece, block = { .address = c->args[0], .source = MEMORY_POOLED };
	struct memory_map *m = &p->held[where].map;

	if (!pool || c->args[1] > MEMORY_BEYOND_ANY)
		return pool != NULL;
	block.owner = pool->pool;
	block.state = MEMORY_BLOCK;
	block.bytes = (c->args[1] + POOL_STEP - 1) & ~(uint64_t)(POOL_STEP - 1);
	if (memory_map_at(m, block.address, &piece) && piece.source == MEMORY_POOLED && piece.owner == block.owner &&
	    piece.state == MEMORY_FREE && piece.address + piece.bytes - block.address >= block.bytes)
		return memory_map_set(m, block.address, block.bytes, MEMORY_BLOCK);
	return take_new(p, pool, &block, where);
}

/* Of what it has no block in, the largest pieces first: whole chunks are what a pool gives back, and which they were nobody says. */
static bool pool_shrink(struct memory_process *p, struct memory_pool *pool, uint64_t bytes)
{
	struct memory_map *m = &p->held[pool->device].map;
	struct memory_piece piece;

	while (bytes && memory_map_largest_of(m, MEMORY_POOLED, pool->pool, &piece)) {
		uint64_t part = piece.bytes < bytes ? piece.bytes : bytes;

		if (!memory_map_remove(m, piece.address + piece.bytes - part, part))
			return false;
		pool->covered -= part < pool->covered ? part : pool->covered;
		bytes -= part;
	}
	return true;
}

bool memory_pool_is(struct memory_process *p, const struct pool_state *s, size_t *where)
{
	struct memory_pool *pool = memory_pool_of(p, s->pool);

	if ((!pool && s->device >= MEMORY_ORDINALS) || s->pool > MEMORY_POOLS || s->reserved > MEMORY_BEYOND_ANY)
		return true;
	*where = pool ? pool->device : memory_process_device(p, s->device);
	if (*where == MEMORY_NOWHERE || !(pool = pool_at(p, s->pool, *where)))
		return false;
	pool->last = *s;
	pool->unseen = s->reserved > pool->covered ? s->reserved - pool->covered : 0;
	return s->reserved >= pool->covered || pool_shrink(p, pool, pool->covered - s->reserved);
}

bool memory_pool_gone(struct memory_process *p, uint32_t number, size_t *where)
{
	struct memory_pool *pool = memory_pool_of(p, number);

	if (!pool)
		return true;
	*where = pool->device;
	pool->gone = true; /* blocks in it live on */
	pool->unseen = 0;
	return pool_shrink(p, pool, UINT64_MAX);
}
