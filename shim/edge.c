/* SPDX-License-Identifier: BSD-2-Clause */
#include "edge.h"

#include <string.h>

#include "file.h"
#include "gate.h"
#include "self_time.h"
#include "settings.h"

#define POOLS 32 /* contexts */
#define POOL_EVENTS 256
#define ANCHOR_NS 100000000ull /* a stream known empty gets a start edge this often: enough to hold the device clock */
#define FIRST_ANCHORS 8        /* … and the first few at once, so that a short run has some */
#define BASE_MS 2000           /* a float of milliseconds keeps 0.25 us up to 4 s: change the base well before */
#define SILENCE_NS \
	2000000000ull /* … and have an edge to change it to; as many anchors again as at first where there was none */

#define PAIR_NS 1000000ull /* edge_pair_take(): below half a percent of the stream's time, at 2 us an edge */
#define PAIRS_AT_ONCE 4    /* a program's step has a few, and then none for long */

enum slot_state { SLOT_NEW, /* no event yet */ SLOT_FREE, SLOT_TAKEN, SLOT_PENDING, SLOT_BASE };

struct slot {
	uint32_t state;
	CUevent event;
	struct gst_edge edge; /* what is known of it so far */
	uint64_t number;      /* of which edge.edge is the lower half */
	struct stream *stream;
	uint64_t covers;
};

#define FULL_NS 1000000ull /* a harvest that freed no event is not repeated in the program's thread */

#define POOL_GONE 1 /* its context is destroyed: free, but not the end of the list */

static struct pool {      /* of one context */
	uint64_t context; /* 0: never used, nor any behind it */
	struct slot slots[POOL_EVENTS];
	uint32_t pending;
	uint32_t anchors;
	uint64_t last_anchor; /* ticks */
	uint64_t last_edge;   /* ticks */
	uint64_t full_until;  /* ticks: before that none is read to make room */
	struct slot *base;    /* harvester's own */
} pools[POOLS];

static uint64_t last_edge;
static struct thread *harvester;

static struct pool *pool_of(uint64_t context)
{
	for (unsigned i = 0; i < POOLS && __atomic_load_n(&pools[i].context, __ATOMIC_ACQUIRE); i++)
		if (pools[i].context == context)
			return &pools[i];
	for (unsigned i = 0; i < POOLS; i++) {
		uint64_t owner = __atomic_load_n(&pools[i].context, __ATOMIC_ACQUIRE);

		if (owner == context ||
		    (owner <= POOL_GONE && __atomic_compare_exchange_n(&pools[i].context, &owner, context, false,
								       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)))
			return &pools[i];
		if (owner == context)
			return &pools[i];
	}
	return NULL;
}

bool edges_several_contexts(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < POOLS && n < 2; i++) {
		uint64_t context = __atomic_load_n(&pools[i].context, __ATOMIC_RELAXED);

		if (!context)
			break;
		n += context != POOL_GONE;
	}
	return n > 1;
}

