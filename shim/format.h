/* SPDX-License-Identifier: BSD-2-Clause */
/* format.h: the trace file (.gst) in C; FORMAT.md is the same in words and comes first.
 *
 * The one contract between the recorder and the analyzer: shim/ writes it, analyzer/read/reader.c checks it, nobody else
 * includes both sides.  Little endian, fixed widths, no bit-fields, padding is explicit and zero.
 *
 * To change it: FORMAT.md, then this file, then the version table in FORMAT.md, in one commit.  A new record type or a
 * use for a zero field keeps GST_VERSION (old readers skip unknown types); anything else raises it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define GST_VERSION 1u
#define GST_VERSION_RECYCLED 2u /* its beginning was given up */
#define GST_MAGIC "\x89GST\r\n\x1a\n" /* 8 bytes, the terminator not counted; the form PNG uses, for the same reasons */

#define GST_HEADER_BYTES 4096u
#define GST_COUNTERS_OFFSET 4096u
#define GST_COUNTERS_BYTES 4096u
#define GST_DIRECTORY_OFFSET 8192u
#define GST_SEGMENT_CAPACITY 65536u /* directory entries of 4 bytes each */
#define GST_SEGMENTS_OFFSET (GST_DIRECTORY_OFFSET + 4u * GST_SEGMENT_CAPACITY)
#define GST_SEGMENT_BYTES (256u * 1024u)
#define GST_HOOK_MAX 480u /* hook ids are below this */
#define GST_NONE UINT32_MAX

enum gst_clock { /* what a tick is */
	GST_CLOCK_TSC = 1,       /* x86-64 time stamp counter */
	GST_CLOCK_MONOTONIC = 2, /* CLOCK_MONOTONIC nanoseconds */
	GST_CLOCK_CNTVCT = 3,    /* aarch64 virtual counter */
};

enum gst_machine { GST_MACHINE_X86_64 = 62, GST_MACHINE_AARCH64 = 183 }; /* ELF's numbers; they decide what system calls' mean */

enum gst_device_level { GST_LEVEL_HOST = 1, GST_LEVEL_EDGES = 2, GST_LEVEL_BURSTS = 3, GST_LEVEL_CUPTI = 4 };

enum gst_file_kind {
	GST_FILE_PROCESS = 0, /* what a process did, by its recorder */
	GST_FILE_HOST = 1,    /* what the machine did meanwhile, by host probes: format_host.h */
};

/* At byte 0. Written once, before the file gets its name; so every .gst has a whole header. */
struct gst_file_header {
	uint8_t magic[8];
	uint32_t version; /* this and the check are one aligned store of 8 bytes: it changes once, from 1 to 2 */
	uint32_t check; /* gst_hash32 over all GST_HEADER_BYTES with this field zero */
	uint64_t segment_bytes;
	uint32_t segment_capacity;
	uint32_t clock;            /* enum gst_clock */
	uint32_t device_level;     /* enum gst_device_level in force */
	uint32_t pid;              /* as the process sees itself (its own PID namespace) */
	uint32_t ppid;
	uint32_t call_cost_ps;     /* calibrated: what recording one call adds, picoseconds; 0 unknown */
	uint64_t start_ticks;      /* the same instant in three clocks */
	uint64_t start_mono_ns;
	uint64_t start_real_ns;
	uint64_t process_start_mono_ns; /* from /proc/self/stat, 10 ms steps; 0 unknown */
	char run_id[64];           /* GPUSHIM_RUN, NUL-terminated like every text here */
	char host[64];
	char shim[64];             /* version of the recorder */
	char exe[512];
	char cmdline[2048];        /* arguments separated by spaces */
	uint32_t machine;          /* enum gst_machine; 0 in files from before it was said: the clock tells, if it is a counter */
	uint32_t kind;             /* enum gst_file_kind */
	uint64_t pid_ns;           /* inode of the PID namespace of the recorder, a host file's collector, in which pid is a number; 0 not known */
	uint8_t zero[GST_HEADER_BYTES - 2848];
};
_Static_assert(sizeof(struct gst_file_header) == GST_HEADER_BYTES, "file header");
_Static_assert(offsetof(struct gst_file_header, run_id) == 80, "file header");
_Static_assert(offsetof(struct gst_file_header, pid_ns) == 2840, "file header");
_Static_assert(offsetof(struct gst_file_header, version) == 8 && offsetof(struct gst_file_header, check) == 12, "one store");

