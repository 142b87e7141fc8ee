/* SPDX-License-Identifier: BSD-2-Clause */
/* segment.h: pieces of the trace file, each written by one thread at a time: claimed, allocated, mapped, signed, released. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct segment {
	uint8_t *base;
	uint32_t index;
	uint64_t begin_ticks; /* before it was claimed: FORMAT.md, "Damage" */
};

/* Claims a segment, allocates it on disk and maps it. False: no room (disk full, limit reached, file gone); then no segment will
 * be had later either. */
bool segment_claim(struct segment *out);
/* The same before anybody needs it: that it cannot be had means nothing yet. Whoever needs it finds out by itself, and says so. */
bool segment_try(struct segment *out);
/* No segment will be had any more. */
bool segments_full(void);
/* Makes it the calling thread's: its header, then its directory entry. */
void segment_sign(const struct segment *s, uint32_t previous, uint32_t thread_seq);
void segment_release(uint8_t *base);

/* After fork, in the child: the segments are the parent's. */
void segments_forget(void);
