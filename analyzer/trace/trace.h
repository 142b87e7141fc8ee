/* SPDX-License-Identifier: BSD-2-Clause */
/* trace.h: one process's recording, decoded: every time in CLOCK_MONOTONIC nanoseconds, every name resolved, every array
 * sorted by time. Later stages see this, never the file. Importers of other tools' traces (import.h) fill the same structures. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comms.h"
#include "graphs.h"
#include "host_ops.h"
#include "launches.h"
#include "life.h"
#include "shim/format.h"
#include "stacks.h"
#include "tools/error.h"
#include "trace_memory.h"
#include "trace_ranges.h"

struct call { /* a driver call; fields as in FORMAT.md */
	int64_t begin_ns, end_ns;
	uint64_t seq; /* unwrapped to 64 bits */
	uint32_t stream; /* index into trace.streams, or GST_NONE */
	uint32_t tid;
	uint32_t name; /* kernel name id, index into trace.kernels, or 0 */
	int32_t result;
	uint16_t hook; /* index into trace.hooks, always valid */
	uint16_t device;
	uint16_t detail; /* of a launch: LAUNCH_BY_NCCL (comm_kernels.h), else 0 */
	uint8_t family; /* enum gst_family */
	uint8_t flags;
	union {
		uint32_t copies; /* of a batch of copies: how many; else 0 */
		uint32_t pool;   /* of a call about a pool: its number, 0 not known */
		uint32_t folded; /* of a launch: how many more are told by it (launches.h); else 0 */
	};
	uint32_t graph;  /* of a graph launch or change: index into trace.graphs, 0 not known */
	uint64_t args[2]; /* of a folded launch: where they are in trace.launches */
	uint64_t byte; /* in the file: evidence names it */
};

/* Does the call put work into a stream that the device must do? */
static inline bool is_submission(const struct call *c)
{
	return (c->flags & GST_SUBMISSION) && !(c->flags & GST_CAPTURED) && c->result == 0;
}

/* How many launches a call is: 1, but for one that is folded (launches.h). Of other calls 1. */
static inline uint64_t call_count(const struct call *c)
{
	return c->family == GST_FAMILY_LAUNCH ? 1ull + c->folded : 1;
}

struct stream {
	uint64_t handle, context;
	uint32_t id, flags;
	uint16_t device, kind;
	int32_t priority;
};

struct device {
	uint32_t device;
	uint8_t uuid[16];
	uint64_t memory_bytes;
	char name[64];
};

struct edge {
	int64_t begin_ns, end_ns;
	int64_t done_ns; /* INT64_MAX = never seen complete */
	double device_ns; /* on the device's own clock, from the chain of bases; NAN if its chain is broken */
	double step_ns;   /* rounding of the driver's float milliseconds, against other edges of its section */
	double link_ns;   /* … of its section against the one before it */
	uint64_t covers;
	uint32_t stream; /* index, or GST_NONE */
	uint32_t id, base;
	float elapsed_ms; /* since the base */
	uint32_t root;   /* the edge that device_ns counts from: only edges of one root can be compared */
	uint32_t section; /* the base that it and its neighbours are measured from */
	uint16_t device, kind;
	uint32_t tid; /* thread that recorded it, 0 unknown */
	uint32_t burst; /* number of the burst it belongs to, 0 none */
};

/* A sampled window in which submissions were put between two edges; fields as in FORMAT.md. Numbers need not be whole or unique. */
struct burst {
	int64_t begin_ns, end_ns;
	int64_t cost_ns;
	uint32_t number, submissions, edges, passed;
};

/* One thing the device did, and when, as CUPTI or another tool measured it. */
struct measured {
	int64_t begin_ns, end_ns;
	uint64_t seq;  /* of the submission in its stream; 0 not known */
	uint64_t node; /* of a graph's launch: as the recorder names it, 0 none */
	uint64_t bytes;
	uint32_t stream; /* index, or GST_NONE */
	uint32_t name;   /* index into trace.kernels, 0 none */
	uint32_t error_ns; /* of both times on the host's clock, at most */
	uint16_t device;   /* ordinal */
	uint8_t kind, copy; /* enum gst_activity_kind, gst_copy_kind */
};

