/* SPDX-License-Identifier: BSD-2-Clause */
/* format_host.h: what host probes record (FORMAT.md, "Host probes"). Files of their own, <host>-<pid>.host.gst, of the same form as
 * format.h's: header, counters, directory, segments. gst_file_header.kind is GST_FILE_HOST; clock is GST_CLOCK_MONOTONIC, so a tick is a
 * nanosecond; pid, exe and cmdline are the followed tree's root's. gst_counters: records_dropped, own_cpu_ns, last_ticks, exited and what says
 * why records were dropped; the rest is 0.
 *
 * Task numbers (tid, pid) are those of the collector's PID namespace; GST_TASK says what a task is called in its own. A number that comes
 * again is another task: a record is about the last GST_TASK of that number that began before it. */
#pragma once

#include "format.h"

enum gst_host_type { /* gst_record.type, beside enum gst_type */
	GST_PROBES = 40,
	GST_TASK = 41,
	GST_TASK_END = 42,
	GST_WAIT = 43,
	GST_STALLS = 44,
	GST_REQUEST = 45,
	GST_RECLAIM = 46,
	GST_PIPE_END = 47,
	GST_PRESSURE = 48,
	GST_ON_CPU = 49,
	GST_WRITTEN = 50,
};

/* Records that others refer to, or that say how long a task was: they outlive their segment where they are still needed. */
static inline int gst_host_is_definition(uint16_t type)
{
	return type == GST_NAME || type == GST_PROBES || type == GST_TASK || type == GST_TASK_END || type == GST_PIPE_END;
}

enum gst_probes_how {
	GST_PROBES_EBPF = 1, /* the kernel says when, and who woke whom */
	GST_PROBES_PERF = 2, /* switches by perf_event_open, what for by looks at /proc; nobody's waker */
	GST_PROBES_PROC = 3, /* looks at /proc alone: times are halfway between two looks */
};

/* What the collector could watch: bits of gst_probes.watched. A probe that is not there costs what it would have said, nothing else. */
#define GST_PROBE_BITS(X)                                                                                        \
	X(SWITCH, 0, "sched_switch") X(WAKING, 1, "sched_waking") X(TASKS, 2, "fork, exec, exit")                \
	X(INTERRUPT, 3, "interrupt context") X(BLOCK, 4, "block requests") X(FAULT, 5, "mm_filemap_fault")       \
	X(RECLAIM, 6, "vmscan direct reclaim") X(MEMCG_RECLAIM, 7, "memcg reclaim") X(THROTTLE, 8, "CPU quota")  \
	X(ON_CPU, 9, "on-CPU samples") X(SYSCALL, 10, "system calls by /proc") X(PIPES, 11, "pipe and socket ends") \
	X(PRESSURE, 12, "PSI and cpu.stat") X(WRITE_BACK, 13, "write-back") X(WRITTEN, 14, "pages written")

#define GST_PROBE_ENUM(name, bit, text) GST_PROBE_##name = bit,
enum gst_probe { GST_PROBE_BITS(GST_PROBE_ENUM) GST_PROBE_COUNT = 15 };

struct gst_probes { /* first record of the file, and again at the end with `end` and the sums */
	struct gst_record record;
	uint64_t begin; /* everything is watched from here on */
	uint64_t end;   /* 0: not yet */
	uint32_t how;   /* enum gst_probes_how */
	uint32_t root;  /* tid of the followed tree's root */
	uint32_t watched; /* 1 << enum gst_probe */
	uint32_t wait_ns; /* shorter waits are in GST_STALLS, summed up */
	uint32_t period_ns; /* of looks (PERF, PROC) */
	uint32_t sample_ns; /* of GST_ON_CPU; 0 none */
	uint64_t events_lost; /* the kernel's buffer was full */
	uint64_t tasks_lost;  /* tables were full: these tasks were not followed */
	uint64_t kernel_ns;   /* the probes' own time in the kernel; 0 not measured */
};
_Static_assert(sizeof(struct gst_probes) == 72, "probes");

