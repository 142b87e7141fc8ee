/* SPDX-License-Identifier: BSD-2-Clause */
/* backend.h: the three ways to watch a process tree: eBPF, perf_event_open, /proc alone. All write the same records. */
#pragma once

#include "host_file.h"

struct probes_settings {
	pid_t root;            /* thread group to follow, with all it makes; it may have run for long */
	int root_fd;           /* its pidfd, by which it is told from a later process of that number; 0 none */
	const char *exe, *cmdline; /* of the program that root, a child of ours, is to become; NULL: it is what it is */
	const char *dir;       /* run directory */
	uint64_t limit;        /* bytes on disk */
	uint32_t off;          /* 1 << enum gst_probe: not to be used even where it could be (tests, --off) */
	uint32_t wait_ns;      /* shorter waits are summed up */
	uint32_t sample_hz;    /* of on-CPU stacks, 0 none */
};

struct backend {
	const char *name; /* "ebpf", "perf", "proc" */
	enum gst_probes_how how;
	/* Everything that needs privileges, before they are dropped; the root is followed from here on. False: why says what is missing (one
	 * line: the fact, and what would enable it). It writes GST_PROBES first, then GST_TASK of all that run already. */
	bool (*start)(void **state, const struct probes_settings *s, struct host_file *f, char why[256]);
	/* Writes what has happened; waits timeout_ms for something at most. False: it cannot go on. */
	bool (*poll)(void *state, int timeout_ms);
	/* Is a task of the tree alive? */
	bool (*alive)(void *state);
	/* Writes what is left: waits that last (GST_WAIT_LAST), GST_PROBES with its end. Frees state. */
	void (*stop)(void *state);
};

extern const struct backend backend_perf, backend_proc;
/* A null pointer in a build without clang, bpftool or libbpf. */
extern const struct backend *const backend_ebpf;