/* At GST_COUNTERS_OFFSET. Live: each field only grows, by relaxed atomic adds from any thread. */
struct gst_counters {
	uint64_t records_dropped;      /* records that found no room: dropped_limit + dropped_disk + dropped_busy */
	uint64_t edges_skipped;        /* edge events not recorded (pool empty, a driver error) */
	uint64_t entry_points_unknown; /* functions cuGetProcAddress handed out that we do not know: each once, see GST_SPACE_ENTRY */
	uint64_t streams_untracked;    /* submissions to streams beyond the table; device times are then not to be trusted */
	uint64_t injected_ticks;       /* time the program's own threads spent in driver calls we added */
	uint64_t own_cpu_ns;           /* CPU time of our own threads */
	uint64_t last_ticks;           /* last sign of life (helper heartbeat, exit) */
	uint64_t exited;               /* 1: the process ended through exit(), all pending edges were read */
	uint64_t graphs_untracked; /* executable graphs whose structure is not known: the table is full, the driver did not say */
	uint64_t nccl_untracked; /* communicators beyond the table, copies of libnccl beyond eight */
	uint64_t segments_recycled; /* segments given up to go on within the limit (FORMAT.md, "Recycling") */
	uint64_t records_recycled;  /* records given up with them, those copied not counted */
	uint64_t calls_recycled;    /* calls among them */
	uint64_t recycled_until;    /* ticks: every record written later is in the file, unless dropped; 0 nothing was given up */
	uint64_t definitions_lost;  /* names, streams, graphs … given up with them: what is kept had grown to half of the file */
	uint64_t limit_bytes;       /* the file never grows beyond */
	uint64_t drop_first_ticks;  /* of records_dropped, 0 none */
	uint64_t drop_last_ticks;
	uint64_t drop_errno;    /* why the file could not grow: what lasts before what passes, a full disk before its limit (EFBIG); 0 never */
	uint64_t dropped_limit; /* within the limit every segment was in use by a thread */
	uint64_t dropped_disk;  /* the file could not grow, or is gone: drop_errno */
	uint64_t dropped_busy;  /* a signal handler's inside the recorder; another thread was giving up the last segment to be had */
	uint64_t own_ticks; /* what we took of the program's time in its own calls, without injected_ticks: estimated from those timed */
	uint64_t own_calls; /* calls that own_ticks is about */
	uint64_t own_timed; /* of them, those that were timed */
	uint64_t attach_ns; /* its threads' first calls: our file, their segments, the first names */
	uint64_t names_untracked; /* records of kernels and files without a name: the tables of names are full */
	uint64_t activities_dropped; /* that CUPTI, or the memory we gave it, had no room for, and those without a time */
	uint64_t nvtx_untracked; /* NVTX ranges that found no place in the recorder's tables, and texts: those ranges have no name */
	uint64_t zero[3];
	uint64_t injected[GST_HOOK_MAX]; /* driver calls we added, by hook id */
};
_Static_assert(sizeof(struct gst_counters) == GST_COUNTERS_BYTES, "counters");

/* Directory entry i: 0 = segment i not (yet) in use, else gst_directory_check(i): it lies whole in the file. */
static inline uint32_t gst_directory_check(uint32_t index)
{
	return (index + 1u) * 0x9e3779b1u | 0x00010001u;
}

/* At the start of each segment: GST_SEGMENTS_OFFSET + index * GST_SEGMENT_BYTES. Records follow at once. */
#define GST_SEGMENT_MAGIC 0x47455347u /* "GSEG" */
struct gst_segment_header {
	uint32_t magic;
	uint32_t index;
	uint32_t check;       /* gst_hash32 over these 64 bytes with this field zero */
	uint32_t tid;         /* the thread that writes it (its own PID namespace) */
	uint64_t begin_ticks; /* read before the segment was claimed: no record in it, nor in a later segment, was written earlier */
	uint32_t thread_seq;  /* 0, 1, 2 … over the segments of this thread */
	uint32_t previous;    /* index of this thread's segment before this one, or GST_NONE */
	char thread_name[16];
	uint32_t recycles;          /* how often this place in the file was given up before */
	uint32_t previous_recycles; /* … and that of `previous` when it was left */
	uint32_t flags;             /* enum gst_segment_flags */
	uint8_t zero[4];
};

enum gst_segment_flags {
	GST_SEGMENT_KEPT = 1, /* no thread's: copies out of segments that were given up */
};
_Static_assert(sizeof(struct gst_segment_header) == 64, "segment header");

/* Every record. size counts the header, is a multiple of 8. commit is written last: 0 = unfinished, else GST_COMMIT.
 * Eight zero bytes are room left empty; where nothing else follows (or fewer than 8 are left) a segment's records end. */
#define GST_COMMIT 0xc3a5u
struct gst_record {
	uint16_t type; /* enum gst_type */
	uint16_t size;
	uint16_t check; /* gst_record_check(type, size, offset in the segment) */
	uint16_t commit;
};
_Static_assert(sizeof(struct gst_record) == 8, "record header");

static inline uint16_t gst_record_check(uint16_t type, uint16_t size, uint32_t offset)
{
	uint32_t x = ((uint32_t)type << 16 | size) * 0x85ebca6bu ^ offset * 0xc2b2ae35u;

	x ^= x >> 15;
	x *= 0x2c1b3c6du;
	return (uint16_t)(x >> 16 | 1u); /* never 0, so a header is never all zero */
}

/* FNV-1a, 32 bits (http://www.isthe.com/chongo/tech/comp/fnv/, public domain), for headers. */
static inline uint32_t gst_hash32(const void *data, size_t bytes, size_t zero_at)
{
	const uint8_t *p = data;
	uint32_t h = 0x811c9dc5u;

	for (size_t i = 0; i < bytes; i++)
		h = (h ^ (i >= zero_at && i < zero_at + 4 ? 0u : p[i])) * 0x01000193u;
	return h;
}