/* Which level of device timing was in force from time_ns on; only where CUPTI was asked for. */
struct level {
	int64_t time_ns;
	uint32_t level; /* enum gst_device_level */
	uint32_t why;   /* enum gst_level_why */
	int32_t result;
};

struct poll {
	int64_t begin_ns, end_ns;
	uint64_t covers;
	uint32_t stream; /* index, or GST_NONE */
	bool ready;
};

#define SAMPLE_ON_CPU (-1) /* sample.syscall: on a CPU, or waiting for one; arg: 1 + the ns for which the quota of its control group was used up so far, 0 not known */

struct sample {
	int64_t time_ns;
	uint64_t arg;
	const char *file; /* borrowed from the trace; NULL none */
	uint32_t tid;
	int32_t syscall;
	uint16_t fd_kind;
	char state;
	bool holds; /* the lock that the thread of the sample of the same time waits for */
};

struct usage {
	int64_t time_ns;
	uint64_t cpu_ns, run_delay_ns;
	uint32_t tid, voluntary, involuntary, major_faults;
	uint32_t throttled; /* of its control group: 1 + us, modulo 2^32; 0 not known */
};

/* Work that was put into a stream before the records begin, as one call that is in no list: it may have run on after from_ns. */
struct carried {
	struct call call; /* seq: the last of it; stream GST_NONE: of no stream that is known */
	int64_t by_ns;    /* a list of busy streams did not name it then: all over. INT64_MAX none */
};

struct busy_list { /* which streams were not known to have finished */
	int64_t time_ns;
	size_t first, n; /* in trace.busy_streams */
	bool open; /* not all could be named: it says nothing of the others */
	bool left; /* nor of streams that were destroyed while they had work */
};

struct thread {
	uint32_t tid;
	char name[16]; /* NUL-terminated; the last one it was seen with */
};

/* How another tool's trace became this one (import_build.h). What is about its whole file is said of its first process alone. */
struct imported {
	const char *tool;         /* "kineto", "nsys"; lives on */
	uint64_t lost;            /* records that the tool itself says are missing */
	uint64_t left_out;        /* that lack something, or cannot be: an end before its begin, a number out of range */
	uint64_t without_work;    /* launches that worked and of which no work is on record */
	uint64_t inside;          /* calls inside another one of their thread, which stands for both */
	uint32_t rank, ranks;     /* by the trace's own word; GST_NONE not said */
	uint32_t window;          /* ranks are compared with those of the same one (run_windows.h); 0 where each rank has one trace */
	bool incomplete;          /* work may be missing anywhere: what is told of its devices is an inference */
	char **warnings; size_t n_warnings, warnings_left_out; /* untrusted */
};

#define TRACE_TYPES 64

