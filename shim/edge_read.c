/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading the edges that have fired. One thread at a time does, the harvester. */
#include "edge_pool.h"
#include "file.h"
#include "hooks.h"

#define BASE_MS 2000 /* a float of milliseconds keeps 0.25 us up to 4 s: change the base well before */

static struct thread *harvester;

uint32_t edges_pending(void)
{
	uint32_t most = 0;

	for (unsigned i = 0; i < EDGE_POOLS && edge_pools[i].context; i++) {
		uint32_t n = __atomic_load_n(&edge_pools[i].pending, __ATOMIC_RELAXED);

		most = n > most ? n : most;
	}
	return most;
}

/* The harvester's own: its place in the pool, of each slot that was pending when the harvest began. */
static uint8_t in_order[EDGE_POOL_EVENTS];
_Static_assert(EDGE_POOL_EVENTS <= UINT8_MAX + 1, "a slot's place");

/* In the order in which their edges were recorded. How many there are. */
static unsigned order_pending(const struct edge_pool *p)
{
	unsigned n = 0;

	for (unsigned i = 0; i < EDGE_POOL_EVENTS; i++)
		if (__atomic_load_n(&p->slots[i].state, __ATOMIC_ACQUIRE) == SLOT_PENDING)
			in_order[n++] = (uint8_t)i;
	for (unsigned gap = n / 2; gap; gap /= 2) { /* Shell's sort: little to do where they are in order, as mostly */
		for (unsigned i = gap; i < n; i++) {
			uint8_t slot = in_order[i];
			unsigned at = i;

			for (; at >= gap && p->slots[in_order[at - gap]].number > p->slots[slot].number; at -= gap)
				in_order[at] = in_order[at - gap];
			in_order[at] = slot;
		}
	}
	return n;
}

/* After it is read: its time against the base, or it becomes the base. One that fired long after the base is measured in a float's coarse
 * steps, and those behind it must not be: whatever the time between, the next base is the first edge beyond BASE_MS. */
static void place_on_chain(struct edge_pool *p, struct edge_slot *s, struct gst_edge *out)
{
	struct edge_slot *base = p->base;
	float ms = 0;

	s->edge.base = s->edge.edge;
	if (base && INJECT(cuEventElapsedTime, &ms, base->event, s->event) != CUDA_SUCCESS)
		base = NULL;
	if (base) {
		s->edge.base = base->edge.edge;
		s->edge.elapsed_ms = ms;
	}
	*out = s->edge; /* before it is free: then it may be another one at once */
	if (!base || ms > BASE_MS) {
		if (p->base)
			__atomic_store_n(&p->base->state, SLOT_FREE, __ATOMIC_RELEASE);
		p->base = s;
		__atomic_store_n(&s->state, SLOT_BASE, __ATOMIC_RELEASE);
	} else {
		__atomic_store_n(&s->state, SLOT_FREE, __ATOMIC_RELEASE);
	}
}

/* False: it has not fired. */
static bool harvest_one(struct ring *r, struct edge_pool *p, struct edge_slot *s)
{
	CUresult rc = INJECT(cuEventQuery, s->event);
	struct gst_edge edge;

	if (rc == CUDA_ERROR_NOT_READY)
		return false;
	if (s->stalls)
		__atomic_fetch_sub(&edges_stalling, 1, __ATOMIC_RELAXED);
	if (rc == CUDA_SUCCESS) {
		s->edge.done = clock_ticks();
		if (s->stream->id == s->edge.stream)
			stream_finished(s->stream, s->covers);
		place_on_chain(p, s, &edge);
		ring_append(r, GST_EDGE, sizeof(edge), &edge);
	} else {
		__atomic_fetch_add(&file_counters()->edges_skipped, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&s->state, SLOT_FREE, __ATOMIC_RELEASE);
	}
	__atomic_fetch_sub(&p->pending, 1, __ATOMIC_RELAXED);
	return true;
}

/* How many edges a harvest may read, and how many it may find that have not fired. */
struct limit {
	unsigned read, unfired;
};
static const struct limit limit_all = { EDGE_POOL_EVENTS, EDGE_POOL_EVENTS };
static const struct limit limit_few = { 32, 8 }; /* in the program's thread, which needs one */

static uint32_t harvests; /* so far, of all pools */

/* Once an edge has not fired, those behind it in its stream need not be asked. A stream that has gone may have left its place, and edges, to
 * another. */
static bool is_behind_unfired(const struct edge_slot *s)
{
	return s->stream->id == s->edge.stream && s->stream->unfired == harvests;
}

static void harvest_pool(struct ring *r, struct edge_pool *p, struct limit left)
{
	unsigned n = order_pending(p);

	harvests++;
	for (unsigned i = 0; i < n && left.read && left.unfired; i++) {
		struct edge_slot *s = &p->slots[in_order[i]];

		if (__atomic_load_n(&s->state, __ATOMIC_RELAXED) != SLOT_PENDING || is_behind_unfired(s))
			continue;
		if (harvest_one(r, p, s)) {
			left.read--;
		} else {
			left.unfired--;
			if (s->stream->id == s->edge.stream)
				s->stream->unfired = harvests;
		}
	}
}

/* False: another thread is at it. */
static bool harvest_begin(void)
{
	struct thread *none = NULL;

	return __atomic_compare_exchange_n(&harvester, &none, &thread_storage, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static void harvest_end(void)
{
	__atomic_store_n(&harvester, NULL, __ATOMIC_RELEASE);
}

void edges_harvest_few(struct ring *r, struct edge_pool *p)
{
	if (!harvest_begin())
		return;
	harvest_pool(r, p, limit_few);
	harvest_end();
}

void edges_harvest(struct ring *r, bool (*usable)(uint64_t context))
{
	if (!harvest_begin())
		return;
	for (unsigned i = 0; i < EDGE_POOLS && edge_pools[i].context; i++)
		if (__atomic_load_n(&edge_pools[i].pending, __ATOMIC_RELAXED) && usable(edge_pools[i].context))
			harvest_pool(r, &edge_pools[i], limit_all);
	harvest_end();
}

void edges_abandon(struct thread *t)
{
	__atomic_compare_exchange_n(&harvester, &t, NULL, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

bool edges_context_is_current(uint64_t context)
{
	return thread_context(&thread_storage) == context;
}

void edges_read_forget(void)
{
	harvester = NULL;
}
