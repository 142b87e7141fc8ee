/* SPDX-License-Identifier: BSD-2-Clause */
/* host_trace.h: a file of host probes, decoded: tasks, and for each what it waited for, when, and who woke it.
 * Times are CLOCK_MONOTONIC nanoseconds in [0, CLOCK_MAX_NS]. A task is known between its begin_ns and end_ns, and the whole between the
 * trace's: where it is in none of its waits then, it was on a CPU. */
#pragma once

#include "read/reader.h"
#include "shim/format_host.h"
#include "tools/arena.h"
#include "trace/clock.h"
#include "trace/life.h"

#define HOST_NOBODY UINT32_MAX /* no task: not known, or none */

struct host_what { /* gst_wait_for, its file by name */
	const char *file; /* untrusted text; NULL none */
	uint64_t arg, offset, bytes, inode; /* as in gst_wait_for */
	uint32_t dev, fs;
	int32_t syscall;
	uint16_t flags;   /* enum gst_wait_flags */
	uint8_t fd_kind;
};

struct host_wait {
	int64_t out_ns, in_ns; /* out <= wake <= in */
	int64_t wake_ns;       /* in_ns where it is not known */
	int64_t throttled_ns;  /* <= in - wake */
	int64_t off_before_ns; /* sum of in - out of the task's waits before this one */
	uint32_t task;         /* whose it is, an index */
	uint32_t waker;        /* index of a task, HOST_NOBODY */
	uint8_t by;            /* enum gst_woken_by */
	bool wake_known;
	struct host_what what;
	uint64_t byte;         /* of its record in the file */
};

struct host_stalls {
	int64_t begin_ns, end_ns;
	int64_t blocked_ns, queued_ns, throttled_ns; /* blocked + queued <= end - begin */
	uint64_t last_offset;
	uint32_t task, count;
	struct host_what what;
	uint64_t byte;
};

struct host_reclaim {
	int64_t begin_ns, end_ns;
	uint64_t pages;
	uint32_t task;
	bool group;
};

struct host_written { /* to one file, on a CPU */
	int64_t begin_ns, end_ns;
	uint32_t task;
	struct host_what what; /* bytes: written */
	uint64_t byte;
};

struct host_on_cpu {
	int64_t at_ns;
	const uint64_t *frames; size_t n_frames;
	uint32_t task;
};

struct host_task {
	uint32_t tid, pid, own_tid, own_pid;
	uint32_t creator;          /* index of a task, HOST_NOBODY */
	uint32_t leader;           /* … of its process's first thread: the same for all of its threads; HOST_NOBODY */
	uint64_t pid_ns;
	/* It is known in between. Where its own end is not on record: that of the trace, or, of a file that had no regular end, the last instant at
	 * which it is known to have run, or to wait: of a wait that went on then there is a record at most from when it was half as long. */
	int64_t begin_ns, end_ns;
	int64_t said_end_ns;       /* of one that has ended: by its own record. It may run on behind it: it gives its memory back */
	int64_t start_ns;          /* of its process; 0 not known */
	uint16_t flags;            /* enum gst_task_flags */
	bool ended;
	char name[16];             /* NUL-terminated; the last one */
	struct host_wait *waits;     size_t n_waits;    /* by out_ns, disjoint */
	struct host_stalls *stalls;  size_t n_stalls;   /* by begin_ns */
	struct host_reclaim *reclaims; size_t n_reclaims; /* by begin_ns, disjoint */
	struct host_written *written; size_t n_written; /* by begin_ns, disjoint */
	struct host_on_cpu *on_cpu;  size_t n_on_cpu;   /* by at_ns */
};

struct host_request {
	int64_t queued_ns, issued_ns, done_ns; /* queued <= issued <= done; equal where one is not known */
	bool queued_known, issued_known;
	uint64_t inode, offset, sector;
	uint32_t task;     /* HOST_NOBODY */
	uint32_t dev, file_dev, bytes, flags;
};