enum gst_task_flags {
	GST_TASK_ROOT = 1,
	GST_TASK_THERE = 2,    /* it ran before it was watched: its creator is who /proc says */
	GST_TASK_STRANGER = 4, /* not of the tree: it woke a task of the tree; only its waits from then on are on record */
	GST_TASK_KERNEL = 8,   /* a kernel thread */
	GST_TASK_EXEC = 16,    /* the same task under a new name: exec, or a thread that named itself */
};

struct gst_task {
	struct gst_record record;
	uint64_t begin;    /* born, or first seen, or (EXEC) renamed */
	uint64_t start_ns; /* CLOCK_MONOTONIC, when its process was started; 0 not known */
	uint64_t pid_ns;   /* inode of its PID namespace; 0 not known */
	uint32_t tid, pid; /* thread, process (thread group) */
	uint32_t own_tid, own_pid; /* as it sees itself; 0 not known */
	uint32_t creator;  /* tid; 0 not known */
	uint16_t flags;    /* enum gst_task_flags */
	uint16_t zero;
	char name[16];     /* padded with NUL */
};
_Static_assert(sizeof(struct gst_task) == 72, "task");

struct gst_task_end {
	struct gst_record record;
	uint64_t at;
	uint32_t tid;
	uint32_t zero;
};
_Static_assert(sizeof(struct gst_task_end) == 24, "task end");

enum gst_wait_flags {
	GST_WAIT_PREEMPTED = 1, /* it was runnable all along; wake == out */
	GST_WAIT_DISK = 2,      /* uninterruptible: the kernel's own D */
	GST_WAIT_IOWAIT = 4,    /* … and for I/O */
	GST_WAIT_FAULT = 8,     /* a page fault; offset is the page's in the file, where one is known */
	GST_WAIT_ANONYMOUS = 16, /* … on memory of no file: swap */
	GST_WAIT_RECLAIM = 32,  /* memory was being reclaimed by this task meanwhile */
	GST_WAIT_LOOKED = 64,   /* times are halfway between looks */
	GST_WAIT_LAST = 128,    /* it was not over when the record was written: in is when that was */
	GST_WAIT_WRITE_BACK = 256, /* held back until dirty pages are written */
};

/* What a task waited for. */
struct gst_wait_for {
	uint64_t arg;    /* first argument of the system call */
	uint64_t offset; /* in the file, in bytes; UINT64_MAX not known */
	uint64_t bytes;  /* asked for; 0 not known */
	uint64_t inode;  /* 0 none */
	uint32_t dev;    /* major << 20 | minor of the file's superblock; 0 none */
	uint32_t fs;     /* its magic (statfs(2)), which tells network file systems apart; 0 not known */
	uint32_t file;   /* GST_SPACE_FILE: path, or "pipe:[1]", "socket:[1]", "tcp:10.0.0.1:443", "unix:[1]:[peer]"; 0 none */
	int32_t syscall; /* number, by the header's machine; -1 in none; -2 not known */
	uint16_t flags;  /* enum gst_wait_flags */
	uint8_t fd_kind; /* enum gst_fd_kind */
	uint8_t zero[5];
};
_Static_assert(sizeof(struct gst_wait_for) == 56, "waited for");

enum gst_woken_by {
	GST_WOKEN_UNKNOWN = 0,
	GST_WOKEN_TASK = 1,      /* by `waker`, itself */
	GST_WOKEN_INTERRUPT = 2, /* a device, the network: whoever ran then had no part in it */
	GST_WOKEN_TIMER = 3,     /* the wait's own time limit */
};

struct gst_wait { /* a task was off its CPU for wait_ns or more; written when it is on one again */
	struct gst_record record;
	uint64_t out;  /* it left its CPU */
	uint64_t wake; /* it was to run again: from here on it waits for a CPU; out if PREEMPTED; 0 not known */
	uint64_t in;   /* it had one */
	uint64_t throttled_ns; /* of in - wake, in which its group's quota was used up */
	uint32_t tid;
	uint32_t waker; /* tid, 0 none or not known */
	uint32_t by;    /* enum gst_woken_by */
	uint32_t zero;
	struct gst_wait_for what;
};
_Static_assert(sizeof(struct gst_wait) == 112, "wait");

