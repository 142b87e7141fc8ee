/* SPDX-License-Identifier: BSD-2-Clause */
/* host_file.h: <dir>/<host>-<pid>.host.gst, written by one thread. Every record is in the file as soon as it is committed: a collector that is
 * killed leaves all it had written. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../format_host.h"

struct host_file;

/* A new file, 0600, never through a symlink; a name that exists gets -2, -3 …; exe and cmdline are the root's, run_id GPUSHIM_RUN's.
 * limit: bytes it may grow to; then the oldest segments are given up. 0, or an errno. */
int host_file_create(struct host_file **out, const char *dir, pid_t root, uint64_t limit);
/* It is this program's that root has become since: into the header, for who reads it from now on. */
void host_file_program(struct host_file *f, const char *exe, const char *cmdline);
const char *host_file_path(const struct host_file *f);

/* Where a record of this type and size (a multiple of 8, header included) goes, zeroed behind its header; to be committed at once. NULL: no
 * room (disk full, say), counted as dropped. */
void *host_file_reserve(struct host_file *f, uint16_t type, uint16_t size);
void host_file_commit(void *record);
/* A whole record, its header to be filled. False: dropped. */
bool host_file_append(struct host_file *f, uint16_t type, uint16_t size, const void *record);

/* The id of a GST_NAME in GST_SPACE_FILE; written when first seen. 0: no memory, or no room. To be asked for each record anew: a name that nobody
 * asked for in long is given up with the oldest segment, and has another id then. */
uint32_t host_file_name(struct host_file *f, const char *text);

void host_file_count_dropped(struct host_file *f, uint64_t records);
/* A sign of life: counters' last_ticks and own_cpu_ns. */
void host_file_beat(struct host_file *f);
/* The live counters, to be read. */
const struct gst_counters *host_file_counters(const struct host_file *f);
/* Ends it regularly; where its run directory is on a network file system, it was written on this machine and is moved there now, which is its path
 * then. 0, or an errno: it stays where it is, and a note in the run directory says so. Nothing more is written. */
int host_file_end(struct host_file *f);
/* The same, where that was not done, and frees f. */
void host_file_finish(struct host_file *f);
/* As if it had never been made: nobody follows. Frees f. */
void host_file_discard(struct host_file *f);
