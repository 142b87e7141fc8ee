/* SPDX-License-Identifier: BSD-2-Clause */
#include "keeper.h"

#include <errno.h>
#include <string.h>

#include "clock.h"
#include "file.h"
#include "layout.h"
#include "ring.h"

/* A file that grows to this many may grow further: then the reserve is had while there is room. */
#define FIRST_SEGMENT 3u
#define ANCHOR_NS 60000000000ull
#define ANCHOR_SHARE 64 /* of the run so far */
#define SWITCHED_MAX 65536u

static struct {
	uint32_t lock;
	struct ring ring;       /* .segment NULL: none yet */
	struct segment reserve; /* .base NULL: none */
	uint32_t segments;      /* filled, being filled, and the reserve */
	uint32_t anchors;
	uint32_t hooks_lost;                  /* names of hooks were given up */
	uint64_t last_anchor;                 /* ticks */
	uint64_t switched[SWITCHED_MAX / 64]; /* structures of graphs of which a switched node is told already */
} keeper;

static bool lock(void)
{
	return !__atomic_exchange_n(&keeper.lock, 1, __ATOMIC_ACQUIRE);
}

static void unlock(void)
{
	__atomic_store_n(&keeper.lock, 0, __ATOMIC_RELEASE);
}

/* Of the file it may fill: half. */
static uint32_t share(void)
{
	return segments_allowed() / 2;
}

bool keeper_comes_next(uint32_t index, uint32_t segments)
{
	return (index >= FIRST_SEGMENT || index + 2 >= segments) &&
	       !__atomic_load_n(&keeper.segments, __ATOMIC_RELAXED);
}

bool keeper_take(struct segment *s)
{
	bool wanted;

	if (!lock())
		return false;
	wanted = !keeper.reserve.base && keeper.segments < share();
	if (wanted) {
		keeper.reserve = *s;
		__atomic_store_n(&keeper.segments, keeper.segments + 1, __ATOMIC_RELAXED);
	}
	unlock();
	return wanted;
}

bool keeper_give_back(struct segment *s)
{
	bool had;

	if (!lock())
		return false;
	had = keeper.reserve.base != NULL;
	if (had) {
		*s = keeper.reserve;
		keeper.reserve.base = NULL;
		__atomic_store_n(&keeper.segments, keeper.segments - 1, __ATOMIC_RELAXED);
	}
	unlock();
	return had;
}

/* ---- which records --------------------------------------------------------------------------------------------------- */

static const struct gst_call *as_switch(const struct gst_record *r)
{
	const struct gst_call *c = (const struct gst_call *)r;

	return r->type == GST_CALL && c->family == GST_FAMILY_GRAPH_CHANGE && c->detail >= GST_CHANGE_OFF &&
			       c->detail <= GST_CHANGE_ON
		       ? c
		       : NULL;
}

bool keeper_wants(const struct gst_record *r)
{
	const struct gst_call *change;

	if (gst_is_definition(r->type))
		return true;
	change = as_switch(r);
	return change &&
	       (change->seq >= SWITCHED_MAX ||
		!(__atomic_load_n(&keeper.switched[change->seq / 64], __ATOMIC_RELAXED) >> change->seq % 64 & 1));
}

static void note_switch(const struct gst_record *r)
{
	const struct gst_call *change = as_switch(r);

	if (change && change->seq < SWITCHED_MAX)
		__atomic_fetch_or(&keeper.switched[change->seq / 64], 1ull << change->seq % 64, __ATOMIC_RELAXED);
}

/* A clock that is held for days needs few anchors of its first hours. */
static bool anchor_is_due(const struct gst_record *r)
{
	const struct gst_anchor *a = (const struct gst_anchor *)r;
	const struct gst_file_header *h = (const struct gst_file_header *)(const void *)file_head();
	int64_t apart = (int64_t)clock_ticks_in(ANCHOR_NS), so_far;

	if (r->type != GST_ANCHOR)
		return false;
	so_far = (int64_t)(a->ticks - h->start_ticks);
	if (so_far / ANCHOR_SHARE > apart)
		apart = so_far / ANCHOR_SHARE;
	/* Segments come in no order of time: one of the past is near those that were kept of then. */
	return keeper.anchors < 2 || (int64_t)(a->ticks - keeper.last_anchor) >= apart;
}

/* Graphs and stacks are large, and may be many; they leave the last quarter to names and streams. */
static bool is_bulky(uint16_t type)
{
	return type == GST_GRAPH || type == GST_GRAPH_NODES || type == GST_GRAPH_EDGES || type == GST_STACK;
}

