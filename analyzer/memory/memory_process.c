/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory_process.h"

#include "memory_physical.h"
#include "memory_pools.h"
#include "tools/alloc.h"

#include <stdlib.h>

size_t memory_process_device(struct memory_process *p, uint16_t ordinal)
{
	for (size_t i = 0; i < p->n_held; i++)
		if (p->held[i].ordinal == ordinal)
			return i;
	if (!array_room(p->held, p->n_held, p->cap_held))
		return MEMORY_NOWHERE;
	p->held[p->n_held] = (struct memory_held){ .ordinal = ordinal, .device = MEMORY_NOWHERE };
	return p->n_held++;
}

/* ---- ranges ----------------------------------------------------------------------------------------------------------- */

static bool allocate(struct memory_process *p, const struct memory_event *e, size_t where)
{
	const struct call *c = e->call;
	struct memory_piece piece = { c->args[0], c->args[1], c->args[0], MEMORY_ALLOCATED,
				      e->shared_out ? MEMORY_FREE : MEMORY_WHOLE };

	if (c->args[1] > MEMORY_BEYOND_ANY)
		return true;
	memory_pools_lose(p, where, piece.address, piece.bytes);
	return memory_map_add(&p->held[where].map, &piece);
}

/* The whole range that a piece was cut from; its bytes. */
static bool drop_range(struct memory_map *m, struct memory_piece piece, uint64_t *given)
{
	uint64_t begin = piece.owner, end = begin, owner = piece.owner;

	while (memory_map_at(m, end, &piece) && piece.owner == owner)
		end = piece.address + piece.bytes;
	*given = end - begin;
	return memory_map_remove(m, begin, end - begin);
}

/* By its address alone: a free may be asked for with another device's context. */
static bool drop(struct memory_process *p, uint64_t address, size_t *where, uint64_t *given)
{
	for (size_t i = 0; i < p->n_held; i++) {
		struct memory_map *m = &p->held[i].map;
		struct memory_piece piece;
		const struct memory_pool *pool;

		if (!memory_map_at(m, address, &piece))
			continue;
		*where = i;
		if (piece.source == MEMORY_ALLOCATED && piece.owner == address)
			return drop_range(m, piece, given);
		if (piece.source != MEMORY_POOLED || piece.address != address || piece.state == MEMORY_FREE)
			continue;
		pool = memory_pool_of(p, (uint32_t)piece.owner);
		return pool && pool->gone ? memory_map_remove(m, address, piece.bytes)
					  : memory_map_set(m, address, piece.bytes, MEMORY_FREE);
	}
	return true;
}

/* ---- a framework's blocks ----------------------------------------------------------------------------------------------- */

/* The first block in a range: from now on its allocator says what is used. */
static bool share_out(struct memory_process *p, struct memory_map *m, const struct memory_piece *piece)
{
	struct memory_reserved *r;

	if (piece->source != MEMORY_MAPPED)
		return memory_map_set(m, piece->address, piece->bytes, MEMORY_FREE);
	r = memory_reserved_around(p, piece->address);
	if (!r)
		return memory_map_set(m, piece->address, piece->bytes, MEMORY_FREE);
	r->shared_out = true;
	return memory_map_set(m, r->address, r->bytes, MEMORY_FREE);
}

static bool stray(struct memory_process *p, const struct block_event *b, size_t where)
{
	struct memory_piece piece = { b->address, b->bytes, b->address, MEMORY_UNSEEN, MEMORY_BLOCK };

	p->held[where].strays++;
	memory_pools_lose(p, where, piece.address, piece.bytes);
	return memory_map_add(&p->held[where].map, &piece);
}

static bool take(struct memory_process *p, const struct block_event *b, size_t where)
{
	struct memory_held *held = &p->held[where];
	struct memory_piece piece;

	if (b->bytes > MEMORY_BEYOND_ANY)
		return true;
	if (!memory_map_at(&held->map, b->address, &piece))
		return stray(p, b, where);
	if (piece.source == MEMORY_POOLED) /* the driver's pool counts it already */
		return true;
	if (piece.state == MEMORY_WHOLE && !share_out(p, &held->map, &piece))
		return false;
	if (piece.state == MEMORY_FREE && piece.address + piece.bytes - b->address >= b->bytes)
		return memory_map_set(&held->map, b->address, b->bytes, MEMORY_BLOCK);
	/* What overlaps was given back, and that is not on record. */
	if (!memory_map_set(&held->map, b->address, b->bytes, MEMORY_FREE))
		return false;
	if (!memory_map_at(&held->map, b->address, &piece) || piece.address + piece.bytes - b->address < b->bytes)
		return stray(p, b, where);
	return memory_map_set(&held->map, b->address, b->bytes, MEMORY_BLOCK);
}

static bool give(struct memory_held *held, const struct block_event *b)
{
	struct memory_piece piece;

	if (!memory_map_at(&held->map, b->address, &piece) || piece.address != b->address ||
	    piece.state != MEMORY_BLOCK || piece.source == MEMORY_POOLED) {
		held->unknown++;
		return true;
	}
	return piece.source == MEMORY_UNSEEN ? memory_map_remove(&held->map, piece.address, piece.bytes)
					     : memory_map_set(&held->map, piece.address, piece.bytes, MEMORY_FREE);
}

static void hear(struct memory_held *held, const struct block_event *b)
{
	if (held->told.known)
		memory_told_hear(&held->told, b);
}