struct host_pipe_end {
	int64_t at_ns;
	uint64_t inode, peer;
	uint32_t task;  /* the process's first thread; HOST_NOBODY */
	uint16_t flags; /* enum gst_pipe_end_flags */
	uint8_t fd_kind;
};

struct host_pressure {
	int64_t begin_ns, end_ns;
	uint32_t cpu_some_us, memory_some_us, memory_full_us, io_some_us, io_full_us; /* UINT32_MAX not known */
	uint32_t throttled_us, throttled_periods;
};

struct host_trace {
	struct gst_file_header header;
	struct gst_counters counters; /* records_dropped: those that the file had no room for */
	char *path;
	int64_t begin_ns, end_ns; /* everything is watched in between, but for what was lost; where the oldest records were given up, from then on */
	int64_t cut_ns;           /* INT64_MAX, or damaged: nothing is known after this */
	struct gst_probes probes; /* the last one; how 0: the file has none. events_lost: none of them is among records_dropped */
	enum life life;
	struct error damage;      /* kind ERR_NONE if sound */
	struct host_task *tasks;         size_t n_tasks;    /* by tid, then begin_ns */
	uint32_t *by_own;                /* tasks by host_own_tid */
	uint32_t *by_pid;                /* tasks by pid; NULL: made by hand */
	struct host_request *requests;   size_t n_requests; /* by done_ns */
	struct host_pipe_end *pipe_ends; size_t n_pipe_ends; /* by inode, then at_ns */
	struct host_pressure *pressure;  size_t n_pressure; /* by begin_ns */
	/* What the tasks' lists are parts of, by task. */
	struct host_wait *waits;         size_t n_waits;
	struct host_stalls *stalls;      size_t n_stalls;
	struct host_reclaim *reclaims;   size_t n_reclaims;
	struct host_written *written;    size_t n_written;
	struct host_on_cpu *on_cpu;      size_t n_on_cpu;
	struct arena frames;
	char *text;               /* what files are called */
	uint64_t records, unfinished, unknown_records;
	uint64_t strays;          /* records of tasks that are not on record, or of no length: left out */
};

/* As the task sees itself; where that is not known, it is taken to live where the collector does. */
static inline uint32_t host_own_tid(const struct host_task *task)
{
	return task->own_tid ? task->own_tid : task->tid;
}

static inline uint32_t host_own_pid(const struct host_task *task)
{
	return task->own_pid ? task->own_pid : task->pid;
}

/* Threads of one process? A later process of its number has another first thread. */
static inline bool host_same_process(const struct host_task *a, const struct host_task *b)
{
	return a == b || (a && b && a->pid == b->pid &&
			  (a->leader == b->leader || a->leader == HOST_NOBODY || b->leader == HOST_NOBODY));
}

/* Damage is no failure: see damage, cut_ns. now_ns: what comes later is left out, as trace_open does. */
enum err_kind host_trace_open(struct host_trace **out, const char *path, int64_t now_ns, struct error *e);
enum err_kind host_trace_open_mem(struct host_trace **out, const void *buf, size_t len, const char *name, struct error *e);
void host_trace_free(struct host_trace *t);

/* The task of that number at that time, an index; HOST_NOBODY. One that ran before it was seen counts from any time before. */
uint32_t host_trace_task(const struct host_trace *t, uint32_t tid, int64_t at_ns);
/* Indices of the tasks of one process, and of others whose number it was; *n of them. NULL: not indexed, they may be any of all *n. */
const uint32_t *host_trace_process(const struct host_trace *t, uint32_t pid, size_t *n);
/* Its first wait that ends after that; an index, n_waits if there is none. */
size_t host_wait_after(const struct host_task *task, int64_t at_ns);
/* … its first reclaim. */
size_t host_reclaim_after(const struct host_task *task, int64_t at_ns);