enum gst_type {
	GST_CALL = 1,
	GST_NAME = 2,
	GST_STREAM = 3,
	GST_DEVICE = 4,
	GST_ANCHOR = 5,
	GST_EDGE = 6,
	GST_POLL = 7,
	GST_SAMPLE = 8,
	GST_USAGE = 9,
	GST_THREAD = 10,
	GST_GRAPH = 11,
	GST_GRAPH_NODES = 12,
	GST_GRAPH_EDGES = 13,
	GST_BUSY = 14,
	GST_KEPT = 15,
	GST_BURST = 16,
	GST_ACTIVITY = 17,
	GST_LEVEL = 18,
	GST_COMM = 20,
	GST_NCCL = 21,
	GST_BLOCK = 24,
	GST_MAPPING = 25,
	GST_POOL = 26,
	GST_MEMORY_LEFT = 27,
	GST_RANGE = 28,
	GST_RANGE_DATA = 29,
	GST_NVTX = 30,
	GST_STACK = 32,
	GST_STACK_AT = 33,
	GST_OBJECT = 34,
	GST_CODE = 35,
	GST_STACK_COST = 36,
};

/* Records that others refer to, wherever those stand: they outlive their segment. */
static inline int gst_is_definition(uint16_t type)
{
	return type == GST_NAME || type == GST_STREAM || type == GST_DEVICE || type == GST_COMM || type == GST_GRAPH ||
	       type == GST_GRAPH_NODES || type == GST_GRAPH_EDGES || type == GST_LEVEL || type == GST_STACK || type == GST_OBJECT ||
	       type == GST_CODE || type == GST_NVTX;
}

/* What a call does; decides the meaning of gst_call.seq, detail, name and args (FORMAT.md, "Families"). */
#define GST_FAMILIES(X)                                                                                        \
	X(OTHER, 0) X(LAUNCH, 1) X(COPY, 2) X(MEMSET, 3) X(HOSTFN, 4) X(GRAPH_LAUNCH, 5) X(SYNC_STREAM, 6)     \
	X(SYNC_CONTEXT, 7) X(SYNC_EVENT, 8) X(QUERY_STREAM, 9) X(QUERY_EVENT, 10) X(EVENT_RECORD, 11)          \
	X(STREAM_WAIT, 12) X(ALLOC, 13) X(FREE, 14) X(HOST_ALLOC, 15) X(HOST_FREE, 16) X(MODULE, 17)           \
	X(CONTEXT, 18) X(STREAM, 19) X(EVENT, 20) X(CAPTURE, 21) X(LOOKUP, 22) X(GRAPH, 23) X(MEMOP, 24)       \
	X(POOL, 25) X(VMM, 26) X(IPC, 27) X(GRAPH_CHANGE, 28) X(WRITE_VALUE, 29)

#define GST_FAMILY_ENUM(name, value) GST_FAMILY_##name = value,
enum gst_family { GST_FAMILIES(GST_FAMILY_ENUM) GST_FAMILY_COUNT = 30 };

enum gst_copy_kind { /* gst_call.detail of a COPY */
	GST_COPY_UNKNOWN = 0,
	GST_COPY_H2D_PAGEABLE = 1,
	GST_COPY_H2D_PINNED = 2,
	GST_COPY_D2H_PAGEABLE = 3,
	GST_COPY_D2H_PINNED = 4,
	GST_COPY_D2D = 5,
	GST_COPY_PEER = 6,
	GST_COPY_H2H = 7,
};

enum gst_value { /* gst_call.detail of a MEMOP and a WRITE_VALUE; 0: what it does is not known */
	GST_VALUE_GEQ = 1, /* waits until what is there is the value, or more, in a cyclic comparison */
	GST_VALUE_EQ = 2,
	GST_VALUE_AND = 3, /* … has a bit of it */
	GST_VALUE_NOR = 4, /* … lacks a bit of it: ~(there | value) != 0 */
	GST_VALUE_WRITTEN = 5,
	GST_VALUE_KIND = 15,
	GST_VALUE_64 = 16,        /* of 8 bytes, else of 4 */
	GST_VALUE_SEMAPHORE = 32, /* args[0] is a semaphore, no address */
	GST_VALUE_MORE = 256,     /* it does more than that, which is not on record */
};

enum gst_change { /* gst_call.detail of a GRAPH_CHANGE that is none of a copy's */
	GST_CHANGE_OFF = 256, /* the node does nothing from now on */
	GST_CHANGE_ON = 257,
};

enum gst_call_flags {
	GST_SUBMISSION = 1, /* seq is this call's own place in its stream */
	GST_BLOCKING = 2,   /* by its contract, when it returned the device had finished this work and all before it in the stream */
	GST_CAPTURED = 4,   /* went into a graph under capture, not to the device */
};

/* One driver call, written when it has returned. */
struct gst_call {
	struct gst_record record;
	uint64_t begin; /* ticks, at entry and at return */
	uint64_t end;
	uint32_t seq; /* submissions: 1, 2, 3 … in the stream (modulo 2^32); else the last submission known before it, 0 none */
	uint16_t hook; /* its GST_NAME in space GST_SPACE_HOOK */
	uint8_t family;
	uint8_t flags;  /* enum gst_call_flags */
	int32_t result; /* CUresult */
	uint32_t stream; /* id of a GST_STREAM, or GST_NONE */
	uint16_t device; /* ordinal, or 0xffff */
	uint16_t detail;
	uint32_t name; /* id in the family's name space, or 0 */
	uint64_t args[2];
};
_Static_assert(sizeof(struct gst_call) == 64, "call");

