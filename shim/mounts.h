/* SPDX-License-Identifier: BSD-2-Clause */
/* mounts.h: the list of mounts (/proc/<pid>/mountinfo) one by one, without allocation. It says what kind of file system there is without asking
 * that one itself: a server may not answer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lines.h"

struct mount { /* its texts are those of the line, until the next one */
	uint64_t id;
	char *root, *point, *type, *options; /* root: of its file system, what is mounted there; options: NULL none */
};

struct mounts {
	struct lines lines;
	char line[8192];
};

bool mounts_open(struct mounts *m, const char *mountinfo);
/* False: no more. */
bool mounts_next(struct mounts *m, struct mount *out);
void mounts_close(struct mounts *m);

/* Is the path, as it is spelt, at its mount point or below? Of all those the one with the longest has it, and of these the last. */
bool mount_has(const struct mount *m, const char *path);

/* "\040" -> ' ', as the list writes blanks, commas and backslashes. A mount's `root` and `point` are that already. */
void mount_unescape(char *s);
