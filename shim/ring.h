/* SPDX-License-Identifier: BSD-2-Clause */
/* ring.h: records from one thread to its segment of the shared file, without locks or allocation.
 *
 * One producer (the thread that owns the ring); a signal handler of that thread may append in the middle of an append.
 * A record that finds no room is dropped and counted; the producer never waits. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch.h"
#include "format.h"

struct ring {
	uint8_t *segment;   /* mapped; NULL before the first */
	uint32_t at;        /* next free byte in it; beyond GST_SEGMENT_BYTES when full */
	uint32_t index;     /* of the segment in the file */
	uint32_t thread_seq;
	bool moving;        /* a new segment is being made: a signal handler's records are dropped meanwhile */
};

/* Where the next record of this size goes, header written, commit still 0; NULL = no room, already counted as dropped. */
void *ring_reserve(struct ring *r, uint16_t type, uint16_t size);

static inline void ring_commit(void *record)
{
	__atomic_store_n(&((struct gst_record *)record)->commit, GST_COMMIT, __ATOMIC_RELEASE);
}

/* A whole record at once: *record has its fields filled but for the header. */
void ring_append(struct ring *r, uint16_t type, uint16_t size, const void *record);

/* Gives the ring a first segment, perhaps the rest of one that an ended thread gave back. False: none to be had. */
bool ring_attach(struct ring *r);

/* The thread ends: lets another one go on in this segment. */
void ring_detach(struct ring *r);

/* After fork, in the child: segments given back in the parent are the parent's. */
void rings_forget(void);

/* What recording one call costs, in picoseconds: measured on memory of its own. */
uint32_t ring_calibrate_ps(void);