struct trace {
	struct gst_file_header header;
	struct gst_counters counters;
	char *path;
	int64_t begin_ns, end_ns;   /* first and last sign of life in the file */
	double ns_per_tick;         /* on the average */
	struct clock *clock;        /* how its ticks became nanoseconds; NULL: they were nanoseconds */
	int64_t process_start_ns;   /* or begin_ns where unknown */
	int64_t drop_first_ns, drop_last_ns; /* of the records that were dropped; 0 not known */
	int64_t cut_ns;             /* INT64_MAX, or: damaged; nothing is known after this (everything later was dropped) */
	int64_t from_ns;            /* 0, or: the oldest records were given up; what had ended by then is left out (front.h) */
	struct carried *carried;    size_t n_carried;
	struct busy_list *busy;     size_t n_busy;    /* by time */
	uint32_t *busy_streams;     size_t n_busy_streams; /* indexes into streams */
	bool recycled;              /* by its own recorder; else from_ns is another process's of the device */
	enum life life;
	int64_t seen_ns;            /* INT64_MAX, or: still written to while it was read; what came after that instant is left out */
	struct error damage;        /* kind ERR_NONE if sound */
	struct call *calls;         size_t n_calls;   /* by begin_ns; begin_ns > cut_ns dropped */
	struct launches launches;   /* those of them that were told in rows */
	uint64_t *rare;             /* a bit for each: it is no plain launch (trace_rare.h); NULL: nobody looked */
	struct edge *edges;         size_t n_edges;   /* by begin_ns */
	struct burst *bursts;       size_t n_bursts;  /* by begin_ns */
	struct poll *polls;         size_t n_polls;
	struct measured *measured;  size_t n_measured; /* by begin_ns */
	struct level *levels;       size_t n_levels;   /* by time_ns */
	int64_t measured_from_ns, measured_until_ns; /* what was submitted in between was to be measured; equal: nothing was */
	struct sample *samples;     size_t n_samples;
	struct usage *usages;       size_t n_usages;
	struct stream *streams;     size_t n_streams;
	struct device *devices;     size_t n_devices;
	struct thread *threads;     size_t n_threads; /* by tid */
	struct graph *graphs;       size_t n_graphs;  /* call.graph indexes it; [0] is the unknown one */
	struct comm *comms;         size_t n_comms;   /* nccl_call.comm indexes it */
	struct nccl_call *nccl;     size_t n_nccl;    /* by begin_ns */
	struct range *ranges;       size_t n_ranges;  /* by begin_ns, longer ones first */
	char *range_text;           /* what their details point into */
	struct nvtx_slot nvtx;
	struct trace_memory memory; /* besides calls */
	struct host_ops host_ops;   /* what threads were at, where another tool saw it */
	struct imported *imported;  /* NULL: it is our own recording */
	const char **nccl_hooks;    size_t n_nccl_hooks; /* nccl_call.hook indexes it; NULL where the name was lost */
	const char **hooks;         size_t n_hooks;   /* by hook id; NULL where the name was lost */
	const char **kernels;       size_t n_kernels; /* call.name indexes it; [0] is "" */
	const char **kernel_titles;                   /* likewise, as people write them (kernels_name.h); NULL: nobody asked for these */
	bool *communicates;                           /* likewise: by its name, the kernel is communication (comm_kernels.h) */
	const char **entries;       size_t n_entries; /* driver functions looked up that the recorder does not know: "name version flags" */
	struct stacks stacks;       /* where its threads were */
	char *text;                 /* what the names above point into */
	/* counted while decoding */
	uint64_t records, segments, unfinished, unknown_records, names_missing;
	uint64_t measured_bad; /* activities whose times cannot be; left out */
	uint64_t types[TRACE_TYPES]; /* records by type; [0]: the others */
	uint64_t injected[GST_HOOK_MAX];
};

static inline uint32_t trace_window(const struct trace *t)
{
	return t->imported ? t->imported->window : 0;
}

/* A kernel's name as people write it, of any length; untrusted text; "" none. */
static inline const char *kernel_title(const struct trace *t, uint32_t kernel)
{
	return kernel >= t->n_kernels ? "" : t->kernel_titles ? t->kernel_titles[kernel] : t->kernels[kernel];
}

/* Reads and decodes one .gst. Damage is not a failure: see trace.damage. now_ns: a moment ago, CLOCK_MONOTONIC; of a process that was
 * alive then, what came later is left out. */
enum err_kind trace_open(struct trace **out, const char *path, int64_t now_ns, struct error *e);
/* The same, and launches are folded (launches.h): of a sound file that changes no report. */
enum err_kind trace_open_folded(struct trace **out, const char *path, int64_t now_ns, struct error *e);
enum err_kind trace_open_mem(struct trace **out, const void *buf, size_t len, const char *name, struct error *e);
enum err_kind trace_open_mem_folded(struct trace **out, const void *buf, size_t len, const char *name, struct error *e);
void trace_free(struct trace *t);

/* The last name it was seen with; "" not known. */
const char *trace_thread_name(const struct trace *t, uint32_t tid);
