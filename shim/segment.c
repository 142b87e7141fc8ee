/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "apart.h"
#include "clock.h"
#include "file.h"
#include "keeper.h"
#include "layout.h"
#include "pages.h"
#include "recycle.h"
#include "segment_table.h"
#include "settings.h"

#define TRY_TO_GROW_EVERY 16u /* segments given up: a full disk may have room again */

static uint32_t next_segment;
static uint32_t gone;          /* no more segments */
static int gone_why;           /* an errno that nobody could say yet: our own threads have no stderr */
static uint32_t full;          /* errno of the last growth in vain, 0 none */
static uint32_t grow_again_at; /* … and it is not tried again before this many were given up */
static uint32_t given_up;

/* Places that were claimed and could not be filled while others were claimed behind them. Whoever comes next takes one of these, with the
 * tick of its first claim: what is said of a segment's begin_ticks then holds for it. More of them than this stay unused. */
#define HOLES 64
static struct hole {
	uint32_t state; /* whoever changes it to HOLE_CHANGING owns it until its next state */
	uint32_t index;
	uint64_t begin_ticks;
} holes[HOLES];
enum hole_state { HOLE_NONE, HOLE_CHANGING, HOLE_THERE };

struct mapping {
	struct segment *segment;
	bool allocate;
	int rc; /* 0, or an errno of what is in the way */
};

static int map(struct segment *s, bool allocate)
{
	uint64_t offset = GST_SEGMENTS_OFFSET + (uint64_t)s->index * GST_SEGMENT_BYTES;
	int fd = -1, rc = file_open_again(&fd);

	if (rc)
		return rc;
	if (allocate) {
		do
			rc = posix_fallocate(fd, (off_t)offset, GST_SEGMENT_BYTES);
		while (rc == EINTR);
	}
	if (rc == 0) {
		s->base = pages_map(fd, offset, GST_SEGMENT_BYTES);
		if (!s->base)
			rc = errno;
	}
	close(fd);
	return rc;
}

static void map_apart(void *arg)
{
	struct mapping *m = arg;

	m->rc = map(m->segment, m->allocate);
}

/* Apart: a thread makes its first segment, and now and then another one, in the middle of the program's work. */
int segment_map(struct segment *s, bool allocate)
{
	struct mapping m = { s, allocate, 0 };

	apart_run(map_apart, &m);
	return m.rc;
}

static uint32_t limit_segments(void)
{
	uint64_t room = settings.limit_bytes > GST_SEGMENTS_OFFSET ? settings.limit_bytes - GST_SEGMENTS_OFFSET : 0;

	return room / GST_SEGMENT_BYTES < GST_SEGMENT_CAPACITY ? (uint32_t)(room / GST_SEGMENT_BYTES)
							       : GST_SEGMENT_CAPACITY;
}

uint32_t segments_used(void)
{
	uint32_t used = __atomic_load_n(&next_segment, __ATOMIC_ACQUIRE);

	return used < GST_SEGMENT_CAPACITY ? used : GST_SEGMENT_CAPACITY;
}

uint32_t segments_allowed(void)
{
	uint32_t limit = limit_segments(), used = segments_used();

	return __atomic_load_n(&full, __ATOMIC_RELAXED) && used < limit ? used : limit;
}

bool segments_gone(void)
{
	return __atomic_load_n(&gone, __ATOMIC_RELAXED);
}