struct gst_stalls { /* shorter waits of one kind, summed up: of the same file, system call and flags */
	struct gst_record record;
	uint64_t begin, end; /* all of them lie between */
	uint64_t blocked_ns; /* not runnable */
	uint64_t queued_ns;  /* runnable without a CPU, throttled_ns included */
	uint64_t throttled_ns;
	uint32_t tid;
	uint32_t count;
	uint64_t last_offset; /* what.offset is the lowest; UINT64_MAX not known */
	struct gst_wait_for what; /* bytes: what their calls asked for, summed up, once for each wait */
};
_Static_assert(sizeof(struct gst_stalls) == 120, "stalls");

enum gst_request_flags { GST_REQUEST_WRITE = 1, GST_REQUEST_FLUSH = 2, GST_REQUEST_READ_AHEAD = 4, GST_REQUEST_SYNC = 8 };

struct gst_request { /* a block request, written when it is done */
	struct gst_record record;
	uint64_t queued, issued, done; /* handed to the queue; to the device; answered. queued and issued 0: not known */
	uint64_t sector;
	uint64_t inode;  /* of the first page, 0 not known */
	uint64_t offset; /* … in that file; UINT64_MAX not known */
	uint32_t tid;    /* that asked for it first */
	uint32_t dev;    /* the disk: major << 20 | minor */
	uint32_t file_dev; /* the file's superblock */
	uint32_t bytes;
	uint32_t flags;  /* enum gst_request_flags */
	uint32_t zero;
};
_Static_assert(sizeof(struct gst_request) == 80, "request");

struct gst_reclaim { /* the task itself looked for memory to free */
	struct gst_record record;
	uint64_t begin, end;
	uint64_t pages; /* freed */
	uint32_t tid;
	uint32_t group; /* 1: its control group's limit; 0: the machine's */
};
_Static_assert(sizeof(struct gst_reclaim) == 40, "reclaim");

enum gst_pipe_end_flags { GST_PIPE_READS = 1, GST_PIPE_WRITES = 2 };

struct gst_pipe_end { /* a process holds this end of a pipe or socket: who may be at the other end, where wakers are not known */
	struct gst_record record;
	uint64_t at;    /* seen */
	uint64_t inode; /* of the pipe, or of its socket */
	uint64_t peer;  /* a socket's other end, 0 not known */
	uint32_t pid;
	uint16_t flags; /* enum gst_pipe_end_flags */
	uint8_t fd_kind;
	uint8_t zero;
};
_Static_assert(sizeof(struct gst_pipe_end) == 40, "pipe end");

struct gst_pressure { /* now and then, over [begin, end]: PSI totals of the machine, throttling of the root's group; UINT32_MAX not known */
	struct gst_record record;
	uint64_t begin, end;
	uint32_t cpu_some_us, memory_some_us, memory_full_us, io_some_us, io_full_us;
	uint32_t throttled_us, throttled_periods;
	uint32_t zero;
};
_Static_assert(sizeof(struct gst_pressure) == 56, "pressure");

struct gst_on_cpu { /* found on a CPU, innermost frame first: addresses of its process */
	struct gst_record record;
	uint64_t at;
	uint32_t tid;
	uint32_t count;
	uint64_t frames[];
};
_Static_assert(sizeof(struct gst_on_cpu) == 24, "on CPU");

/* A task wrote to a file's pages, on a CPU: one call, or several close to each other, of 64 KiB and more; a wait ends the record. */
struct gst_written {
	struct gst_record record;
	uint64_t begin; /* the first page was made room for; where it had room, it was written */
	uint64_t end;   /* the last page was written */
	uint32_t tid;
	uint32_t count; /* of stretches of pages */
	struct gst_wait_for what; /* bytes: written; 0 not known. offset is not known */
};
_Static_assert(sizeof(struct gst_written) == 88, "written");
