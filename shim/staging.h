/* SPDX-License-Identifier: BSD-2-Clause */
/* staging.h: a trace whose run directory is on a network file system is written to a local directory, and moved when the program ends.
 * Until then, and where it cannot be moved, a small text file in the run directory says where it is (FORMAT.md, "Elsewhere").
 * What touches the run directory is done by processes of ours (beside.h): no call of the program's waits for it, but the first one for at most 20 ms. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format.h"

/* Without asking the run directory's server anything. */
bool staging_is_wanted(void);

/* A directory of ours in the first of GPUSHIM_LOCAL, TMPDIR, /tmp, /var/tmp, /dev/shm that is local, writable, safe and has room;
 * `path` is its path. Lowers settings.limit_bytes to what may be used there. -1: none. */
int staging_open(char *path, size_t size);

/* The trace is at `path`: has the note of it written. */
void staging_begin(const char *path, uint64_t inode, const struct gst_file_header *header);

/* The program ends: moves the trace, in STAGING_END_NS at most; else it stays where it is, and the note says so. */
#define STAGING_END_NS 10000000000ull
void staging_end(void);

/* After fork, in the child: the parent's trace is the parent's to move. */
void staging_forget(void);
