/* SPDX-License-Identifier: BSD-2-Clause */
/* staged.h: notes of traces that lie on their own machine, as their run directory is on a network file system (shim/FORMAT.md,
 * "Elsewhere"). A note is untrusted: what it names is taken for its trace only if it belongs to the note's owner, or to us, and its header
 * is the one that the note speaks of. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shim/format.h"

#define STAGED_END ".gst.elsewhere" /* of a note's name */

struct staged {
	char host[64];
	uint32_t pid;
	int64_t begin_real_ns;
	uint64_t start_ticks;
	uint64_t inode;
	char run_id[64];
	char path[PATH_MAX];
	uid_t owner; /* of the note */
};

/* False: no such note, or not a whole one. */
bool staged_read(const char *note, struct staged *out);

/* A descriptor of the trace, read-only, its header in *h: it is on this machine. -1: it is not. */
int staged_open(const struct staged *s, struct gst_file_header *h);

/* Was it recorded on this machine, by the name of that? */
bool staged_is_ours(const struct staged *s);