enum gst_name_space {
	GST_SPACE_HOOK = 1,   /* exported name of a driver call, "cuMemAlloc_v2" */
	GST_SPACE_KERNEL = 2, /* kernel, mangled as the module has it */
	GST_SPACE_FILE = 3,   /* path behind a descriptor, or "pipe:[inode]", "socket:[inode]" */
	GST_SPACE_ENTRY = 4,  /* a driver function that was looked up and that we do not know: "name version flags", as asked */
	GST_SPACE_NCCL = 20,    /* exported name of an NCCL call; ids below GST_NCCL_MAX */
	GST_SPACE_COMM = 21,    /* what the program calls a communicator (ncclConfig_t.commName), by its number */
	GST_SPACE_LIBRARY = 22, /* path of a copy of libnccl */
	GST_SPACE_NVTX = 28, /* what the program says through NVTX: names of ranges, domains and categories; payload schemas */
};

struct gst_name {
	struct gst_record record;
	uint32_t id;     /* > 0 in every space but HOOK */
	uint16_t space;  /* enum gst_name_space */
	uint16_t length; /* bytes of text, no terminator; zero padding to a multiple of 8 follows */
	char text[];
};
_Static_assert(sizeof(struct gst_name) == 16, "name");

enum gst_stream_kind { GST_STREAM_CREATED = 0, GST_STREAM_LEGACY = 1, GST_STREAM_PER_THREAD = 2 };

struct gst_stream { /* first sight of a stream; a handle that is destroyed and made again is a new id */
	struct gst_record record;
	uint32_t id; /* 1, 2, 3 … */
	uint16_t device;
	uint16_t kind; /* enum gst_stream_kind */
	uint64_t handle;
	uint64_t context;
	uint32_t flags; /* CU_STREAM_NON_BLOCKING … */
	int32_t priority;
};
_Static_assert(sizeof(struct gst_stream) == 40, "stream");

struct gst_device {
	struct gst_record record;
	uint32_t device;
	uint32_t zero;
	uint8_t uuid[16];
	uint64_t memory_bytes;
	char name[64];
};
_Static_assert(sizeof(struct gst_device) == 104, "device");

struct gst_anchor { /* one instant read in both clocks: ticks is the middle of two reads around mono_ns */
	struct gst_record record;
	uint64_t ticks;
	uint64_t mono_ns;
	uint32_t width_ticks; /* distance of the two reads: the anchor's uncertainty */
	uint32_t zero;
};
_Static_assert(sizeof(struct gst_anchor) == 32, "anchor");

/* A timing event we recorded. When it fired, every submission of `stream` up to `covers` had finished; it cannot have
 * fired before `begin`. Its device time is the base edge's device time + elapsed_ms (an edge with base == edge is zero). */
struct gst_edge {
	struct gst_record record;
	uint32_t edge; /* 1, 2, 3 … in the process */
	uint32_t base;
	uint32_t stream;
	uint32_t covers;
	uint64_t begin; /* ticks around our cuEventRecord */
	uint64_t end;
	uint64_t done; /* ticks at which it was first seen complete (an upper bound), 0 never */
	float elapsed_ms;
	uint16_t device;
	uint16_t kind; /* enum gst_edge_kind */
	uint32_t tid;  /* thread that recorded it (another one writes this record); 0 unknown */
	uint32_t burst; /* of a GST_BURST, 0 none */
};
_Static_assert(sizeof(struct gst_edge) == 64, "edge");

enum gst_edge_kind {
	GST_EDGE_BLOCK = 1,  /* before the host blocks */
	GST_EDGE_START = 2,  /* on a stream known empty: a clock anchor and a lower bound on the next start */
	GST_EDGE_CLASS = 3,  /* between a large copy, or a kernel that NCCL launched, and other work */
	GST_EDGE_HOSTFN_BEFORE = 4,
	GST_EDGE_HOSTFN_AFTER = 5, /* covers the host function itself */
	GST_EDGE_BURST_BEFORE = 6, /* right before a submission of a burst: covers all but it */
	GST_EDGE_BURST_AFTER = 7,  /* right behind it: covers it too */
	GST_EDGE_BURST_NULL = 8,   /* right behind another edge, with nothing between: what an edge itself takes */
};

/* A sampled window in which every submission that could be was put between two edges; those bear its number. */
struct gst_burst {
	struct gst_record record;
	uint64_t begin;  /* ticks: before its first edge, after its last */
	uint64_t end;
	uint32_t burst; /* 1, 2, 3 … in the process */
	uint32_t submissions; /* bracketed */
	uint32_t edges;
	uint32_t passed; /* submissions that had a place in it and were not bracketed */
	uint64_t cost_ticks; /* what the program's threads spent in the driver calls of ours */
};
_Static_assert(sizeof(struct gst_burst) == 48, "burst");

enum gst_activity_kind { GST_ACTIVITY_KERNEL = 1, GST_ACTIVITY_COPY = 2, GST_ACTIVITY_MEMSET = 3, GST_ACTIVITY_GRAPH = 4 };

/* One thing the device did, as CUPTI measured it. */
struct gst_activity {
	struct gst_record record;
	uint64_t begin_ns; /* CLOCK_MONOTONIC */
	uint64_t end_ns;
	uint32_t stream; /* id of a GST_STREAM, or GST_NONE */
	uint32_t seq;    /* the submission it belongs to (gst_call.seq), 0 not known */
	uint64_t node;   /* of a graph's launch: the node, as the driver numbers it; 0 none */
	uint64_t bytes;  /* of a copy or memset */
	uint32_t name;   /* GST_SPACE_KERNEL, 0 none */
	uint32_t error_ns; /* of both times on the host's clock, as far as is known */
	uint16_t device; /* ordinal */
	uint8_t kind;    /* enum gst_activity_kind; GRAPH: a whole launch, whose nodes are not told apart */
	uint8_t copy;    /* enum gst_copy_kind */
	uint32_t zero;
};
_Static_assert(sizeof(struct gst_activity) == 64, "activity");

