/* SPDX-License-Identifier: BSD-2-Clause */
/* file.h: this process's trace file: its creation, its live counters, its segments.
 *
 * No descriptor stays open: a program that closes or counts descriptors must not notice us, and one it reuses must never
 * become ours. Each segment opens the file by its absolute path and checks that it is still the same inode. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "format.h"

struct file_segment {
	uint8_t *base;
	uint32_t index;
	uint64_t begin_ticks; /* before it was claimed: FORMAT.md, "Damage" */
};

/* Makes <out>/<host>-<pid>.gst (or -2, -3 …) with a whole header. False: recording is impossible, the reason logged. */
bool file_create(void);

/* After fork, in the child: forgets the parent's file without touching it. */
void file_forget(void);

bool file_is_open(void);

/* Live counters in the file; a dummy while there is none. Add with __atomic_fetch_add, relaxed. */
struct gst_counters *file_counters(void);
void file_count_dropped(uint64_t records);

/* Claims a segment, allocates it on disk and maps it. False: no room (disk full, limit reached, file gone); then no segment will
 * be had later either. */
bool file_segment_claim(struct file_segment *out);
/* The same before anybody needs it: that it cannot be had means nothing yet. Whoever needs it finds out by itself, and says so. */
bool file_segment_try(struct file_segment *out);
/* No segment will be had any more. */
bool file_is_full(void);
/* Makes it the calling thread's: its header, then its directory entry. */
void file_segment_sign(const struct file_segment *s, uint32_t previous, uint32_t thread_seq);
void file_segment_release(uint8_t *base);
