/* SPDX-License-Identifier: BSD-2-Clause */
#include "ring.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apart.h"
#include "clock.h"
#include "file.h"
#include "late.h"
#include "segment.h"
#include "segment_table.h"
#include "stock.h"

void (*ring_begins)(struct ring *r);

#define TRY_AGAIN_BYTES GST_SEGMENT_BYTES /* of records dropped */
#define TRY_SOON_BYTES 16384u             /* where another thread was in the way */

/* The segment becomes the ring's; what it has is the one before. */
static void go_on_in(struct ring *r, const struct segment *s)
{
	struct segment_owner me = { .tid = (uint32_t)syscall(SYS_gettid),
				    .thread_seq = r->thread_seq + 1,
				    .previous = r->index,
				    .previous_recycles = r->recycles };

	prctl(PR_GET_NAME, me.name);
	segment_sign(s, &me);
	r->segment = s->base;
	r->index = s->index;
	r->recycles = s->recycles;
	r->thread_seq++;
	r->refused = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	r->at = sizeof(struct gst_segment_header);
	r->moving = false;
	if (ring_begins)
		ring_begins(r);
}

/* Another thread is in the way, or the kernel could not map it in this moment. */
static bool is_busy(int rc)
{
	return rc == EBUSY || rc == EAGAIN;
}

static enum drop drop_of(int rc)
{
	return is_busy(rc) ? DROP_BUSY : rc == EFBIG ? DROP_LIMIT : DROP_DISK;
}

static void refuse(struct ring *r, int rc)
{
	r->moving = false;
	if (rc == EMFILE || rc == ENFILE)
		return;
	r->refused = 1 + drop_of(rc);
	r->at = 2 * GST_SEGMENT_BYTES - (is_busy(rc) ? TRY_SOON_BYTES : TRY_AGAIN_BYTES) + 8;
}

static void *dropped(enum drop why)
{
	file_count_dropped(why, 1);
	return NULL;
}

/* Into another segment. */
static void *move(struct ring *r, uint16_t type, uint16_t size)
{
	uint8_t *full = r->segment;
	uint32_t own = full ? r->index : GST_NONE;
	struct segment s;
	int rc = 0;

	if (r->moving)
		return dropped(DROP_BUSY);
	if (r->at > GST_SEGMENT_BYTES * 2) { /* do not wrap around in the end */
		r->at = GST_SEGMENT_BYTES + 8;
		r->refused = 0;
	}
	if (r->refused)
		return dropped((enum drop)(r->refused - 1));
	r->moving = true;
	if (!stock_take(&s)) {
		r->segment = NULL;
		rc = segment_claim(&s, &own);
	}
	if (rc) {
		refuse(r, rc);
		/* It goes on in its own soon: nobody else is to have that. Where the kernel can map no more, ours is the one to unmap. */
		if (rc == EBUSY && own != GST_NONE) {
			r->segment = full;
			own = GST_NONE;
			full = NULL;
		}
	} else {
		go_on_in(r, &s);
		late_append(r);
	}
	if (own != GST_NONE)
		segment_table_leave(own);
	/* No longer the ring's: a child of a fork in a signal handler gives each of them back once. */
	if (full)
		stock_unmap(full);
	return rc ? dropped(drop_of(rc)) : ring_reserve(r, type, size);
}

void *ring_reserve_elsewhere(struct ring *r, uint16_t type, uint16_t size)
{
	struct undisturbed u;
	void *place;

	if (r->refused && r->at <= GST_SEGMENT_BYTES * 2)
		return dropped((enum drop)(r->refused - 1));
	/* A handler's records would find no room meanwhile, and one that jumps away would leave us in between for good. */
	undisturbed_begin(&u);
	if (r->segment && r->at + size <= GST_SEGMENT_BYTES)
		place = ring_reserve(r, type, size); /* one came just before, and made room */
	else
		place = move(r, type, size);
	undisturbed_end(&u);
	return place;
}

/* An append that was interrupted after it had its place has left it without a commit. One that found no room is coming here, and will look
 * again. The segment is looked through from its beginning: some 10 us, at its end. */
static bool none_is_under_way(const struct ring *r)
{
	uint32_t at = sizeof(struct gst_segment_header), end = __atomic_load_n(&r->at, __ATOMIC_RELAXED);

	if (end > GST_SEGMENT_BYTES)
		return true;
	while (at < end) {
		const struct gst_record *record = (const struct gst_record *)(const void *)(r->segment + at);

		if (record->commit != GST_COMMIT || record->size < sizeof(*record))
			return false;
		at += record->size;
	}
	return at == end;
}

