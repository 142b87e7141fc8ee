/* SPDX-License-Identifier: BSD-2-Clause */
/* ring.h: records from one thread to its segment of the shared file, without locks or allocation.
 *
 * One producer (the thread that owns the ring); a signal handler of that thread may append in the middle of an append, but does not take
 * the ring to another segment while that has its place in this one (ring_append_here); its record waits then (late.h).
 * A record that finds no room is dropped and counted; the producer never waits. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "arch.h"
#include "layout.h"

struct ring {
	uint8_t *segment;   /* mapped; NULL before the first */
	uint32_t at;        /* next free byte in it; beyond GST_SEGMENT_BYTES when full */
	uint32_t index;     /* of the segment in the file, or of the last one; GST_NONE: there was none */
	uint32_t recycles;  /* … and how often that had been given up before */
	uint32_t thread_seq;
	bool moving;        /* a new segment is being made: a signal handler's records are dropped meanwhile */
	uint8_t refused;    /* none was to be had: 1 + enum drop; it is tried again after so many records dropped */
};

/* A page that another CPU made ready is in that CPU's cache: ask for its lines a few records ahead. */
#define RING_PREFETCH_BYTES 512

/* The rest of ring_reserve where the segment is full. */
void *ring_reserve_elsewhere(struct ring *r, uint16_t type, uint16_t size);

static inline void *ring_place(struct ring *r, uint32_t at, uint16_t type, uint16_t size)
{
	void *record = layout_begin_record(r->segment, at, type, size);

	__builtin_prefetch(r->segment + at + RING_PREFETCH_BYTES, 1);
	return record;
}

/* Where the next record of this size goes, header written, commit still 0; NULL = no room, already counted as dropped. */
static inline void *ring_reserve(struct ring *r, uint16_t type, uint16_t size)
{
	uint32_t at = arch_local_add(&r->at, size);

	if (__builtin_expect(at + size <= GST_SEGMENT_BYTES && !r->moving, 1))
		return ring_place(r, at, type, size);
	return ring_reserve_elsewhere(r, type, size);
}

static inline void ring_commit(void *record)
{
	__atomic_store_n(&((struct gst_record *)record)->commit, GST_COMMIT, __ATOMIC_RELEASE);
}

/* A whole record at once: *record has its fields filled but for the header. Inline, with sizes known, it is a few stores. */
static inline void ring_append(struct ring *r, uint16_t type, uint16_t size, const void *record)
{
	uint8_t *to = ring_reserve(r, type, size);

	if (__builtin_expect(!to, 0))
		return;
	memcpy(to + sizeof(struct gst_record), (const uint8_t *)record + sizeof(struct gst_record),
	       size - sizeof(struct gst_record));
	ring_commit(to);
}

/* The same for who may have interrupted an append: if it did, a record that finds no room in this segment goes to the next one later. */
void ring_append_here(struct ring *r, uint16_t type, uint16_t size, const void *record);

/* Called for each new segment a ring goes on in: it writes what stands first there. NULL: nothing does. */
extern void (*ring_begins)(struct ring *r);

/* Gives the ring a first segment, perhaps the rest of one that an ended thread gave back. Where none is to be had, every record is
 * counted as dropped until one is. */
void ring_attach(struct ring *r);

/* The thread ends: lets another one go on in this segment. */
void ring_detach(struct ring *r);

/* After fork, in the child: segments given back in the parent are the parent's. */
void rings_forget(void);

/* What recording one call costs, in picoseconds: measured on memory of its own. */
uint32_t ring_calibrate_ps(void);
