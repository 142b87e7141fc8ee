/* SPDX-License-Identifier: BSD-2-Clause */
/* import_nsys_parts.h: what the parts of the Nsight importer share.
 *
 *   import_nsys_file     rows of an SQLite file that is not trusted
 *   import_nsys_names    texts by number
 *   import_nsys_details  what other tables know of a call: its stream, what was allocated
 *   import_nsys_contexts which device a context is of
 *   import_nsys_device   what devices did, and which devices they are
 *   import_nsys_calls    what threads called
 *   import_nsys_ranges   NVTX
 *   import_nsys_host     what threads were at
 *   import_nsys_about    when and where it was, names
 *   import_nsys_ranks    which rank a process is
 *   import_nsys_warnings what Nsight warns of */
#pragma once

#include "import_nsys_file.h"
#include "tools/hash_index.h"

struct nsys_process {
	uint64_t pid;
	uint32_t number; /* of import_process */
	bool works;      /* has calls or work of a device */
};

struct nsys_device { /* that did something */
	uint32_t process, device;
	uint64_t pid;
	int64_t gpu; /* id of its row in TARGET_INFO_GPU; -1 not said */
};

struct nsys_context { /* in which something was done on a device */
	uint64_t pid, context;
	uint32_t device; /* IMPORT_NO_DEVICE: on several */
};

struct nsys_detail { /* of a call */
	uint64_t pid, correlation;
	uint64_t stream, bytes, address; /* IMPORT_NO_STREAM, 0, 0: not known. Of an event's record or wait: its number */
	uint64_t context;                /* 0: not known */
	uint32_t device;                 /* IMPORT_NO_DEVICE: not known. Where the context is, that says it */
	uint32_t order;                  /* in which they were read; 0 once there is one for each call */
};

struct nsys_event { /* where an event was recorded */
	uint64_t pid, event, correlation, stream, context;
	uint32_t device;
	bool several; /* of that number: each context has its own */
};

struct nsys_names {
	struct nsys_name { int64_t id; uint32_t name; } *at;
	size_t n, cap;
	struct hash_index index;
	sqlite3_stmt *query;
	struct nsys_place { int64_t id, row; } *places; /* where ids are no row numbers */
	size_t n_places, cap_places;
	struct hash_index by_id;
	bool by_row;
};

struct nsys {
	struct import_build *b;
	struct nsys_file file;
	struct nsys_names names, calls; /* of calls without the version in their name */
	struct nsys_process *processes; size_t n_processes, cap_processes;
	struct hash_index by_pid;
	size_t last;             /* process that was asked for last */
	uint64_t default_pid;    /* where a row names no process */
	struct nsys_device *devices; size_t n_devices, cap_devices, device;
	struct nsys_context *contexts; size_t n_contexts, cap_contexts, context;
	struct nsys_detail *details; size_t n_details, cap_details, detail;
	struct nsys_event *events;   size_t n_events, cap_events;
	bool moved_pages; /* of managed memory */
	bool no_memory;
};

/* Of global numbers: hardware, VM and process, each above the thread's 24 bits. */
static inline uint64_t nsys_pid(uint64_t global)
{
	return global >> 24 & 0xffffff;
}

static inline uint32_t nsys_tid(uint64_t global)
{
	return global & 0xffffff;
}

/* The process of a row, by a column with a global number. */
uint64_t nsys_row_pid(const struct nsys *n, const struct nsys_rows *r, unsigned column);
/* NULL: it was not made; with `make`: no memory. */
struct nsys_process *nsys_process(struct nsys *n, uint64_t pid, bool make);
/* Its number, made where it is not there; UINT32_MAX: no memory. */
uint32_t nsys_process_number(struct nsys *n, uint64_t pid);
/* Time to stop. */
bool nsys_over(const struct nsys *n);
/* nsys_rows_next, unless it is time to stop. */
bool nsys_next(struct nsys *n, struct nsys_rows *r);

/* The text with this number, valid until the next one is asked for in any way; "" none. */
struct import_text nsys_text(struct nsys *n, int64_t id);
/* 0 where there is no such text. */
uint32_t nsys_name(struct nsys *n, struct nsys_names *names, int64_t id);
/* Number of import_name of the text of a column with a text's id; 0 none. */
uint32_t nsys_row_name(struct nsys *n, const struct nsys_rows *r, unsigned column);
/* Is it the word; does it begin with it? */
bool nsys_is(struct import_text text, const char *word);
bool nsys_begins(struct import_text text, const char *word);
bool nsys_names_open(struct nsys *n);
void nsys_names_close(struct nsys *n);

void nsys_details(struct nsys *n);
/* Of a call of which nothing is known but its correlation: fills in what the details say. */
void nsys_detail_find(struct nsys *n, uint64_t pid, struct import_call *c);

void nsys_device_work(struct nsys *n);
void nsys_devices(struct nsys *n);
uint64_t nsys_stream(const struct nsys_rows *r, unsigned column);
uint32_t nsys_device(const struct nsys_rows *r, unsigned column);
uint64_t nsys_context(const struct nsys_rows *r, unsigned column); /* 0: not known */
void nsys_context_see(struct nsys *n, uint64_t pid, uint64_t context, uint32_t device);
uint32_t nsys_context_device(struct nsys *n, uint64_t pid, uint64_t context, uint32_t otherwise);
void nsys_calls(struct nsys *n);
void nsys_ranges(struct nsys *n);
void nsys_host_ops(struct nsys *n);
void nsys_off_cpu(struct nsys *n);
void nsys_session(struct nsys *n);
void nsys_people(struct nsys *n); /* names of processes and threads */
void nsys_ranks(struct nsys *n);
void nsys_warnings(struct nsys *n);
