/* SPDX-License-Identifier: BSD-2-Clause */
#include "host_segments.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../layout.h"
#include "../pages.h"

#define TRY_TO_GROW_EVERY 16u /* segments given up: a full disk may have room again */
#define RETRY_NS 100000000ull

uint64_t host_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct gst_counters *counters(const struct host_segments *s)
{
	return (struct gst_counters *)(void *)(s->head + GST_COUNTERS_OFFSET);
}

int host_segments_start(struct host_segments *s)
{
	s->keep = host_keep_new(s->names);
	s->order = calloc(GST_SEGMENT_CAPACITY, sizeof(s->order[0]));
	s->recycles = calloc(GST_SEGMENT_CAPACITY, sizeof(s->recycles[0]));
	s->left_ticks = calloc(GST_SEGMENT_CAPACITY, sizeof(s->left_ticks[0]));
	s->tid = (uint32_t)syscall(SYS_gettid);
	return s->keep && s->order && s->recycles && s->left_ticks ? 0 : ENOMEM;
}

static void release(struct host_piece *p)
{
	if (p->base)
		pages_unmap(p->base, GST_SEGMENT_BYTES);
	p->base = NULL;
}

void host_segments_end(struct host_segments *s)
{
	release(&s->now);
	release(&s->kept);
	release(&s->spare);
	host_keep_free(s->keep);
	free(s->order);
	free(s->recycles);
	free(s->left_ticks);
}

/* ---- room ------------------------------------------------------------------------------------------------------------ */

static int map(const struct host_segments *s, struct host_piece *p)
{
	p->base = pages_map(s->fd, GST_SEGMENTS_OFFSET + (uint64_t)p->index * GST_SEGMENT_BYTES, GST_SEGMENT_BYTES);
	return p->base ? 0 : errno;
}

/* A new one at the file's end: allocated, as a store into a hole of a full disk would end us. 0, or an errno. */
static int grow(struct host_segments *s, struct host_piece *out)
{
	struct host_piece p = { .index = s->places };
	uint64_t offset = GST_SEGMENTS_OFFSET + (uint64_t)p.index * GST_SEGMENT_BYTES;
	int rc;

	if (s->places >= s->limit || !layout_may_grow_to(offset + GST_SEGMENT_BYTES))
		return EFBIG;
	do
		rc = posix_fallocate(s->fd, (off_t)offset, GST_SEGMENT_BYTES);
	while (rc == EINTR);
	rc = rc ? rc : map(s, &p);
	if (rc)
		return rc;
	s->places++;
	*out = p;
	return 0;
}

/* Of what the file may hold, half. */
static uint32_t kept_share(const struct host_segments *s)
{
	return (s->full ? s->places : s->limit) / 2;
}

static bool wants_spare(const struct host_segments *s)
{
	return !s->spare.base && s->kept_n < kept_share(s);
}

/* ---- giving one up --------------------------------------------------------------------------------------------------- */

static void sign(struct host_segments *s, struct host_piece *p, const struct host_piece *before, uint64_t begin,
		 uint32_t flags)
{
	struct gst_segment_header h = {
		.magic = GST_SEGMENT_MAGIC,
		.index = p->index,
		.tid = flags & GST_SEGMENT_KEPT ? 0 : s->tid,
		.begin_ticks = begin,
		.thread_seq = p->thread_seq,
		.previous = before ? before->index : GST_NONE,
		.thread_name = "gpushim-host",
		.recycles = s->recycles[p->index],
		.previous_recycles = before ? s->recycles[before->index] : 0,
		.flags = flags,
	};

	layout_sign(s->head, p->base, &h);
	p->at = sizeof(h);
}

void *host_piece_reserve(struct host_piece *p, uint16_t type, uint16_t size)
{
	void *record = layout_begin_record(p->base, p->at, type, size);

	p->at += size;
	return record;
}

void host_piece_append(struct host_piece *p, const struct gst_record *record, uint16_t type, uint16_t size)
{
	struct gst_record *r = host_piece_reserve(p, type, size);

	memcpy(r + 1, record + 1, size - sizeof(*r));
	__atomic_store_n(&r->commit, GST_COMMIT, __ATOMIC_RELEASE);
}

static void begin_kept(struct host_segments *s)
{
	struct host_piece before = s->kept;

	release(&s->kept);
	s->kept = s->spare;
	s->spare.base = NULL;
	s->kept.thread_seq = before.at ? before.thread_seq + 1 : 0;
	sign(s, &s->kept, before.at ? &before : NULL, host_now_ns(), GST_SEGMENT_KEPT);
}

