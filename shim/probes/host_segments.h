/* SPDX-License-Identifier: BSD-2-Clause */
/* host_segments.h: the segments of a file of host probes, written one after another by one thread. Where the file cannot grow any more, the
 * oldest is given up for the next: FORMAT.md, "Recycling". */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../format_host.h"
#include "host_keep.h"

struct host_piece { /* a segment that is written; base NULL: none */
	uint8_t *base;
	uint32_t index;
	uint32_t at;         /* where the next record goes */
	uint32_t thread_seq; /* of this one */
};

struct host_segments {
	int fd;
	uint8_t *head; /* header, counters, directory; mapped */
	uint32_t limit; /* how many there may be */
	struct host_names *names;
	struct host_keep *keep;

	struct host_piece now, kept;
	uint32_t tid;
	uint32_t places;         /* of the file that are there */
	struct host_piece spare; /* blank, so that what must be kept has room */
	uint32_t kept_n;         /* filled, being filled, and the spare one */
	uint64_t first, next;    /* numbers of the oldest one that is there, and of the one after `now` */
	uint32_t *order;         /* index of number n at n % GST_SEGMENT_CAPACITY */
	uint32_t *recycles;      /* by index */
	uint64_t *left_ticks;    /* by index */
	int full;                /* errno of the last growth in vain */
	uint32_t grow_again;     /* … which is not tried again before this many more were given up */
	uint64_t retry_ns;       /* where there is none at all: not before this time */
};

/* The rest of *s is zero but for fd, head, limit, names. 0, or an errno. */
int host_segments_start(struct host_segments *s);
/* The next segment becomes `now`. 0, or an errno: there is none. */
int host_segments_next(struct host_segments *s);
void host_segments_end(struct host_segments *s);

/* Room for a record, which is there for sure; and a whole one. */
void *host_piece_reserve(struct host_piece *p, uint16_t type, uint16_t size);
void host_piece_append(struct host_piece *p, const struct gst_record *record, uint16_t type, uint16_t size);

uint64_t host_now_ns(void);
