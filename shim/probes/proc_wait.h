/* SPDX-License-Identifier: BSD-2-Clause */
/* proc_wait.h: what a task waits for at the moment, by looking at /proc. */
#pragma once

#include "host_file.h"
#include "proc_fd.h"
#include "proc_memory.h"

struct proc_sched { /* /proc/<tid>/schedstat: since its begin */
	uint64_t run_ns;   /* on a CPU; of a task on one, up to its last tick */
	uint64_t delay_ns; /* runnable without one, in waits that are over */
	uint64_t slices;   /* how often it was put on one */
};

/* False: gone, or a kernel without it. fd: of that file; or -1, and it is opened for this once. */
bool proc_sched_read(int fd, uint32_t pid, uint32_t tid, struct proc_sched *s);

#define PROC_MAPPED 16u

struct proc_mapped { /* a mapping that a fault was in: there will be more, and the process may have ended by then */
	uint32_t pid, fs;
	uint64_t at;
	struct proc_memory memory;
	char path[512];
};

struct proc_waits {
	struct host_file *file; /* of the names */
	struct proc_files *files;
	struct proc_fd fd;      /* the one last looked at: whose inode and peer a pipe's other end is found by */
	char path[512];
	struct proc_mapped mapped[PROC_MAPPED];
	unsigned next_mapped;
	bool ended;             /* the task last looked at has, though its number is there still */
};

/* What it waits for now. False: it is on a CPU or runnable, or it is gone. */
bool proc_wait_look(struct proc_waits *w, uint32_t pid, uint32_t tid, struct gst_wait_for *what);
/* Nothing is known. */
void proc_wait_unknown(struct gst_wait_for *what);
/* The file's memory at this address, for a page fault there; or that it is of no file. */
void proc_wait_fault(struct proc_waits *w, uint32_t pid, uint64_t address, struct gst_wait_for *what);
/* A fault of which the address is not known: it is a file's (fd_kind) where the process has nothing in the swap. */
void proc_wait_some_fault(uint32_t pid, struct gst_wait_for *what);
/* Do both speak of the same file, call, and kind of waiting? */
bool proc_wait_same(const struct gst_wait_for *a, const struct gst_wait_for *b);