static bool bulky_have_had_their_share(void)
{
	uint32_t filled = keeper.segments - (keeper.reserve.base != NULL);

	return filled * 4 > share() * 3;
}

/* ---- copying --------------------------------------------------------------------------------------------------------- */

struct copying {
	const struct segment *from;
	bool named; /* the kept segment says already that what follows is from there */
};

static void begin_kept_segment(void)
{
	struct segment_owner nobody = {
		.thread_seq = keeper.ring.segment ? keeper.ring.thread_seq + 1 : 0,
		.previous = keeper.ring.segment ? keeper.ring.index : GST_NONE,
		.previous_recycles = keeper.ring.segment ? keeper.ring.recycles : 0,
		.flags = GST_SEGMENT_KEPT,
	};
	uint8_t *filled = keeper.ring.segment;

	segment_sign(&keeper.reserve, &nobody);
	keeper.ring = (struct ring){ .segment = keeper.reserve.base,
				     .at = sizeof(struct gst_segment_header),
				     .index = keeper.reserve.index,
				     .recycles = keeper.reserve.recycles,
				     .thread_seq = nobody.thread_seq };
	keeper.reserve.base = NULL;
	/* Last: a child of a fork in between must not unmap what is there instead by then. */
	if (filled)
		segment_release(filled);
}

static void lost(const struct gst_record *r)
{
	__atomic_fetch_add(&file_counters()->definitions_lost, 1, __ATOMIC_RELAXED);
	if (r->type == GST_NAME && ((const struct gst_name *)r)->space == GST_SPACE_HOOK)
		__atomic_store_n(&keeper.hooks_lost, 1, __ATOMIC_RELAXED);
}

bool keeper_lost_hooks(void)
{
	return __atomic_load_n(&keeper.hooks_lost, __ATOMIC_RELAXED) &&
	       __atomic_exchange_n(&keeper.hooks_lost, 0, __ATOMIC_RELAXED);
}

/* False: no room for it. */
static bool make_room(struct copying *c, uint32_t bytes)
{
	struct gst_kept source = { .segment = c->from->index, .recycles = c->from->recycles };

	if (!keeper.ring.segment || keeper.ring.at + bytes + (c->named ? 0 : sizeof(source)) > GST_SEGMENT_BYTES) {
		if (!keeper.reserve.base)
			return false;
		begin_kept_segment();
		c->named = false;
	}
	if (!c->named)
		ring_append(&keeper.ring, GST_KEPT, sizeof(source), &source);
	c->named = true;
	return true;
}

static void copy_record(const struct gst_record *r, void *arg)
{
	struct copying *c = arg;
	bool wanted = keeper_wants(r);
	uint8_t *to;

	if (!wanted && !anchor_is_due(r))
		return;
	if ((is_bulky(r->type) && bulky_have_had_their_share()) || !make_room(c, r->size)) {
		if (wanted)
			lost(r);
		return;
	}
	to = ring_reserve(&keeper.ring, r->type, r->size);
	memcpy(to + sizeof(*r), (const uint8_t *)r + sizeof(*r), r->size - sizeof(*r));
	ring_commit(to);
	note_switch(r);
	if (r->type == GST_ANCHOR) {
		keeper.anchors++;
		if ((int64_t)(((const struct gst_anchor *)r)->ticks - keeper.last_anchor) > 0)
			keeper.last_anchor = ((const struct gst_anchor *)r)->ticks;
	}
}

static bool has_room_for(uint64_t bytes)
{
	return keeper.reserve.base ||
	       (keeper.ring.segment && keeper.ring.at + sizeof(struct gst_kept) + bytes <= GST_SEGMENT_BYTES);
}

int keeper_copy(const struct segment *from, uint64_t bytes, bool rather_lose)
{
	struct copying c = { .from = from };
	int rc = 0;

	if (!lock())
		return EBUSY;
	if (has_room_for(bytes) || keeper.segments >= share() || (rather_lose && keeper.ring.segment))
		layout_each_record(from->base, copy_record, &c);
	else
		rc = ENOSPC;
	unlock();
	return rc;
}

void keeper_forget(void)
{
	if (keeper.ring.segment)
		segment_release(keeper.ring.segment);
	if (keeper.reserve.base)
		segment_release(keeper.reserve.base);
	memset(&keeper, 0, sizeof(keeper));
}
