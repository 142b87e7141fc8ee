/* SPDX-License-Identifier: BSD-2-Clause */
#include "edge.h"

#include <string.h>

#include "edge_pool.h"
#include "file.h"
#include "gate.h"
#include "self_time.h"
#include "settings.h"

#define ANCHOR_NS 100000000ull /* a stream known empty gets a start edge this often: enough to hold the device clock */
#define FIRST_ANCHORS 8        /* … and the first few at once, so that a short run has some */
/* A context's streams that get work and no edge for so long get one, as a base to change to. Where they got none at all there are as many
 * anchors again as at first. */
#define UNMARKED_NS 2000000000ull

#define PAIR_NS 1000000ull /* edge_pair_take(): below half a percent of the stream's time, at 2 us an edge */
#define PAIRS_AT_ONCE 4    /* a program's step has a few, and then none for long */
#define WAIT_NS 5000000ull /* … and edge_wait_take()'s, which are beside them: together still below half a percent */
#define WAITS_AT_ONCE 12   /* as many steps ahead, beside the four */

/* The driver's queue holds some 1000 commands of a stream. */
#define STALLED_EDGES 64

#define FULL_NS 1000000ull /* a harvest that freed no event is not repeated in the program's thread */

static uint64_t last_edge;

bool edge_may_touch(struct thread *t, const struct stream *s)
{
	return settings.level >= GST_LEVEL_EDGES && s->context && thread_context(t) == s->context &&
	       (s->kind != GST_STREAM_PER_THREAD || s->tid == t->tid);
}

bool edge_may_stand(const struct thread *t, const struct stream *s)
{
	return s->kind != GST_STREAM_LEGACY || !streams_used_beside(t, s, clock_ticks() - clock_ticks_in(IN_USE_NS));
}

struct order {
	enum gst_edge_kind kind;
	bool make; /* an event, if none is free */
	bool stalls;
	uint64_t covers;
	uint32_t burst;
	struct edge_ref *ref; /* NULL: nobody asks for it */
};

/* Recorded between begin and end: from now on it may be read. */
static void set_pending(struct edge_pool *p, struct edge_slot *slot, const struct thread *t, struct stream *s,
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
	__atomic_store_n(&slot->stream, s, __ATOMIC_RELAXED); /* others count what stands in s */
	__atomic_store_n(&slot->covers, o->covers, __ATOMIC_RELAXED);
	slot->stalls = o->stalls;
	if (o->stalls)
		__atomic_fetch_add(&edges_stalling, 1, __ATOMIC_RELAXED);
	if (o->ref)
		*o->ref = (struct edge_ref){ slot, slot->number };
	__atomic_store_n(&p->last_edge, begin, __ATOMIC_RELAXED);
	__atomic_fetch_add(&p->pending, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->state, SLOT_PENDING, __ATOMIC_RELEASE);
}

static struct edge_slot *slot_take(struct edge_pool *p, const struct stream *s, bool make)
{
	if (__atomic_load_n(&edges_stalling, __ATOMIC_RELAXED) &&
	    __atomic_load_n(&p->pending, __ATOMIC_RELAXED) >= STALLED_EDGES && edge_pool_unfired(p, s) >= STALLED_EDGES)
		return NULL;
	return edge_slot_take(p, make);
}

/* More edges than the helper reads: a few are read here, unless that has just been in vain. What fires meanwhile the helper reads. */
static struct edge_slot *slot_make_room(struct thread *t, struct edge_pool *p, const struct stream *s, bool make)
{
	uint64_t now = clock_ticks();
	struct edge_slot *slot;

	if ((int64_t)(now - __atomic_load_n(&p->full_until, __ATOMIC_RELAXED)) < 0)
		return NULL;
	edges_harvest_few(&t->ring, p);
	slot = slot_take(p, s, make);
	if (!slot)
		__atomic_store_n(&p->full_until, now + clock_ticks_in(FULL_NS), __ATOMIC_RELAXED);
	return slot;
}