void ring_append_here(struct ring *r, uint16_t type, uint16_t size, const void *record)
{
	uint32_t at = __atomic_load_n(&r->at, __ATOMIC_RELAXED);
	bool room;
	uint8_t *to;

	/* Another handler may come in between and take the room. A place is taken only if it is one: `at` beyond the end says that nobody has any. */
	do
		room = !r->moving && at + size <= GST_SEGMENT_BYTES;
	while (room && !__atomic_compare_exchange_n(&r->at, &at, at + size, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	if (room) {
		to = ring_place(r, at, type, size);
		memcpy(to + sizeof(struct gst_record), (const uint8_t *)record + sizeof(struct gst_record),
		       size - sizeof(struct gst_record));
		ring_commit(to);
	} else if (none_is_under_way(r)) {
		ring_append(r, type, size, record);
	} else if (!late_keep(r, type, size, record)) {
		dropped(DROP_BUSY);
	}
}

/* ---- segments given back by threads that ended -------------------------------------------------------------------- */

#define SPARE_SLOTS 64

static struct spare {
	uint8_t *segment; /* NULL: free slot. Taken and given by exchange, so a slot has one owner. */
	uint32_t at, index, recycles, thread_seq;
	uint64_t left;  /* the table of segments has it since then, or it was given up */
	uint32_t state; /* 0 free, 1 being changed, 2 holds one */
} spares[SPARE_SLOTS];

static bool spare_change(struct spare *s, uint32_t from)
{
	return __atomic_compare_exchange_n(&s->state, &from, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static bool spare_take(struct ring *r)
{
	for (unsigned i = 0; i < SPARE_SLOTS; i++) {
		struct spare *s = &spares[i];
		bool had;

		if (__atomic_load_n(&s->state, __ATOMIC_RELAXED) != 2 || !spare_change(s, 2))
			continue;
		had = segment_table_take(s->index, s->left);
		if (had)
			*r = (struct ring){ .segment = s->segment,
					    .at = s->at,
					    .index = s->index,
					    .recycles = s->recycles,
					    .thread_seq = s->thread_seq };
		else
			segment_release(s->segment);
		__atomic_store_n(&s->state, 0, __ATOMIC_RELEASE);
		if (had)
			return true;
	}
	return false;
}

void ring_attach(struct ring *r)
{
	struct segment s;
	int rc;

	if (spare_take(r))
		return;
	*r = (struct ring){ .at = GST_SEGMENT_BYTES + 8, .index = GST_NONE, .thread_seq = UINT32_MAX, .moving = true };
	rc = segment_claim(&s, NULL);
	if (rc && !stock_take(&s)) /* what is in stock is for those who are in a hurry */
		refuse(r, rc);
	else
		go_on_in(r, &s);
}

/* A free slot, or one whose segment was given up meanwhile. It is the caller's to fill. */
static struct spare *spare_slot(void)
{
	for (unsigned i = 0; i < SPARE_SLOTS; i++) {
		struct spare *s = &spares[i];

		if (__atomic_load_n(&s->state, __ATOMIC_RELAXED) == 0 && spare_change(s, 0))
			return s;
		if (__atomic_load_n(&s->state, __ATOMIC_RELAXED) != 2 || !spare_change(s, 2))
			continue;
		if (!segment_table_holds(s->index, s->left)) {
			segment_release(s->segment);
			return s;
		}
		__atomic_store_n(&s->state, 2, __ATOMIC_RELEASE);
	}
	return NULL;
}

void ring_detach(struct ring *r)
{
	struct spare *s;

	late_append(r);
	if (!r->segment)
		return;
	s = r->at + sizeof(struct gst_thread) < GST_SEGMENT_BYTES ? spare_slot() : NULL;
	if (s) {
		s->segment = r->segment;
		s->at = r->at;
		s->index = r->index;
		s->recycles = r->recycles;
		s->thread_seq = r->thread_seq;
		s->left = segment_table_leave(r->index);
		__atomic_store_n(&s->state, 2, __ATOMIC_RELEASE);
	} else {
		segment_release(r->segment);
		segment_table_leave(r->index);
	}
	r->segment = NULL;
}

void rings_forget(void)
{
	for (unsigned i = 0; i < SPARE_SLOTS; i++)
		if (spares[i].state == 2)
			segment_release(spares[i].segment);
	late_forget();
	memset(spares, 0, sizeof(spares));
}

/* What recording one call adds: two reads of the clock and one append, here into memory of our own. */
uint32_t ring_calibrate_ps(void)
{
	enum { CALLS = 512 };
	static uint8_t scratch[CALLS * sizeof(struct gst_call) + sizeof(struct gst_segment_header)];
	struct ring r = { .segment = scratch, .at = sizeof(struct gst_segment_header) };
	struct gst_call c = { .hook = 1 };
	uint64_t best_ns = UINT64_MAX;

	for (int round = 0; round < 3; round++) { /* the first one pays for the pages */
		uint64_t begin = clock_mono_ns(), ns;

		r.at = sizeof(struct gst_segment_header);
		for (int i = 0; i < CALLS; i++) {
			c.begin = clock_ticks();
			c.end = clock_ticks();
			ring_append(&r, GST_CALL, sizeof(c), &c);
		}
		ns = clock_mono_ns() - begin;
		best_ns = ns < best_ns ? ns : best_ns;
	}
	return (uint32_t)(best_ns * 1000 / CALLS);
}