struct keeping {
	struct host_segments *s;
	struct gst_kept source;
	bool named; /* the kept segment says already that what follows is from there */
};

static bool put(const struct gst_record *r, void *arg)
{
	struct keeping *k = arg;
	struct host_segments *s = k->s;
	uint32_t bytes = r->size + (k->named ? 0 : (uint32_t)sizeof(k->source));

	if (!s->kept.base || s->kept.at + bytes > GST_SEGMENT_BYTES) {
		if (!s->spare.base)
			return false;
		begin_kept(s);
		k->named = false;
	}
	if (!k->named)
		host_piece_append(&s->kept, &k->source.record, GST_KEPT, sizeof(k->source));
	k->named = true;
	host_piece_append(&s->kept, r, r->type, r->size);
	return true;
}

static void tell(struct host_segments *s, const struct host_given_up *gone, uint64_t left_ticks)
{
	struct gst_counters *c = counters(s);

	layout_mark_recycled(s->head);
	if (c->recycled_until < left_ticks)
		__atomic_store_n(&c->recycled_until, left_ticks, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&c->records_recycled, gone->records, __ATOMIC_RELAXED);
	__atomic_fetch_add(&c->definitions_lost, gone->lost, __ATOMIC_RELAXED);
	__atomic_fetch_add(&c->segments_recycled, 1, __ATOMIC_RELAXED);
}

/* The oldest one, blank. 0, or an errno: ENOSPC where there is none. */
static int give_up_oldest(struct host_segments *s, struct host_piece *out)
{
	struct keeping k = { .s = s };
	struct host_given_up gone;
	struct host_piece p;
	int rc;

	if (s->first == s->next)
		return ENOSPC;
	p = (struct host_piece){ .index = s->order[s->first % GST_SEGMENT_CAPACITY] };
	rc = map(s, &p);
	if (rc)
		return rc;
	k.source.segment = p.index;
	k.source.recycles = s->recycles[p.index];
	gone = host_keep_copy(s->keep, p.base, s->first, put, &k);
	tell(s, &gone, s->left_ticks[p.index]);
	layout_blank(s->head, p.base, p.index);
	s->recycles[p.index]++;
	s->first++;
	*out = p;
	return 0;
}

static int recycle(struct host_segments *s, struct host_piece *out)
{
	int rc = give_up_oldest(s, out);

	if (rc == 0 && wants_spare(s) && s->first != s->next) {
		s->spare = *out;
		s->kept_n++;
		rc = give_up_oldest(s, out);
		if (rc) { /* writing goes before keeping */
			*out = s->spare;
			s->spare.base = NULL;
			s->kept_n--;
			rc = 0;
		}
	}
	return rc;
}

/* ---- the next one ---------------------------------------------------------------------------------------------------- */

/* With the second one comes the spare, while there is room for it. */
static int grow_with_spare(struct host_segments *s, struct host_piece *out)
{
	int rc = 0;

	if (s->places && wants_spare(s)) {
		rc = grow(s, &s->spare);
		s->kept_n += rc == 0;
	}
	return rc ? rc : grow(s, out);
}

static int have(struct host_segments *s, struct host_piece *out)
{
	int rc = s->full;

	if (!s->full || !s->grow_again) {
		rc = grow_with_spare(s, out);
		if (rc == 0)
			return 0;
		if (rc != EFBIG && rc != ENOSPC && rc != EDQUOT)
			return rc;
		if (rc != EFBIG)
			__atomic_store_n(&counters(s)->drop_errno, (uint64_t)rc, __ATOMIC_RELAXED);
		s->full = rc;
		s->grow_again = TRY_TO_GROW_EVERY;
	}
	s->grow_again--;
	return recycle(s, out) == 0 ? 0 : rc;
}

int host_segments_next(struct host_segments *s)
{
	struct host_piece before = s->now, p;
	uint64_t begin = host_now_ns();
	int rc;

	if (begin < s->retry_ns)
		return s->full ? s->full : ENOSPC;
	if (s->now.base)
		s->left_ticks[s->now.index] = begin;
	release(&s->now);
	rc = have(s, &p);
	if (rc) {
		s->retry_ns = begin + RETRY_NS;
		s->grow_again = 0;
		return rc;
	}
	p.thread_seq = before.at ? before.thread_seq + 1 : 0;
	sign(s, &p, before.at ? &before : NULL, begin, 0);
	s->order[s->next++ % GST_SEGMENT_CAPACITY] = p.index;
	s->now = p;
	host_names_next(s->names, s->next - 1);
	return 0;
}
