/* SPDX-License-Identifier: BSD-2-Clause */
/* segment.h: pieces of the trace file, each written by one thread at a time: claimed, allocated, mapped, signed, left, released. Where
 * the file cannot grow any more, those that were left longest ago are given up and used again (recycle.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "format.h"

struct segment {
	uint8_t *base;
	uint32_t index;
	uint32_t recycles;    /* how often it was given up before; then its pages are there already */
	uint64_t begin_ticks; /* before it was claimed: FORMAT.md, "Damage" */
};

/* A blank segment: allocated on disk, or one that was given up; mapped. 0, or an errno: EFBIG where within the limit each one is in
 * use, ENOSPC or EDQUOT where the disk had no room for more; both may change when other threads leave theirs. EAGAIN: another thread
 * is in the way, for the moment. EMFILE, ENFILE: the program's moment. Else: the file is gone, nothing will be had later either.
 * own: the index of the caller's full one: recycle.h; NULL: none. */
int segment_claim(struct segment *out, uint32_t *own);
/* The same before anybody needs it: that it cannot be had means nothing yet. Whoever needs it finds out by itself, and says so. */
bool segment_try(struct segment *out);
/* No segment will be had any more. */
bool segments_gone(void);

/* How many the file may have: by the limit, or by the disk. */
uint32_t segments_allowed(void);
/* How many it has had at most: those of higher indexes were never used. */
uint32_t segments_used(void);

/* Maps s->index, allocates it on disk first if asked. 0, or an errno. */
int segment_map(struct segment *s, bool allocate);

/* What its header says, filled by whoever begins it; segment_sign adds what it knows of the segment itself. */
struct segment_owner {
	uint32_t tid; /* 0: nobody's, a kept one */
	uint32_t thread_seq;
	uint32_t previous, previous_recycles;
	uint32_t flags; /* enum gst_segment_flags */
	char name[16];
};
/* Makes it the owner's: its header, then its directory entry. */
void segment_sign(const struct segment *s, const struct segment_owner *owner);
/* Its directory entry becomes 0, then its bytes. */
void segment_blank(const struct segment *s);
void segment_release(uint8_t *base);

/* After fork, in the child: the segments are the parent's. */
void segments_forget(void);