enum gst_level_why {
	GST_LEVEL_AS_ASKED = 0,
	GST_LEVEL_NO_LIBRARY = 1, /* there is no libcupti */
	GST_LEVEL_HELD = 2,       /* another tool is its subscriber, or is about to be */
	GST_LEVEL_REFUSED = 3,    /* it said `result` */
	GST_LEVEL_YIELDED = 4,    /* the program's own profiler wants it */
	GST_LEVEL_FORKED = 5,     /* a child; CUPTI was its parent's */
	GST_LEVEL_ENDS = 6,       /* exit() */
};

struct gst_level { /* where another level was asked for than `auto` and may not be had: at first, and when it changes */
	struct gst_record record;
	uint64_t ticks;
	uint32_t level; /* enum gst_device_level in force from `ticks` on */
	uint32_t why;   /* enum gst_level_why */
	int32_t result; /* CUptiResult, 0 none */
	uint32_t asked; /* enum gst_device_level */
};
_Static_assert(sizeof(struct gst_level) == 32, "level");

struct gst_poll { /* the helper's query of a silent stream */
	struct gst_record record;
	uint32_t stream;
	uint32_t covers; /* last submission the query was about */
	uint64_t begin;
	uint64_t end;
	uint32_t ready; /* 1: all of it had finished by `end`; 0: not all of it at `begin` */
	uint32_t zero;
};
_Static_assert(sizeof(struct gst_poll) == 40, "poll");

enum gst_fd_kind { GST_FD_NONE = 0, GST_FD_FILE = 1, GST_FD_PIPE = 2, GST_FD_SOCKET = 3, GST_FD_OTHER = 4, GST_FD_NETWORK = 5 };

/* The lock that another thread, with a sample of the same ticks, was found waiting for is this one's, by what the lock itself says. */
#define GST_SAMPLE_HOLDS 1

struct gst_sample { /* what a silent thread was doing, from /proc, and who it may have waited for */
	struct gst_record record;
	uint64_t ticks;
	uint32_t tid;
	int32_t syscall; /* number on `arch` of the file, -1 = on a CPU or runnable, -2 = blocked outside a system call, -3 unknown */
	uint64_t arg;    /* first argument of the system call; blocked outside of one: bytes of the process in the swap; on a CPU: 1 + the ns for which the quota of
			  * its control group was used up so far, 0 not known (both 0 in old files) */
	uint32_t file;   /* GST_SPACE_FILE name of the descriptor, 0 none */
	uint16_t fd_kind;
	char state; /* R S D T … of /proc/<tid>/stat */
	uint8_t flags; /* GST_SAMPLE_… */
};
_Static_assert(sizeof(struct gst_sample) == 40, "sample");

struct gst_usage { /* the writing thread's own accounts, so far, at `ticks` */
	struct gst_record record;
	uint64_t ticks;
	uint64_t cpu_ns;       /* user + system time, rounded down (FORMAT.md) */
	uint64_t run_delay_ns; /* time runnable but without a CPU, at most; counted from anywhere; UINT64_MAX unknown */
	uint32_t voluntary;    /* context switches */
	uint32_t involuntary;
	uint32_t major_faults;
	uint32_t throttled; /* 1 + us for which the quota of the process's control group was used up so far, modulo 2^32; 0 not known */
};
_Static_assert(sizeof(struct gst_usage) == 48, "usage");

struct gst_thread { /* a segment changed hands: what follows in it is of this thread */
	struct gst_record record;
	uint32_t tid;
	uint32_t zero;
	char name[16];
};
_Static_assert(sizeof(struct gst_thread) == 32, "thread");

enum gst_graph_flags {
	GST_GRAPH_OPEN = 1,     /* what a launch runs is decided on the device */
	GST_GRAPH_NO_EDGES = 2, /* the dependencies are not known */
	GST_GRAPH_SAME = 4,     /* an update: nodes and edges as in `base`, names and sizes perhaps not */
};

struct gst_graph { /* what an executable graph holds; its nodes and edges stand before it */
	struct gst_record record;
	uint32_t graph; /* 1, 2, 3 … */
	uint32_t base;  /* structure it replaces, 0 none */
	uint64_t exec;
	uint64_t end;   /* ticks */
	uint32_t nodes;
	uint32_t work;  /* kernels, copies, memsets among them */
	uint32_t described; /* entries in GST_GRAPH_NODES */
	uint32_t edges;     /* … in GST_GRAPH_EDGES */
	uint16_t flags;     /* enum gst_graph_flags */
	uint8_t zero[6];
};
_Static_assert(sizeof(struct gst_graph) == 56, "graph");

struct gst_graph_node {
	uint64_t node;
	uint64_t parent; /* the child graph node it stands in, 0 none */
	uint64_t arg;    /* bytes; event */
	uint32_t name;   /* GST_SPACE_KERNEL, 0 none */
	uint8_t type;    /* CUgraphNodeType */
	uint8_t device;  /* ordinal + 1, 0 not known */
	uint8_t kind;    /* enum gst_copy_kind */
	uint8_t other;   /* of a copy between two devices the destination's */
};
_Static_assert(sizeof(struct gst_graph_node) == 32, "graph node");

