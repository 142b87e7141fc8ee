/* SPDX-License-Identifier: BSD-2-Clause */
#include "ring.h"

#include <string.h>

#include "clock.h"
#include "file.h"
#include "stock.h"

void *ring_reserve_elsewhere(struct ring *r, uint16_t type, uint16_t size)
{
	struct segment s;
	uint8_t *full;

	if (r->at > GST_SEGMENT_BYTES * 2)
		r->at = GST_SEGMENT_BYTES + 8; /* full and no new segment to be had: do not wrap around in the end */
	if (r->moving || !r->segment) {
		file_count_dropped(1);
		return NULL;
	}
	r->moving = true;
	if (!stock_take(&s) && !segment_claim(&s)) {
		r->moving = false;
		file_count_dropped(1);
		return NULL;
	}
	segment_sign(&s, r->index, r->thread_seq + 1);
	full = r->segment;
	r->segment = s.base;
	r->index = s.index;
	r->thread_seq++;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	r->at = sizeof(struct gst_segment_header) + size;
	r->moving = false;
	stock_unmap(
		full); /* no longer the ring's: a child of a fork in a signal handler gives each of them back once */
	return ring_place(r, sizeof(struct gst_segment_header), type, size);
}

/* ---- segments given back by threads that ended -------------------------------------------------------------------- */

#define SPARE_SLOTS 64

static struct spare {
	uint8_t *segment; /* NULL: free slot. Taken and given by exchange, so a slot has one owner. */
	uint32_t at, index, thread_seq;
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

		if (__atomic_load_n(&s->state, __ATOMIC_RELAXED) != 2 || !spare_change(s, 2))
			continue;
		*r = (struct ring){
			.segment = s->segment, .at = s->at, .index = s->index, .thread_seq = s->thread_seq
		};
		__atomic_store_n(&s->state, 0, __ATOMIC_RELEASE);
		return true;
	}
	return false;
}

bool ring_attach(struct ring *r)
{
	struct segment s;

	if (spare_take(r))
		return true;
	if (!segment_claim(&s) && !stock_take(&s)) /* what is in stock is for those who are in a hurry */
		return false;
	segment_sign(&s, GST_NONE, 0);
	*r = (struct ring){ .segment = s.base, .at = sizeof(struct gst_segment_header), .index = s.index };
	return true;
}

void ring_detach(struct ring *r)
{
	if (r->segment && r->at + sizeof(struct gst_thread) < GST_SEGMENT_BYTES) {
		for (unsigned i = 0; i < SPARE_SLOTS; i++) {
			struct spare *s = &spares[i];

			if (__atomic_load_n(&s->state, __ATOMIC_RELAXED) != 0 || !spare_change(s, 0))
				continue;
			s->segment = r->segment;
			s->at = r->at;
			s->index = r->index;
			s->thread_seq = r->thread_seq;
			__atomic_store_n(&s->state, 2, __ATOMIC_RELEASE);
			r->segment = NULL;
			return;
		}
	}
	if (r->segment)
		segment_release(r->segment);
	r->segment = NULL;
}

void rings_forget(void)
{
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
