/* SPDX-License-Identifier: BSD-2-Clause */
/* import_facts.h: what an importer (import_kineto, import_nsys) says of another tool's trace, one fact after another, in any order.
 * import_build makes struct trace of it, one for each process: so every later stage works as on our own recordings.
 *
 *   p = import_process(b, pid);
 *   import_thread(b, p, tid, "name"); import_call(b, &call); import_work(b, &work) …
 *   if (import_failed(b)) …
 *
 * Importers check nothing twice: what cannot be (an end before its begin, a number out of range) is left out here, and counted. A call or
 * piece of work that cannot be told from nothing is lost for the report, never a reason to stop. All times are nanoseconds, as the
 * file has them, exact; they need not be sorted. Texts are copied. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/host_ops.h"
#include "shim/format.h" /* enum gst_activity_kind, gst_copy_kind, gst_family */

struct import_build;

/* Where a fact stands: a byte of a text file, or a table's row. Numbers of tables are the importer's own, below 64. */
#define IMPORT_ROW(table, row) (1ull << 63 | (uint64_t)(table) << 56 | ((uint64_t)(row) & ((1ull << 56) - 1)))
#define IMPORT_IS_ROW(place) ((place) >> 63)
#define IMPORT_TABLE(place) ((unsigned)((place) >> 56 & 63))
#define IMPORT_ROW_OF(place) ((place) & ((1ull << 56) - 1))

#define IMPORT_NO_DEVICE UINT32_MAX
#define IMPORT_NO_STREAM UINT64_MAX
#define IMPORT_PROCESSES_MAX 4096u
#define IMPORT_DEVICES_MAX 4096u /* of all processes together; what is about others is left out, and said */

struct import_text { /* not NUL-terminated, untrusted */
	const char *at;
	size_t bytes;
};

/* A driver or runtime call. What it does is known by its name (import_calls.def). One inside another of its thread (the driver's inside the
 * runtime's) is the same call: the outer one counts, with the inner one's correlation if it has none. */
struct import_call {
	uint64_t place;
	int64_t begin_ns, end_ns;
	uint32_t process;     /* of import_process */
	uint32_t tid;
	uint32_t name;        /* of import_name: "cudaLaunchKernel", "cuLaunchKernel_v2" */
	int32_t result;       /* cudaError, CUresult: 0 fine, or not known */
	uint64_t correlation; /* of the work it submitted; 0 none */
	uint64_t bytes;       /* of an allocation or copy, 0 not known */
	uint64_t address;     /* …; of what is about an event: the event's own number, 0 not known */
	uint64_t stream;      /* where it says one, else IMPORT_NO_STREAM: the work's is taken */
	uint64_t context;     /* … and the stream's context: then that says which is meant, whatever the device; 0 not known */
	uint32_t device;      /* … or IMPORT_NO_DEVICE */
};

/* One thing the device did. */
struct import_work {
	uint64_t place;
	int64_t begin_ns, end_ns;
	uint32_t process;
	uint32_t device;      /* ordinal as the file has it */
	uint64_t stream;      /* the file's number, or IMPORT_NO_STREAM */
	uint64_t context;     /* streams are told apart within it; 0 not known */
	uint64_t correlation; /* of its call; 0 none */
	uint64_t bytes;       /* of a copy, memset */
	uint64_t node;        /* of a graph's launch, 0 none */
	uint32_t name;        /* of import_name; 0 none (copies, memsets) */
	uint8_t kind;         /* enum gst_activity_kind; GRAPH: a whole launch, whose nodes are not told apart */
	uint8_t copy;         /* enum gst_copy_kind */
};

/* What the program named: an NVTX range, a user annotation ("ProfilerStep#7"). */
struct import_range {
	uint64_t place;
	int64_t begin_ns, end_ns; /* end INT64_MAX: never ended */
	uint32_t process, tid;
	uint32_t name, domain;    /* of import_name; domain 0: the default one */
	bool started;             /* started and ended anywhere; else pushed and popped by one thread */
};

/* What a thread was at: evidence for causes. */
struct import_host_op {
	uint64_t place;
	int64_t begin_ns, end_ns;
	uint32_t process, tid;
	uint32_t name; /* of import_name */
	enum host_op_kind kind;
};

/* A collective or a message between ranks, as the call says that asks for it, or the kernel that does it. */
struct import_collective {
	uint64_t place;
	int64_t begin_ns, end_ns;
	uint32_t process, tid;
	uint32_t name;          /* of import_name, as PyTorch calls it: "allreduce", "_allgather_base". Others than it knows are left out */
	uint32_t group, ranks;  /* … of the process group, "3"; of its ranks, "[0, 1]"; 0 not said */
	uint32_t dtype;         /* … "BFloat16" */
	uint32_t size;          /* of the group; GST_NONE not said */
	uint32_t first, stride; /* its ranks are first, first + stride …; GST_NONE not said */
	uint64_t elements_in, elements_out;
	uint64_t seq;           /* its number in the group, counted alike by all ranks; 0 not said */
	uint64_t correlation;   /* 0: the call says so. Else a kernel does: times are the kernel's, and the call with the number launched it */
};

/* What a framework's allocator says. */
struct import_block {
	uint64_t place;
	int64_t time_ns;
	uint64_t address, bytes, allocated, reserved;
	uint32_t process, tid, device;
	bool freed, has_allocated, has_reserved; /* … of these totals: else they are not said */
};

struct import_device {
	uint32_t process, device;
	struct import_text name;
	uint64_t memory_bytes; /* 0 not known */
	uint8_t uuid[16];      /* zero not known */
};

/* Number of the process, made at its first mention; UINT32_MAX: there are too many, which is an error (import_failed). */
uint32_t import_process(struct import_build *b, uint64_t pid);
/* Number of a text, > 0; the same for the same text; 0 for the empty one, and where there is no memory. Of the whole import. */
uint32_t import_name(struct import_build *b, struct import_text text);
/* What a call of that name does (import_calls.def): enum gst_family. */
uint8_t import_family(struct import_build *b, uint32_t name);

void import_thread(struct import_build *b, uint32_t process, uint32_t tid, struct import_text name);
void import_device(struct import_build *b, const struct import_device *d);
/* By the trace's own word; ranks 0: it does not say how many. */
void import_rank(struct import_build *b, uint32_t process, uint32_t rank, uint32_t ranks);
void import_host(struct import_build *b, struct import_text name);
void import_command(struct import_build *b, uint32_t process, struct import_text command);
void import_call(struct import_build *b, const struct import_call *c);
void import_work(struct import_build *b, const struct import_work *w);
void import_range(struct import_build *b, const struct import_range *r);
void import_host_op(struct import_build *b, const struct import_host_op *o);
void import_collective(struct import_build *b, const struct import_collective *c);
void import_block(struct import_build *b, const struct import_block *m);
/* Where the file is damaged: of what devices did from then on not everything is known. The earliest time counts; without one, how far calls and
 * work go says it. */
void import_cut(struct import_build *b, int64_t ns);
/* The tool itself says that so many records are missing, or something in words (once each, kept to a few). */
void import_lost(struct import_build *b, uint64_t records);
/* The importer itself makes nothing of so many; of these so many are, or may be, work of a device. */
void import_left_out(struct import_build *b, uint64_t records, uint64_t work);
void import_warn(struct import_build *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Time 0 of the file, as time of day; 0 not known. */
void import_epoch(struct import_build *b, int64_t real_ns);

/* No memory, or too many processes: go no further. */
bool import_failed(const struct import_build *b);