static struct hole *hole_find(uint32_t state)
{
	for (unsigned i = 0; i < HOLES; i++) {
		uint32_t found = __atomic_load_n(&holes[i].state, __ATOMIC_RELAXED);

		if (found == state && __atomic_compare_exchange_n(&holes[i].state, &found, HOLE_CHANGING, false,
								  __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return &holes[i];
	}
	return NULL;
}

static struct segment place_claim(void)
{
	struct segment s = { .begin_ticks = clock_ticks() };
	struct hole *hole = hole_find(HOLE_THERE);

	if (hole) {
		s.index = hole->index;
		s.begin_ticks = hole->begin_ticks;
		__atomic_store_n(&hole->state, HOLE_NONE, __ATOMIC_RELEASE);
	} else {
		s.index = __atomic_fetch_add(&next_segment, 1, __ATOMIC_SEQ_CST);
	}
	return s;
}

/* Who tries often uses none up. */
static void place_give_back(const struct segment *s)
{
	uint32_t next = s->index + 1;
	struct hole *hole;

	if (__atomic_compare_exchange_n(&next_segment, &next, s->index, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED) ||
	    s->index >= limit_segments())
		return;
	hole = hole_find(HOLE_NONE);
	if (!hole)
		return;
	hole->index = s->index;
	hole->begin_ticks = s->begin_ticks;
	__atomic_store_n(&hole->state, HOLE_THERE, __ATOMIC_RELEASE);
}

/* 0, or an errno. */
static int grow(struct segment *out)
{
	struct segment s = place_claim();
	int rc = EFBIG;

	if (s.index < limit_segments() &&
	    layout_may_grow_to(GST_SEGMENTS_OFFSET + (s.index + 1ull) * GST_SEGMENT_BYTES))
		rc = segment_map(&s, true);
	if (rc)
		place_give_back(&s);
	else
		*out = s;
	return rc;
}

static bool no_room(int rc)
{
	return rc == EFBIG || rc == ENOSPC || rc == EDQUOT;
}

/* The keeper's first one, while there is room; the last one there is room for is the keeper's, too. False: it is. */
static bool remains_after_the_keeper(struct segment *s)
{
	struct segment another, *reserve = s;

	if (!keeper_comes_next(s->index, limit_segments()))
		return true;
	if (grow(&another) == 0)
		reserve = &another;
	if (keeper_take(reserve))
		return reserve != s;
	if (reserve != s) { /* another thread gave one meanwhile */
		segment_release(reserve->base);
		place_give_back(reserve);
	}
	return true;
}

static int grow_if_there_may_be_room(struct segment *out)
{
	uint32_t why = __atomic_load_n(&full, __ATOMIC_RELAXED);
	int rc;

	if (why && __atomic_load_n(&given_up, __ATOMIC_RELAXED) < __atomic_load_n(&grow_again_at, __ATOMIC_RELAXED))
		return (int)why;
	rc = grow(out);
	if (rc == 0 && !remains_after_the_keeper(out))
		rc = EFBIG;
	if (!no_room(rc))
		return rc;
	if (rc != EFBIG)
		__atomic_store_n(&file_counters()->drop_errno, (uint64_t)rc, __ATOMIC_RELAXED);
	__atomic_store_n(&grow_again_at, __atomic_load_n(&given_up, __ATOMIC_RELAXED) + TRY_TO_GROW_EVERY,
			 __ATOMIC_RELAXED);
	if (!__atomic_exchange_n(&full, (uint32_t)rc, __ATOMIC_RELAXED))
		settings_log("%s: from now on the oldest records are given up",
			     rc == EFBIG ? "the limit is reached" : strerror(rc));
	return rc;
}

/* *out is changed only where there is one: what is on the way to it may become the keeper's. ahead: nobody needs it now. */
static int have(struct segment *out, uint32_t *own, bool ahead)
{
	struct segment s;
	int rc, recycled;

	if (!file_is_open() || segments_gone())
		return ENOENT;
	rc = grow_if_there_may_be_room(&s);
	if (no_room(rc)) {
		recycled = ahead ? recycle_ahead(&s) : recycle(&s, own);
		if (recycled == 0)
			__atomic_fetch_add(&given_up, 1, __ATOMIC_RELAXED);
		else if (!ahead || !segment_table_has_more_than(0, segments_used()))
			__atomic_store_n(&grow_again_at, 0, __ATOMIC_RELAXED); /* nothing to lose by trying */
		rc = recycled == ENOSPC ? rc : recycled;
	}
	if (rc == 0)
		*out = s;
	return rc;
}

/* Out of descriptors is the program's moment, not ours: the next segment may be had again. */
static bool is_a_moment(int rc)
{
	return rc == EBUSY || rc == EAGAIN || rc == EMFILE || rc == ENFILE;
}

/* What will last says more than what passed, and what the system says more than our own limit. */
static void note_why_dropped(int rc)
{
	uint64_t *why = &file_counters()->drop_errno;

	if ((!is_a_moment(rc) && rc != EFBIG) || !__atomic_load_n(why, __ATOMIC_RELAXED))
		__atomic_store_n(why, (uint64_t)rc, __ATOMIC_RELAXED);
}

bool segment_try(struct segment *out)
{
	int saved_errno = errno, rc = have(out, NULL, true);

	errno = saved_errno;
	return rc == 0;
}

int segment_claim(struct segment *out, uint32_t *own)
{
	struct undisturbed u;
	int saved_errno = errno, rc;

	undisturbed_begin(&u);
	rc = have(out, own, false);
	undisturbed_end(&u);

	if (rc && file_is_open()) {
		note_why_dropped(rc);
		if (!no_room(rc) && !is_a_moment(rc)) {
			if (!__atomic_exchange_n(&gone, 1, __ATOMIC_RELAXED))
				gone_why = rc;
			if (gone_why && settings_log("recording stops: %s", strerror(gone_why)))
				gone_why = 0;
		}
	}
	errno = saved_errno;
	return rc;
}

void segment_sign(const struct segment *s, const struct segment_owner *owner)
{
	struct gst_segment_header h = {
		.magic = GST_SEGMENT_MAGIC,
		.index = s->index,
		.tid = owner->tid,
		.begin_ticks = s->begin_ticks,
		.thread_seq = owner->thread_seq,
		.previous = owner->previous,
		.recycles = s->recycles,
		.previous_recycles = owner->previous_recycles,
		.flags = owner->flags,
	};

	memcpy(h.thread_name, owner->name, sizeof(h.thread_name) - 1);
	layout_sign(file_head(), s->base, &h);
}

void segment_blank(const struct segment *s)
{
	layout_blank(file_head(), s->base, s->index);
}

void segment_release(uint8_t *base)
{
	pages_unmap(base, GST_SEGMENT_BYTES);
}

void segments_forget(void)
{
	keeper_forget();
	segment_table_forget(segments_used());
	gone_why = 0;
	memset(holes, 0, sizeof(holes));
	next_segment = gone = full = grow_again_at = given_up = 0;
}