/* ---- a context's end -------------------------------------------------------------------------------------------------- */

/* Pools and physical memory are the device's, not the context's. */
static bool forget_allocated(struct memory_map *m)
{
	struct memory_piece piece;

	for (uint64_t at = 0; memory_map_next(m, at, &piece);) {
		at = piece.address + piece.bytes;
		if ((piece.source == MEMORY_ALLOCATED || piece.source == MEMORY_UNSEEN) &&
		    !memory_map_remove(m, piece.address, piece.bytes))
			return false;
	}
	return true;
}

static void forget_all(struct memory_process *p, size_t where)
{
	memory_map_free(&p->held[where].map);
	p->held[where].told.allocated = p->held[where].told.reserved = 0;
	memory_physical_forget(p, where);
	for (size_t i = 0; i < p->n_pools; i++)
		if (p->pools[i].device == where)
			p->pools[i].covered = p->pools[i].unseen = 0;
}

/* ---- the whole -------------------------------------------------------------------------------------------------------- */

/* The device that the event itself names; MEMORY_NOWHERE: it names none. */
static bool named_device(struct memory_process *p, const struct memory_event *e, size_t *where)
{
	const struct memory_pool *pool = e->what == MEMORY_POOL_TAKE ? memory_pool_of(p, e->call->pool) : NULL;
	uint16_t ordinal = 0xffff;

	if (pool && !pool->gone && pool->pool) { /* its own, whatever the stream's is */
		*where = pool->device;
		return true;
	}
	if (e->what == MEMORY_ALLOC || e->what == MEMORY_CREATE || e->what == MEMORY_POOL_TAKE ||
	    e->what == MEMORY_POOL_MADE)
		ordinal = e->call->device;
	else if (e->what == MEMORY_TAKE || e->what == MEMORY_GIVE || e->what == MEMORY_TOLD)
		ordinal = e->block->device;
	else if (e->what == MEMORY_CONTEXT_GONE || e->what == MEMORY_RESET)
		ordinal = e->device;
	*where = ordinal >= MEMORY_ORDINALS ? MEMORY_NOWHERE : memory_process_device(p, ordinal);
	return ordinal >= MEMORY_ORDINALS || *where != MEMORY_NOWHERE;
}

static bool apply_here(struct memory_process *p, const struct memory_event *e, size_t where)
{
	switch (e->what) {
	case MEMORY_ALLOC:
		return allocate(p, e, where);
	case MEMORY_CREATE:
		return memory_create(p, e->call, where);
	case MEMORY_POOL_MADE:
		return memory_pool_made(p, e->call, where);
	case MEMORY_POOL_TAKE:
		return memory_pool_take(p, e->call, where);
	case MEMORY_TOLD:
		memory_told_begin(&p->held[where].told, e->block);
		return true;
	case MEMORY_TAKE:
		hear(&p->held[where], e->block);
		return take(p, e->block, where);
	case MEMORY_GIVE:
		hear(&p->held[where], e->block);
		return give(&p->held[where], e->block);
	case MEMORY_CONTEXT_GONE:
		return forget_allocated(&p->held[where].map);
	case MEMORY_RESET:
		forget_all(p, where);
		return true;
	default:
		return true;
	}
}

bool memory_process_apply(struct memory_process *p, const struct memory_event *e, size_t *where, uint64_t *given)
{
	*given = 0;
	if (!named_device(p, e, where))
		return false;
	if (*where != MEMORY_NOWHERE)
		return apply_here(p, e, *where);
	switch (e->what) {
	case MEMORY_DROP:
		return drop(p, e->call->args[0], where, given);
	case MEMORY_UNMAP:
		return memory_stand_no_more(p, e->call->args[0], e->call->args[1], where, given);
	case MEMORY_MAP:
		return memory_stand(p, e->mapping, where);
	case MEMORY_RELEASE:
		memory_refer(p, e->call->args[0], -1, where);
		return true;
	case MEMORY_RETAIN:
		memory_refer(p, e->call->args[0], 1, where);
		return true;
	case MEMORY_RESERVE:
		return memory_reserve(p, e);
	case MEMORY_UNRESERVE:
		memory_unreserve(p, e->call->args[0]);
		return true;
	case MEMORY_POOL_IS:
		return memory_pool_is(p, e->pool, where);
	case MEMORY_POOL_GONE:
		return memory_pool_gone(p, e->call->pool, where);
	default:
		return true;
	}
}

struct memory_use memory_process_use(struct memory_process *p, size_t where)
{
	struct memory_held *h = &p->held[where];
	struct memory_use use = { h->map.used, h->map.held, memory_map_largest(&h->map) };

	if (h->told.known)
		return memory_told_use(&h->told);
	for (size_t i = 0; i < p->n_pools; i++) {
		if (p->pools[i].device != where)
			continue;
		use.reserved += p->pools[i].unseen;
		use.largest_free = p->pools[i].unseen > use.largest_free ? p->pools[i].unseen : use.largest_free;
	}
	return use;
}

void memory_process_free(struct memory_process *p)
{
	for (size_t i = 0; i < p->n_held; i++)
		memory_map_free(&p->held[i].map);
	free(p->held);
	free(p->pools);
	free(p->reserved);
	free(p->handles);
	free(p->mapped);
	*p = (struct memory_process){ 0 };
}