struct gst_graph_edge {
	uint64_t from, to;
};

/* Both lists: this header, then `count` entries. */
struct gst_graph_list {
	struct gst_record record;
	uint32_t graph;
	uint32_t count;
};
_Static_assert(sizeof(struct gst_graph_list) == 16, "graph list");

enum gst_busy_flags {
	GST_BUSY_MORE = 1, /* not all could be named */
	GST_BUSY_LEFT = 2, /* a stream was destroyed with work that is not known to have finished */
};

struct gst_busy { /* first in a segment: streams with work that is not known to have finished at `ticks` */
	struct gst_record record;
	uint64_t ticks;
	uint32_t count;
	uint32_t flags; /* enum gst_busy_flags */
	uint32_t streams[]; /* zero padding to a multiple of 8 follows */
};
_Static_assert(sizeof(struct gst_busy) == 24, "busy");

struct gst_kept { /* in a kept segment: what follows, up to the next of these, was copied from another segment */
	struct gst_record record;
	uint32_t segment; /* its index */
	uint32_t recycles; /* … and its header's: while that very segment is still there, it counts and the copy does not */
};
_Static_assert(sizeof(struct gst_kept) == 16, "kept");

/* What an NCCL call does. Its value decides the meaning of gst_nccl.seq, count and peer (FORMAT.md). */
#define GST_NCCL_KINDS(X)                                                                                       \
	X(OTHER, 0) X(ALL_REDUCE, 1) X(BROADCAST, 2) X(REDUCE, 3) X(ALL_GATHER, 4) X(REDUCE_SCATTER, 5)         \
	X(ALL_TO_ALL, 6) X(GATHER, 7) X(SCATTER, 8) X(SEND, 9) X(RECV, 10) X(PUT, 11) X(SIGNAL, 12)             \
	X(WAIT_SIGNAL, 13) X(GROUP_START, 14) X(GROUP_END, 15) X(GROUP_SIMULATE, 16) X(INIT, 17) X(SPLIT, 18)   \
	X(SHRINK, 19) X(GROW, 20) X(FINALIZE, 21) X(DESTROY, 22) X(ABORT, 23) X(REVOKE, 24) X(SUSPEND, 25)      \
	X(RESUME, 26) X(REGISTER, 27) X(DEREGISTER, 28) X(MEMORY, 29) X(QUERY, 30)

#define GST_NCCL_ENUM(name, value) GST_NCCL_##name = value,
enum gst_nccl_kind { GST_NCCL_KINDS(GST_NCCL_ENUM) GST_NCCL_KIND_COUNT = 31 };
#define GST_NCCL_MAX 160u /* ids of NCCL calls are below this */

enum gst_comm_flags {
	GST_COMM_NONBLOCKING = 1, /* its configuration says so */
	GST_COMM_ALL = 2,         /* one of ncclCommInitAll's */
};

struct gst_comm { /* a communicator, as this process holds it; again under the same number once its rank is known */
	struct gst_record record;
	uint64_t ticks; /* when the call returned that made it */
	uint64_t hash;  /* the same on all of its ranks */
	uint64_t also;  /* grown: the hash by which ranks go that know less; 0 none */
	uint32_t comm;  /* 1, 2, 3 … in the process */
	uint32_t parent; /* that it was split, shrunk or grown from, 0 none */
	uint32_t rank;   /* GST_NONE not known yet, and so is size */
	uint32_t size;
	uint32_t library; /* GST_SPACE_LIBRARY, 0 not known */
	uint32_t version; /* ncclGetVersion's */
	uint16_t device;  /* ordinal, or 0xffff */
	uint8_t made;     /* GST_NCCL_INIT, SPLIT, SHRINK, GROW */
	uint8_t flags;    /* enum gst_comm_flags */
	uint32_t zero;
};
_Static_assert(sizeof(struct gst_comm) == 64, "communicator");

enum gst_nccl_flags {
	GST_NCCL_INNER = 1, /* a group inside a group: its end launches nothing */
	GST_NCCL_OURS = 2,  /* a question of the recorder's, no call of the program's */
};

struct gst_nccl { /* an NCCL call of the program, written when it has returned */
	struct gst_record record;
	uint64_t begin; /* ticks, at entry and at return */
	uint64_t end;
	uint32_t comm; /* of a GST_COMM, 0 none or not known */
	uint16_t hook; /* GST_SPACE_NCCL */
	uint8_t kind;  /* enum gst_nccl_kind */
	uint8_t flags; /* enum gst_nccl_flags */
	int32_t result; /* ncclResult_t; 0 of calls that return none */
	uint32_t stream; /* id of a GST_STREAM, or GST_NONE */
	uint32_t group;  /* the thread was inside this one, 0 none */
	uint32_t seq;
	uint64_t count;
	int32_t peer; /* root or peer, -1 none */
	uint16_t op;  /* ncclRedOp_t; 0xffff none; 0xfffe one that does not fit */
	uint8_t datatype; /* ncclDataType_t, 0xff none */
	uint8_t zero;
};
_Static_assert(sizeof(struct gst_nccl) == 64, "nccl call");

enum gst_range_kind {
	GST_RANGE_PUSHED = 1,  /* pushed and popped by one thread, nested */
	GST_RANGE_STARTED = 2, /* started and ended by any threads, in any order */
	GST_RANGE_MARK = 3,    /* an instant: begin is end */
};

