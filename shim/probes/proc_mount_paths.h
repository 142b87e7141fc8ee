/* SPDX-License-Identifier: BSD-2-Clause */
/* proc_mount_paths.h: where a file system is mounted for a process, by /proc/<pid>/mountinfo. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct mount_paths {
	char *first;      /* the root's, read at the start: for processes that are gone or not ours to look at; NULL none */
	char *text;       /* of pid, as of read_ns */
	uint32_t pid;
	uint64_t read_ns;
};

void mount_paths_open(struct mount_paths *m, uint32_t root);
void mount_paths_close(struct mount_paths *m);
/* inside: a path from the root of the file system dev (major << 20 | minor). False: that is not mounted there. */
bool mount_paths_find(struct mount_paths *m, char out[PATH_MAX], uint32_t pid, uint32_t dev, const char *inside);

/* Is path what inside is called by one of the mounts? Of several it says which, and it may be of another file that has its number since.
 * whole false: of inside the outermost folders are not known, it begins with the first one that is. */
bool mount_paths_agree(struct mount_paths *m, uint32_t pid, uint32_t dev, const char *inside, bool whole, const char *path);

/* The same in a given list, for tests. */
bool mount_paths_in(const char *list, char out[PATH_MAX], uint32_t dev, const char *inside);
bool mount_paths_agree_in(const char *list, uint32_t dev, const char *inside, bool whole, const char *path);
