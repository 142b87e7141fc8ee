/* SPDX-License-Identifier: BSD-2-Clause */
#include "edge_pool.h"

#include <string.h>

#include "file.h"
#include "hooks.h"

struct edge_pool edge_pools[EDGE_POOLS];

struct edge_pool *edge_pool_of(uint64_t context)
{
	for (unsigned i = 0; i < EDGE_POOLS && __atomic_load_n(&edge_pools[i].context, __ATOMIC_ACQUIRE); i++)
		if (edge_pools[i].context == context)
			return &edge_pools[i];
	for (unsigned i = 0; i < EDGE_POOLS; i++) {
		struct edge_pool *p = &edge_pools[i];
		uint64_t owner = __atomic_load_n(&p->context, __ATOMIC_ACQUIRE);

		if ((owner <= EDGE_POOL_GONE && __atomic_compare_exchange_n(&p->context, &owner, context, false,
									    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) ||
		    owner == context) /* another thread was faster */
			return p;
	}
	return NULL;
}

bool edges_several_contexts(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < EDGE_POOLS && n < 2; i++) {
		uint64_t context = __atomic_load_n(&edge_pools[i].context, __ATOMIC_RELAXED);

		if (!context)
			break;
		n += context != EDGE_POOL_GONE;
	}
	return n > 1;
}

static bool slot_change(struct edge_slot *s, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&s->state, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Low slots first: few events are made and they stay warm. */
struct edge_slot *edge_slot_take(struct edge_pool *p, bool make)
{
	for (uint32_t i = 0; i < EDGE_POOL_EVENTS; i++) {
		struct edge_slot *s = &p->slots[i];
		uint32_t state = __atomic_load_n(&s->state, __ATOMIC_RELAXED);

		if (state > SLOT_FREE || (state == SLOT_NEW && !make) || !slot_change(s, state, SLOT_TAKEN))
			continue;
		if (state == SLOT_FREE || INJECT(cuEventCreate, &s->event, CU_EVENT_DEFAULT) == CUDA_SUCCESS)
			return s;
		__atomic_store_n(&s->state, SLOT_NEW, __ATOMIC_RELEASE);
		return NULL;
	}
	return NULL;
}

void edge_pool_reserve(struct edge_pool *p, uint32_t count)
{
	for (uint32_t i = 0; count && i < EDGE_POOL_EVENTS; i++) {
		struct edge_slot *s = &p->slots[i];
		CUresult rc = CUDA_SUCCESS;

		if (slot_change(s, SLOT_NEW, SLOT_TAKEN)) {
			rc = INJECT(cuEventCreate, &s->event, CU_EVENT_DEFAULT);
			__atomic_store_n(&s->state, rc == CUDA_SUCCESS ? SLOT_FREE : SLOT_NEW, __ATOMIC_RELEASE);
		}
		if (rc != CUDA_SUCCESS)
			break;
		count -= __atomic_load_n(&s->state, __ATOMIC_RELAXED) == SLOT_FREE;
	}
}

/* One that covers as much as is done may stand behind a wait yet. */
uint32_t edge_pool_unfired(const struct edge_pool *p, const struct stream *s)
{
	uint64_t done = __atomic_load_n(&s->done, __ATOMIC_RELAXED);
	uint32_t n = 0;

	for (uint32_t i = 0; i < EDGE_POOL_EVENTS; i++) {
		const struct edge_slot *slot = &p->slots[i];

		n += __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) == SLOT_PENDING &&
		     __atomic_load_n(&slot->stream, __ATOMIC_RELAXED) == s &&
		     __atomic_load_n(&slot->covers, __ATOMIC_RELAXED) >= done;
	}
	return n;
}

uint32_t edges_stalling;

static void forget_stalls(const struct edge_pool *p)
{
	for (uint32_t i = 0; i < EDGE_POOL_EVENTS; i++)
		if (p->slots[i].state == SLOT_PENDING && p->slots[i].stalls)
			__atomic_fetch_sub(&edges_stalling, 1, __ATOMIC_RELAXED);
}

void edges_context_gone(uint64_t context)
{
	for (unsigned i = 0; i < EDGE_POOLS; i++) {
		struct edge_pool *p = &edge_pools[i];

		if (p->context != context)
			continue;
		__atomic_fetch_add(&file_counters()->edges_skipped, p->pending, __ATOMIC_RELAXED);
		forget_stalls(p);
		memset((char *)p + offsetof(struct edge_pool, slots), 0,
		       sizeof(*p) - offsetof(struct edge_pool, slots));
		__atomic_store_n(&p->context, EDGE_POOL_GONE, __ATOMIC_RELEASE);
	}
}

void edge_pools_forget(void)
{
	memset(edge_pools, 0, sizeof(edge_pools));
	edges_stalling = 0;
}