enum gst_range_flags {
	GST_RANGE_NUMBERED = 1, /* the name ends with `number`, in decimal, which is not in the text that `name` refers to */
};

/* A stretch of time that the program named through NVTX, written when it ended. One that may last is written when it begins as well, with
 * end 0: of two records with the same `range` the one with an end counts. */
struct gst_range {
	struct gst_record record;
	uint64_t begin; /* ticks */
	uint64_t end;   /* 0: not yet */
	uint64_t payload; /* its bits, by payload_kind */
	uint32_t range; /* unique in the process, never 0 */
	uint32_t tid;   /* thread that began it; the record is of the thread that ended it */
	uint32_t domain; /* GST_SPACE_NVTX: its name, 0 the default domain */
	uint32_t name;  /* GST_SPACE_NVTX, 0 none */
	uint32_t number; /* last part of the name, see GST_RANGE_NUMBERED */
	uint32_t category; /* the program's number, 0 none */
	uint16_t level; /* of a pushed one: how many of its thread and domain it stands in; else 0 */
	uint8_t kind;   /* enum gst_range_kind */
	uint8_t payload_kind; /* as NVTX numbers them: 1 uint64, 2 int64, 3 double, 4 uint32, 5 int32, 6 float, 0 none */
	uint8_t flags;  /* enum gst_range_flags */
	uint8_t zero[3];
};
_Static_assert(sizeof(struct gst_range) == 64, "range");

struct gst_range_data { /* a structured payload of a range: what it holds, as the program had it in memory */
	struct gst_record record;
	uint32_t range;
	uint32_t schema; /* GST_SPACE_NVTX: which field lies where (FORMAT.md), 0 not known */
	uint32_t bytes;  /* of the payload */
	uint32_t kept;   /* of them, those that follow here; zero padding to a multiple of 8 */
	uint8_t data[];
};
_Static_assert(sizeof(struct gst_range_data) == 24, "range data");

enum gst_nvtx_what {
	GST_NVTX_OURS = 1,     /* the slot for a tool is ours: what the program says is recorded */
	GST_NVTX_TAKEN = 2,    /* another tool has it (`name`); nothing is recorded */
	GST_NVTX_OFF = 3,      /* GPUSHIM_NVTX=off */
	GST_NVTX_ATTACHED = 4, /* a library's copy of NVTX has been given our functions; `number`: how many so far */
	GST_NVTX_CATEGORY = 5, /* category `number` of `domain` is called `name` */
};

struct gst_nvtx {
	struct gst_record record;
	uint64_t ticks;
	uint32_t what;   /* enum gst_nvtx_what */
	uint32_t domain; /* GST_SPACE_NVTX, 0 the default domain */
	uint32_t number;
	uint32_t name;   /* GST_SPACE_NVTX, 0 none */
};
_Static_assert(sizeof(struct gst_nvtx) == 32, "nvtx");

/* ---- stacks ---------------------------------------------------------------------------------------------------------- */

enum gst_frame_kind {
	GST_FRAME_RETURN = 1, /* native: `at` is where it goes on; the call stands before that */
	GST_FRAME_EXACT = 2,  /* native: `at` is the instruction itself: interrupted by a signal, or where a thread was seen */
	GST_FRAME_PYTHON = 3, /* `of` is a GST_CODE, `at` the line, 0 not known */
};

struct gst_frame {
	uint64_t at;
	uint32_t of;   /* native: GST_OBJECT, 0 in none (code made at run time); Python: GST_CODE */
	uint16_t kind; /* enum gst_frame_kind */
	uint16_t zero;
};
_Static_assert(sizeof(struct gst_frame) == 16, "frame");

#define GST_FRAMES_MAX 1024u

enum gst_stack_flags {
	GST_STACK_TRUNCATED = 1, /* there are more frames outward: too many, or the next one could not be found */
	GST_STACK_NATIVE = 2,    /* it has native frames */
	GST_STACK_PYTHON = 4,    /* it has Python frames */
	GST_STACK_UNMERGED = 8,  /* both, and where they belong together is not known: the Python frames stand first */
};

struct gst_stack { /* innermost frame first; those of the recorder and of the driver are left out */
	struct gst_record record;
	uint32_t id; /* 1, 2, 3 … in the process */
	uint16_t count;
	uint16_t flags; /* enum gst_stack_flags */
	struct gst_frame frames[];
};
_Static_assert(sizeof(struct gst_stack) == 16, "stack");

enum gst_stack_why {
	GST_STACK_STALL = 1,   /* the driver call [begin, end] made the thread wait */
	GST_STACK_SILENCE = 2, /* the thread made no driver call in [begin, end]; the stack is that of the call that ended it */
	GST_STACK_SITE = 3,    /* the first submission seen from this place; [begin, end] is its call */
	GST_STACK_SAMPLE = 4,  /* one driver call in so many; [begin, end] is the call */
	GST_STACK_LOOK = 5,    /* what a silent thread was at, seen from outside at `end`; its silence began at `begin` */
};

struct gst_stack_at { /* where a thread was, and when */
	struct gst_record record;
	uint64_t begin; /* ticks */
	uint64_t end;
	uint32_t stack;
	uint32_t tid; /* whose stack it is: LOOK is written by another thread */
	uint16_t why;  /* enum gst_stack_why */
	uint16_t hook; /* the call's GST_NAME in space GST_SPACE_HOOK; 0xffff none */
	uint32_t weight; /* SAMPLE: driver calls of the thread it stands for; else 1 */
};
_Static_assert(sizeof(struct gst_stack_at) == 40, "stack at");

