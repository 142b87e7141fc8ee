/* SPDX-License-Identifier: BSD-2-Clause */
/* pack_memory.h: what was met in a block so far: what the next record's values are guessed from. */
#pragma once

#include "pack_model.h"

#define PACK_RECENT 4 /* instants that are likely to come again */
#define PACK_THREADS 64u         /* by the last bits of their tid */
#define PACK_PLACES (1u << 14)   /* of values that came before */
#define PACK_STREAMS 1024u
#define PACK_FRAMES (1u << 13) /* different ones that are known by a number: below it, from 1 */
#define PACK_NEXT 48           /* of them that stood within one */

struct pack_thread {
	uint32_t tid;
	bool known;
	uint64_t now; /* the latest instant */
	uint64_t recent[PACK_RECENT];
	uint16_t shapes[3]; /* of its last records, the last one first */
	uint32_t path; /* a hash of them */
	uint8_t last[PACK_TYPES][PACK_STRUCT_MOST]; /* its last record of each type */
};

struct pack_value { /* what a field had in one situation, and how much more that was than the time before */
	uint64_t value, more;
};

struct pack_round { /* how many of a field's lowest bits the recorder leaves zero */
	uint8_t bits;        /* of the last so many; */
	uint8_t least, met;  /* of those since, and how many these are */
};

struct pack_looked { /* at a thread */
	uint64_t at, interval;
};

struct pack_known { /* frames, by their numbers */
	struct gst_frame at[PACK_FRAMES];
	unsigned n;                           /* the last one's */
	uint16_t index[2 * PACK_FRAMES];      /* by their hashes, open addressing; 0 free */
	uint16_t within[2 * PACK_FRAMES];     /* what stood last within two of them */
	uint16_t next[PACK_FRAMES][PACK_NEXT]; /* … within one: the last one first; of 0: outermost */
};

struct pack_memory {
	struct pack_thread threads[PACK_THREADS];
	struct pack_value there[PACK_PLACES];       /* after the same path */
	struct pack_value shape[PACK_PLACES];       /* in the same shape */
	struct pack_value field[PACK_FIELDS_MOST];  /* anywhere */
	struct pack_round round[PACK_FIELDS_MOST];
	uint32_t seq[PACK_STREAMS];
	struct pack_looked looked[PACK_THREADS];
	uint32_t stack; /* the newest */
	struct pack_known frames;
	uint64_t last_at[PACK_STREAMS];       /* of frames, by what they are of */
	uint32_t most_of;
};

static inline uint32_t pack_hash(uint32_t a, uint32_t b)
{
	uint32_t h = (a ^ b * 0x9e3779b1u) * 0x85ebca6bu;

	return (h ^ h >> 15) * 0xc2b2ae35u ^ h >> 13;
}