static bool slot_change(struct slot *s, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&s->state, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* A slot with an event of this context (which is current). Low slots first: few events are made and they stay warm. make: one may be
 * created. */
static struct slot *slot_take(struct pool *p, bool make)
{
	for (uint32_t i = 0; i < POOL_EVENTS; i++) {
		struct slot *s = &p->slots[i];
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

bool edge_may_touch(struct thread *t, const struct stream *s)
{
	return settings.level >= GST_LEVEL_EDGES && s->context && thread_context(t) == s->context &&
	       (s->kind != GST_STREAM_PER_THREAD || s->tid == t->tid);
}

struct order {
	enum gst_edge_kind kind;
	bool make; /* an event, if none is free */
	uint64_t covers;
	uint32_t burst;
	struct edge_ref *ref; /* NULL: nobody asks for it */
};

/* Recorded between begin and end: from now on it may be read. */
static void set_pending(struct pool *p, struct slot *slot, const struct thread *t, struct stream *s,
			const struct order *o, uint64_t begin, uint64_t end)
{
	__atomic_store_n(&slot->number, __atomic_add_fetch(&last_edge, 1, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
	slot->edge = (struct gst_edge){
		.edge = (uint32_t)slot->number,
		.stream = s->id,
		.covers = (uint32_t)o->covers,
		.begin = begin,
		.end = end,
		.device = s->device,
		.kind = (uint16_t)o->kind,
		.tid = t->tid,
		.burst = o->burst,
	};
	slot->stream = s;
	slot->covers = o->covers;
	if (o->ref)
		*o->ref = (struct edge_ref){ slot, slot->number };
	__atomic_store_n(&p->last_edge, begin, __ATOMIC_RELAXED);
	__atomic_fetch_add(&p->pending, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->state, SLOT_PENDING, __ATOMIC_RELEASE);
}

static void harvest_few(struct ring *r, struct pool *p);

/* More edges than the helper reads: a few are read here, unless that has just been in vain. What fires meanwhile the helper reads. */
static struct slot *slot_make_room(struct thread *t, struct pool *p, bool make)
{
	uint64_t now = clock_ticks();
	struct slot *slot;

	if ((int64_t)(now - __atomic_load_n(&p->full_until, __ATOMIC_RELAXED)) < 0)
		return NULL;
	harvest_few(&t->ring, p);
	slot = slot_take(p, make);
	if (!slot)
		__atomic_store_n(&p->full_until, now + clock_ticks_in(FULL_NS), __ATOMIC_RELAXED);
	return slot;
}

static bool record(struct thread *t, struct stream *s, const struct order *o)
{
	struct pool *p;
	struct slot *slot = NULL;
	uint64_t entered, begin, end;
	CUresult rc = CUDA_ERROR_NOT_READY;
	uint32_t id = s->id;

	if (!edge_may_touch(t, s))
		return false;
	if (!gate_enter()) {
		if (__atomic_load_n(&gate.stuck, __ATOMIC_RELAXED))
			__atomic_fetch_add(&file_counters()->edges_skipped, 1, __ATOMIC_RELAXED);
		return false;
	}
	if (__atomic_load_n(&s->state, __ATOMIC_ACQUIRE) != STREAM_LIVE || s->id != id) {
		gate_leave(); /* destroyed by another thread before we were in */
		return false;
	}
	begin = entered = clock_ticks();
	p = pool_of(s->context);
	slot = p ? slot_take(p, o->make) : NULL;
	if (p && !slot) {
		slot = slot_make_room(t, p, o->make);
		begin = clock_ticks();
	}
	if (slot)
		rc = INJECT(cuEventRecord, slot->event, (CUstream)(uintptr_t)s->handle);
	end = clock_ticks();
	if (rc == CUDA_SUCCESS) {
		set_pending(p, slot, t, s, o, begin, end);
		stream_marked(s, o->covers);
	} else {
		if (slot)
			__atomic_store_n(&slot->state, SLOT_FREE, __ATOMIC_RELEASE);
		__atomic_fetch_add(&file_counters()->edges_skipped, 1, __ATOMIC_RELAXED);
	}
	self_time_injected(t, end - entered);
	gate_leave();
	return rc == CUDA_SUCCESS;
}

void edge_record(struct thread *t, struct stream *s, enum gst_edge_kind kind, uint64_t covers)
{
	record(t, s, &(struct order){ .kind = kind, .make = true, .covers = covers });
}

void edge_record_warm(struct thread *t, struct stream *s, enum gst_edge_kind kind, uint64_t covers)
{
	record(t, s, &(struct order){ .kind = kind, .covers = covers });
}

bool edge_record_in(struct thread *t, struct stream *s, enum gst_edge_kind kind, uint64_t covers, uint32_t burst,
		    struct edge_ref *ref)
{
	return record(t, s, &(struct order){ kind, true, covers, burst, ref });
}

/* Its event may be another edge's by now: read, and taken again. Then it has fired. */
static bool is_pending(const struct slot *s, uint64_t number)
{
	return __atomic_load_n(&s->state, __ATOMIC_ACQUIRE) == SLOT_PENDING &&
	       __atomic_load_n(&s->number, __ATOMIC_RELAXED) == number;
}

bool edge_is_pending(struct thread *t, const struct edge_ref *ref)
{
	const struct slot *s = ref->slot;
	uint64_t begin;
	bool pending;

	if (!is_pending(s, ref->number) || !gate_enter())
		return false;
	begin = clock_ticks();
	pending = INJECT(cuEventQuery, s->event) == CUDA_ERROR_NOT_READY && is_pending(s, ref->number);
	self_time_injected(t, clock_ticks() - begin);
	gate_leave();
	return pending;
}

void edges_reserve(struct thread *t, const struct stream *s, uint32_t count)
{
	uint64_t begin;
	struct pool *p;

	if (!edge_may_touch(t, s) || !gate_enter())
		return;
	begin = clock_ticks();
	p = pool_of(s->context);
	for (uint32_t i = 0; p && count && i < POOL_EVENTS; i++) {
		struct slot *slot = &p->slots[i];
		CUresult rc = CUDA_SUCCESS;

		if (slot_change(slot, SLOT_NEW, SLOT_TAKEN)) {
			rc = INJECT(cuEventCreate, &slot->event, CU_EVENT_DEFAULT);
			__atomic_store_n(&slot->state, rc == CUDA_SUCCESS ? SLOT_FREE : SLOT_NEW, __ATOMIC_RELEASE);
		}
		if (rc != CUDA_SUCCESS)
			break;
		count -= __atomic_load_n(&slot->state, __ATOMIC_RELAXED) == SLOT_FREE;
	}
	self_time_injected(t, clock_ticks() - begin);
	gate_leave();
}

static uint64_t blocks;

uint64_t edges_blocks(void)
{
	return __atomic_load_n(&blocks, __ATOMIC_RELAXED);
}

struct block {
	struct thread *thread;
	const struct stream *awaited;
	bool legacy; /* which of the two passes */
};

static void mark_before_block(struct stream *s, void *arg)
{
	const struct block *b = arg;
	uint64_t covers = stream_covers(s);

	if (!covers || (s->kind == GST_STREAM_LEGACY) != b->legacy || (b->legacy && b->awaited && b->awaited != s))
		return;
	if (s->programmatic && b->awaited && b->awaited != s)
		return; /* it goes on meanwhile */
	__atomic_fetch_add(&blocks, 1, __ATOMIC_RELAXED);
	edge_record(b->thread, s, GST_EDGE_BLOCK, covers);
}

void edges_before_block(struct thread *t, const struct stream *awaited)
{
	struct block b = { t, awaited, false };

	if (settings.level < GST_LEVEL_EDGES)
		return;
	streams_each_unmarked(mark_before_block, &b);
	b.legacy = true; /* last: what is put into blocking streams behind its edge would wait for it */
	streams_each_unmarked(mark_before_block, &b);
}

/* An edge on a stream known empty, now? The first few at once, and again behind a silence: then they hold the clock by themselves. */
static bool anchor_is_due(struct pool *p, uint64_t now)
{
	int64_t since = (int64_t)(now - __atomic_load_n(&p->last_anchor, __ATOMIC_RELAXED)); /* another thread's now */
	uint32_t anchors = __atomic_load_n(&p->anchors, __ATOMIC_RELAXED);

	if (since > (int64_t)clock_ticks_in(SILENCE_NS))
		anchors = 0;
	if (since <= (int64_t)clock_ticks_in(ANCHOR_NS) && anchors >= FIRST_ANCHORS)
		return false;
	__atomic_store_n(&p->last_anchor, now, __ATOMIC_RELAXED);
	__atomic_store_n(&p->anchors, anchors + 1, __ATOMIC_RELAXED);
	return true;
}

/* pairs_until is the time that the pairs so far have used up, of which the stream may be ahead. */
bool edge_pair_take(struct stream *s)
{
	uint64_t now = clock_ticks(), one = clock_ticks_in(PAIR_NS);
	uint64_t used = __atomic_load_n(&s->pairs_until, __ATOMIC_RELAXED);
	uint64_t from = (int64_t)(used - now) > 0 ? used : now;

	return from - now <= (PAIRS_AT_ONCE - 1) * one &&
	       __atomic_compare_exchange_n(&s->pairs_until, &used, from + one, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

static void begin_pair(struct stream *s)
{
	if (!__atomic_load_n(&s->pair_begun, __ATOMIC_RELAXED) && edge_pair_take(s))
		__atomic_store_n(&s->pair_begun, true, __ATOMIC_RELAXED);
}

/* Its work changes its kind. An edge at the begin of a run of large copies has one at the run's end; where two such runs meet one edge is
 * both. */
static bool pair_has_edge(struct stream *s, uint32_t large)
{
	bool ends = __atomic_exchange_n(&s->pair_begun, false, __ATOMIC_RELAXED);

	if (large)
		begin_pair(s);
	return ends || __atomic_load_n(&s->pair_begun, __ATOMIC_RELAXED);
}

void edge_before_change(struct thread *t, struct stream *s, uint32_t large)
{
	uint64_t entered = __atomic_load_n(&s->entered, __ATOMIC_RELAXED);
	uint32_t last_class = stream_last_class(s);
	struct pool *p;

	if (large == EDGE_PROGRAMMATIC) {
		__atomic_store_n(&s->programmatic, true, __ATOMIC_RELAXED);
	} else if (stream_is_empty(s)) {
		p = pool_of(s->context);
		if (p && anchor_is_due(p, clock_ticks()))
			edge_record(t, s, GST_EDGE_START, entered);
		if (large)
			begin_pair(s);
	} else if (large != last_class && (large || last_class != EDGE_PROGRAMMATIC) &&
		   (last_class == EDGE_WANTED || pair_has_edge(s, large)) && s->marked < entered &&
		   stream_covers(s) == entered) {
		edge_record(t, s, GST_EDGE_CLASS, entered);
	}
	__atomic_store_n(&s->last_class, large, __ATOMIC_RELAXED);
}

static void want_edge(struct stream *s, void *context)
{
	if (s->context == *(const uint64_t *)context && !__atomic_load_n(&s->programmatic, __ATOMIC_RELAXED))
		__atomic_store_n(&s->last_class, EDGE_WANTED, __ATOMIC_RELAXED);
}

void edges_want(void)
{
	int64_t silence = (int64_t)clock_ticks_in(SILENCE_NS);
	uint64_t now = clock_ticks();

	for (unsigned i = 0; i < POOLS; i++) {
		uint64_t context = __atomic_load_n(&pools[i].context, __ATOMIC_ACQUIRE);

		if (!context)
			break;
		if (context != POOL_GONE &&
		    (int64_t)(now - __atomic_load_n(&pools[i].last_edge, __ATOMIC_RELAXED)) > silence)
			streams_each_unmarked(want_edge, &context);
	}
}

/* ---- reading them --------------------------------------------------------------------------------------------------- */

uint32_t edges_pending(void)
{
	uint32_t most = 0;

	for (unsigned i = 0; i < POOLS && pools[i].context; i++) {
		uint32_t n = __atomic_load_n(&pools[i].pending, __ATOMIC_RELAXED);

		most = n > most ? n : most;
	}
	return most;
}

/* The harvester's own: its place in the pool, of each slot that was pending when the harvest began. */
static uint8_t in_order[POOL_EVENTS];
_Static_assert(POOL_EVENTS <= UINT8_MAX + 1, "a slot's place");

/* In the order in which their edges were recorded. How many there are. */
static unsigned order_pending(const struct pool *p)
{
	unsigned n = 0;

	for (unsigned i = 0; i < POOL_EVENTS; i++)
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
static void place_on_chain(struct pool *p, struct slot *s, struct gst_edge *out)
{
	struct slot *base = p->base;
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
static bool harvest_one(struct ring *r, struct pool *p, struct slot *s)
{
	CUresult rc = INJECT(cuEventQuery, s->event);
	struct gst_edge edge;

	if (rc == CUDA_ERROR_NOT_READY)
		return false;
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
static const struct limit limit_all = { POOL_EVENTS, POOL_EVENTS };
static const struct limit limit_few = { 32, 8 }; /* in the program's thread, which needs one */

static uint32_t harvests; /* so far, of all pools */

/* Once an edge has not fired, those behind it in its stream need not be asked. A stream that has gone may have left its place, and edges, to
 * another. */
static bool is_behind_unfired(const struct slot *s)
{
	return s->stream->id == s->edge.stream && s->stream->unfired == harvests;
}

static void harvest_pool(struct ring *r, struct pool *p, struct limit left)
{
	unsigned n = order_pending(p);

	harvests++;
	for (unsigned i = 0; i < n && left.read && left.unfired; i++) {
		struct slot *s = &p->slots[in_order[i]];

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

/* Of the current context. */
static void harvest_few(struct ring *r, struct pool *p)
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
	for (unsigned i = 0; i < POOLS && pools[i].context; i++)
		if (__atomic_load_n(&pools[i].pending, __ATOMIC_RELAXED) && usable(pools[i].context))
			harvest_pool(r, &pools[i], limit_all);
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

void edges_context_gone(uint64_t context)
{
	for (unsigned i = 0; i < POOLS; i++) {
		struct pool *p = &pools[i];

		if (p->context != context)
			continue;
		__atomic_fetch_add(&file_counters()->edges_skipped, p->pending, __ATOMIC_RELAXED);
		memset(p->slots, 0, sizeof(p->slots));
		p->base = NULL;
		p->pending = p->anchors = 0;
		p->last_anchor = p->last_edge = p->full_until = 0;
		__atomic_store_n(&p->context, POOL_GONE, __ATOMIC_RELEASE);
	}
}

void edges_forget(void)
{
	memset(pools, 0, sizeof(pools));
	memset(&gate, 0, sizeof(gate));
	last_edge = blocks = 0;
	harvester = NULL;
}