enum gst_object_flags {
	GST_OBJECT_PROGRAM = 1, /* the executable itself */
	GST_OBJECT_VDSO = 2,    /* the kernel's; there is no file */
	GST_OBJECT_GONE = 4,    /* there was no file of that name (any more) when it was first seen */
};

struct gst_object { /* an ELF object, as it was mapped when a stack went through it; mapped again, or another one at its place, is a new id */
	struct gst_record record;
	uint32_t id; /* 1, 2, 3 … in the process */
	uint16_t flags; /* enum gst_object_flags */
	uint16_t path_bytes; /* of the text behind this struct; no terminator; zero padding to a multiple of 8 follows */
	uint64_t bias;  /* address = bias + the address in the file */
	uint64_t begin; /* of its memory */
	uint64_t end;
	uint64_t file_bytes; /* of the file when it was first seen, 0 not known */
	uint64_t file_mtime_ns;
	uint8_t build_id[32];
	uint8_t build_id_bytes; /* 0 it has none, or a longer one, cut: 32 */
	uint8_t zero[7];
	char path[]; /* absolute where that could be told */
};
_Static_assert(sizeof(struct gst_object) == 96, "object");

struct gst_code { /* a Python code object */
	struct gst_record record;
	uint32_t id; /* 1, 2, 3 … in the process */
	uint32_t first_line;
	uint16_t file_bytes; /* of text: the file's name, then the function's qualified name; UTF-8, no terminators, padded with zero */
	uint16_t name_bytes;
	uint16_t version; /* of the interpreter: 0x030b is 3.11 */
	uint16_t zero;
	char text[];
};
_Static_assert(sizeof(struct gst_code) == 24, "code");

struct gst_stack_cost { /* what stacks have cost so far, the whole process: one a second at most, and one at exit */
	struct gst_record record;
	uint64_t ticks;
	uint64_t taken_ticks; /* the program's threads spent so long in taking them; not in gst_counters.own_ticks */
	uint64_t taken;       /* stacks taken by the program's threads: they make one GST_STACK_AT each */
	uint64_t looks;       /* … by ours, of the program's (their time is in own_cpu_ns) */
	uint64_t passed;      /* moments worth a stack that the budget had no room for */
	uint64_t failed;      /* that gave no frame at all */
	uint64_t frames;
	uint32_t stacks;       /* different ones */
	uint32_t untracked;    /* objects that had no place among the 1024 known at a time */
	uint32_t budget_ppm;   /* share of a thread's time that stacks may take */
	uint32_t python;       /* interpreter met: 0x030b is 3.11; 0 none; bit 31: one whose frames cannot be read; and … */
};
_Static_assert(sizeof(struct gst_stack_cost) == 80, "stack cost");
#define GST_STACKS_REFUSED 0x40000000u /* … the kernel refuses what stacks are read with: none from then on */

enum gst_block_kind {
	GST_BLOCK_TAKEN = 1,   /* the framework's allocator handed the block out */
	GST_BLOCK_GIVEN = 2,   /* … and has it back; the memory stays reserved */
	GST_BLOCK_REFUSED = 3, /* out of memory: bytes as they were asked for, no address */
};

/* What a framework's caching allocator says of one block, under its own lock. */
struct gst_block {
	struct gst_record record;
	uint64_t ticks;
	uint64_t address;
	uint64_t bytes;
	uint64_t allocated; /* by its own accounts, with this block; in all blocks of the device */
	uint64_t reserved;  /* … and in what it holds of the driver's memory */
	uint16_t device;    /* ordinal, or 0xffff */
	uint8_t kind;       /* enum gst_block_kind */
	uint8_t device_type; /* as the framework numbers them: PyTorch's 1 is CUDA */
	uint32_t zero;
};
_Static_assert(sizeof(struct gst_block) == 56, "block");

struct gst_mapping { /* cuMemMap: physical memory stands at an address from now on */
	struct gst_record record;
	uint64_t ticks; /* when the call returned */
	uint64_t address;
	uint64_t bytes;
	uint64_t handle; /* what cuMemCreate returned */
	uint64_t offset; /* within it */
};
_Static_assert(sizeof(struct gst_mapping) == 48, "mapping");

struct gst_pool { /* what the driver says of a pool; asked now and then behind calls that use it */
	struct gst_record record;
	uint64_t ticks; /* when it had answered */
	uint64_t handle;
	uint64_t reserved; /* bytes: what it holds of the device's memory, and the most it ever held */
	uint64_t reserved_high;
	uint64_t used; /* … and what of that is handed out */
	uint64_t used_high;
	uint32_t pool;   /* gst_call.name of calls about it */
	uint16_t device; /* ordinal */
	uint16_t zero;
};
_Static_assert(sizeof(struct gst_pool) == 64, "pool");

struct gst_memory_left { /* asked of the driver when an allocation had been refused */
	struct gst_record record;
	uint64_t ticks; /* when it had answered */
	uint64_t free;  /* bytes of the device that nobody holds, of whatever process */
	uint64_t total;
	uint16_t device; /* ordinal */
	uint8_t zero[6];
};
_Static_assert(sizeof(struct gst_memory_left) == 40, "memory left");