static bool record(struct thread *t, struct stream *s, const struct order *o)
{
	struct edge_pool *p;
	struct edge_slot *slot = NULL;
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
	p = edge_pool_of(s->context);
	slot = p ? slot_take(p, s, o->make) : NULL;
	if (p && !slot) {
		slot = slot_make_room(t, p, s, o->make);
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

bool edge_record(struct thread *t, struct stream *s, enum gst_edge_kind kind, uint64_t covers)
{
	return record(t, s, &(struct order){ .kind = kind, .make = true, .covers = covers });
}

bool edge_record_stalls(struct thread *t, struct stream *s, enum gst_edge_kind kind, uint64_t covers)
{
	return record(t, s, &(struct order){ .kind = kind, .make = true, .stalls = true, .covers = covers });
}

void edge_record_warm(struct thread *t, struct stream *s, enum gst_edge_kind kind, uint64_t covers)
{
	record(t, s, &(struct order){ .kind = kind, .covers = covers });
}

bool edge_record_in(struct thread *t, struct stream *s, enum gst_edge_kind kind, uint64_t covers, uint32_t burst,
		    struct edge_ref *ref)
{
	return record(t, s,
		      &(struct order){ .kind = kind, .make = true, .covers = covers, .burst = burst, .ref = ref });
}

/* Its event may be another edge's by now: read, and taken again. Then it has fired. */
static bool is_pending(const struct edge_slot *s, uint64_t number)
{
	return __atomic_load_n(&s->state, __ATOMIC_ACQUIRE) == SLOT_PENDING &&
	       __atomic_load_n(&s->number, __ATOMIC_RELAXED) == number;
}

bool edge_is_pending(struct thread *t, const struct edge_ref *ref)
{
	const struct edge_slot *s = ref->slot;
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
	struct edge_pool *p;

	if (!edge_may_touch(t, s) || !gate_enter())
		return;
	begin = clock_ticks();
	p = edge_pool_of(s->context);
	if (p)
		edge_pool_reserve(p, count);
	self_time_injected(t, clock_ticks() - begin);
	gate_leave();
}

static uint64_t blocks;

uint64_t edges_blocks(void)
{
	return __atomic_load_n(&blocks, __ATOMIC_RELAXED);
}

static uint64_t of_nccl;

void edges_count_nccl(void)
{
	__atomic_fetch_add(&of_nccl, 1, __ATOMIC_RELAXED);
}

uint64_t edges_of_nccl(void)
{
	return __atomic_load_n(&of_nccl, __ATOMIC_RELAXED);
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
	if (b->awaited && b->awaited != s && edge_parts(s))
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
static bool anchor_is_due(struct edge_pool *p, uint64_t now)
{
	int64_t since = (int64_t)(now - __atomic_load_n(&p->last_anchor, __ATOMIC_RELAXED)); /* another thread's now */
	uint32_t anchors = __atomic_load_n(&p->anchors, __ATOMIC_RELAXED);

	if (since > (int64_t)clock_ticks_in(UNMARKED_NS))
		anchors = 0;
	if (since <= (int64_t)clock_ticks_in(ANCHOR_NS) && anchors >= FIRST_ANCHORS)
		return false;
	__atomic_store_n(&p->last_anchor, now, __ATOMIC_RELAXED);
	__atomic_store_n(&p->anchors, anchors + 1, __ATOMIC_RELAXED);
	return true;
}

/* *until is the time that the pairs so far have used up, of which the stream may be ahead. */
static bool take(uint64_t *until, uint64_t one, unsigned at_once)
{
	uint64_t now = clock_ticks();
	uint64_t used = __atomic_load_n(until, __ATOMIC_RELAXED);
	uint64_t from = (int64_t)(used - now) > 0 ? used : now;

	return from - now <= (at_once - 1) * one &&
	       __atomic_compare_exchange_n(until, &used, from + one, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

bool edge_pair_take(struct stream *s)
{
	return take(&s->pairs_until, clock_ticks_in(PAIR_NS), PAIRS_AT_ONCE);
}

bool edge_wait_take(struct stream *s)
{
	return edge_pair_take(s) || take(&s->waits_until, clock_ticks_in(WAIT_NS), WAITS_AT_ONCE);
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
	struct edge_pool *p;

	if (large == EDGE_PROGRAMMATIC)
		__atomic_store_n(&s->programmatic, true, __ATOMIC_RELAXED);
	if (large == EDGE_PROGRAMMATIC || last_class == EDGE_PROGRAMMATIC)
		__atomic_store_n(&s->plain_from, entered + EDGE_PLAIN_AGAIN, __ATOMIC_RELAXED);
	if (large != EDGE_PROGRAMMATIC && stream_is_empty(s)) {
		p = edge_pool_of(s->context);
		if (p && anchor_is_due(p, clock_ticks()))
			edge_record(t, s, GST_EDGE_START, entered);
		if (large)
			begin_pair(s);
	} else if (large != EDGE_PROGRAMMATIC && large != last_class && (large || last_class != EDGE_PROGRAMMATIC) &&
		   (last_class == EDGE_WANTED || pair_has_edge(s, large)) && s->marked < entered &&
		   stream_covers(s) == entered) {
		edge_record(t, s, GST_EDGE_CLASS, entered);
	}
	__atomic_store_n(&s->last_class, large, __ATOMIC_RELAXED);
}

static void want_edge(struct stream *s, void *context)
{
	if (s->context == *(const uint64_t *)context && !edge_parts(s))
		__atomic_store_n(&s->last_class, EDGE_WANTED, __ATOMIC_RELAXED);
}

void edges_want(void)
{
	int64_t silence = (int64_t)clock_ticks_in(UNMARKED_NS);
	uint64_t now = clock_ticks();

	for (unsigned i = 0; i < EDGE_POOLS; i++) {
		uint64_t context = __atomic_load_n(&edge_pools[i].context, __ATOMIC_ACQUIRE);

		if (!context)
			break;
		if (context != EDGE_POOL_GONE &&
		    (int64_t)(now - __atomic_load_n(&edge_pools[i].last_edge, __ATOMIC_RELAXED)) > silence)
			streams_each_unmarked(want_edge, &context);
	}
}

void edges_forget(void)
{
	memset(&gate, 0, sizeof(gate));
	last_edge = blocks = of_nccl = 0;
	edge_pools_forget();
	edges_read_forget();
}
