/* SPDX-License-Identifier: BSD-2-Clause */
#include "recycle.h"

#include <errno.h>

#include "clock.h"
#include "file.h"
#include "keeper.h"
#include "layout.h"
#include "segment_table.h"

#define TRIES 4 /* segments that are looked at for one that can be given up */
#define NONE_LEFT (-1)

struct contents {
	uint64_t records, calls; /* that are gone with it */
	uint64_t kept_bytes;     /* that must not be gone */
};

static void count(const struct gst_record *r, void *arg)
{
	struct contents *c = arg;

	c->kept_bytes += keeper_wants(r) ? r->size : 0;
	c->records += !gst_is_definition(r->type);
	c->calls += r->type == GST_CALL;
}

static void raise_to(uint64_t *p, uint64_t value)
{
	uint64_t old = __atomic_load_n(p, __ATOMIC_RELAXED);

	while (old < value && !__atomic_compare_exchange_n(p, &old, value, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

static void tell(const struct contents *c, uint64_t left_ticks)
{
	struct gst_counters *counters = file_counters();

	file_mark_recycled();
	raise_to(&counters->recycled_until, left_ticks);
	__atomic_fetch_add(&counters->records_recycled, c->records, __ATOMIC_RELAXED);
	__atomic_fetch_add(&counters->calls_recycled, c->calls, __ATOMIC_RELAXED);
	__atomic_fetch_add(&counters->segments_recycled, 1, __ATOMIC_RELAXED);
}

static int give_up(struct segment *s, uint64_t left_ticks, bool rather_lose)
{
	struct contents c = { 0 };
	int rc = segment_map(s, false), kept;

	if (rc)
		return rc;
	layout_each_record(s->base, count, &c);
	kept = keeper_copy(s, c.kept_bytes, rather_lose);
	if (kept && c.kept_bytes) {
		segment_release(s->base);
		return kept;
	}
	tell(&c, left_ticks);
	segment_blank(s);
	segment_table_recycled(s->index);
	s->recycles++;
	s->begin_ticks = clock_ticks();
	return 0;
}

static void leave(uint32_t *own)
{
	if (own && *own != GST_NONE) {
		segment_table_leave(*own);
		*own = GST_NONE;
	}
}

/* Gives up the oldest one left after `after`. 0, or an errno, or NONE_LEFT. As soon as it is the caller's, its own is left to others: nobody
 * holds two for long. own_left: when that was, 0 never. */
static int next(uint64_t *after, bool rather_lose, struct segment *out, const uint32_t *own, uint64_t *own_left)
{
	uint64_t left_ticks;
	struct segment s = { .index = segment_table_take_oldest(segments_used(), *after, &left_ticks) };
	int rc;

	*own_left = 0;
	if (s.index == GST_NONE)
		return NONE_LEFT;
	if (own && *own != GST_NONE)
		*own_left = segment_table_leave(*own);
	s.recycles = segment_table_recycles(s.index);
	rc = give_up(&s, left_ticks, rather_lose);
	if (rc) { /* a younger one may have nothing that must be kept */
		segment_table_put_back(s.index, left_ticks);
		*after = left_ticks;
	} else {
		*out = s;
	}
	return rc;
}

/* 0, or an errno, ENOSPC where nobody has room for what must be kept; or NONE_LEFT. What it found becomes the keeper's only where the caller has
 * its own again, or never had one: another thread may have taken that meanwhile. leaves: so many stay for others. */
static int have(bool rather_lose, unsigned leaves, struct segment *out, uint32_t *own)
{
	uint64_t after = 0, own_left;
	int rc = NONE_LEFT;
	bool gave = false;

	for (unsigned tries = 0; tries < TRIES; tries++) {
		bool own_is_gone;
		int last;

		if (leaves && !segment_table_has_more_than(leaves, segments_used()))
			break;
		last = next(&after, rather_lose, out, own, &own_left);
		if (last == NONE_LEFT)
			break;
		own_is_gone = own_left && !segment_table_take(*own, own_left);
		rc = last;
		if (own_is_gone)
			*own = GST_NONE;
		if (!rc && (own_is_gone || !keeper_take(out))) {
			leave(own);
			return 0;
		}
		gave |= !rc;
		if (rc && rc != ENOSPC && rc != EBUSY)
			break;
	}
	if (gave && own && *own == GST_NONE && keeper_give_back(out)) /* there is no other for a thread without one */
		return 0;
	return rc ? rc : NONE_LEFT;
}

static int give_up_own(uint32_t *own, bool rather_lose, struct segment *out)
{
	struct segment s = { .index = own ? *own : GST_NONE };
	int rc;

	if (s.index == GST_NONE)
		return NONE_LEFT;
	s.recycles = segment_table_recycles(s.index);
	__sync_synchronize(); /* as where a segment is left */
	rc = give_up(&s, clock_ticks(), rather_lose);
	if (rc)
		return rc;
	*own = GST_NONE;
	*out = s;
	return 0;
}

/* One of those left, else the caller's own. That becomes the keeper's only if another one can be given up then; where another thread was
 * quicker to take that, the keeper's reserve is the caller's. */
static int have_or_own(bool rather_lose, struct segment *out, uint32_t *own)
{
	int rc = have(rather_lose, 0, out, own), last;

	if (rc != NONE_LEFT && rc != ENOSPC && rc != EBUSY)
		return rc;
	last = give_up_own(own, rather_lose, out);
	if (last == 0 && rc == ENOSPC && keeper_take(out)) {
		rc = have(rather_lose, 0, out, own);
		return rc && keeper_give_back(out) ? 0 : rc;
	}
	return last == NONE_LEFT ? rc : last;
}

int recycle(struct segment *out, uint32_t *own)
{
	int rc = have_or_own(false, out, own);

	if (rc == ENOSPC || rc == NONE_LEFT)
		rc = have_or_own(true, out, own);
	return rc == NONE_LEFT ? ENOSPC : rc;
}

int recycle_ahead(struct segment *out)
{
	int rc = have(false, 1, out, NULL);

	return rc == NONE_LEFT ? ENOSPC : rc;
}
