/* SPDX-License-Identifier: BSD-2-Clause */
/* file.h: this process's trace file: its creation, its live counters.
 *
 * No descriptor stays open: a program that closes or counts descriptors must not notice us, and one it reuses must never
 * become ours. Each segment (segment.h) opens the file by its absolute path and checks that it is still the same inode. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "format.h"

/* Makes <out>/<host>-<pid>.gst (or -2, -3 …) with a whole header; where <out> is on a network file system, a local one (staging.h).
 * 0, or an errno: recording is impossible, the reason logged. */
int file_create(void);

/* The process ends, regularly. */
void file_finish(void);

/* After fork, in the child: forgets the parent's file without touching it. */
void file_forget(void);

bool file_is_open(void);

/* Live counters in the file; a dummy while there is none. Add with __atomic_fetch_add, relaxed. */
struct gst_counters *file_counters(void);
/* Records that found no room, by gst_counters.dropped_…: within the limit; because the disk is full, or the file gone; for the moment. */
enum drop { DROP_LIMIT, DROP_DISK, DROP_BUSY };
void file_count_dropped(enum drop why, uint64_t records);
/* Its first records are about to be given up: its version says so, whenever it is read. */
void file_mark_recycled(void);

/* The mapped header, counters and directory; NULL while there is no file. */
uint8_t *file_head(void);
/* A descriptor of the file, for the caller to close. 0, or an errno: ENOENT where its name belongs to another file now. */
int file_open_again(int *out);
