/* SPDX-License-Identifier: BSD-2-Clause */
/* proc_mounts.h: which file system a mount is of, by /proc/<pid>/mountinfo. A mount's number is the machine's: it is the same in all
 * namespaces, until it is unmounted and given to another. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proc_mount {
	uint64_t id;
	uint32_t dev; /* major << 20 | minor */
	uint32_t fs;  /* magic (statfs(2)); 0 not one of those we know */
};

struct proc_mounts {
	struct proc_mount *at; size_t n, cap;
	uint64_t read_ns; /* when they were last all read */
};

/* A mount in the view of process pid; false: not known. */
bool proc_mounts_find(struct proc_mounts *m, uint32_t pid, uint64_t id, struct proc_mount *out);
/* The mount that a path leads to, as it is spelt: symbolic links are not followed. */
bool proc_mounts_of_path(uint32_t pid, const char *path, struct proc_mount *out);
void proc_mounts_free(struct proc_mounts *m);
