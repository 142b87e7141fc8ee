/* SPDX-License-Identifier: BSD-2-Clause */
/* ebpf_mounts.h: where a file system is mounted for a process, by /proc/<pid>/mountinfo. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct ebpf_mounts {
	char *first;      /* the root's, read at the start: for processes that are gone or not ours to look at; NULL none */
	char *text;       /* of pid, as of read_ns */
	uint32_t pid;
	uint64_t read_ns;
};

void ebpf_mounts_open(struct ebpf_mounts *m, uint32_t root);
void ebpf_mounts_close(struct ebpf_mounts *m);
/* inside: a path from the root of the file system dev (major << 20 | minor). False: that is not mounted there. */
bool ebpf_mounts_path(struct ebpf_mounts *m, char out[PATH_MAX], uint32_t pid, uint32_t dev, const char *inside);

/* The same in a given list, for tests. */
bool ebpf_mounts_in(const char *list, char out[PATH_MAX], uint32_t dev, const char *inside);
