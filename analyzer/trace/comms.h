/* SPDX-License-Identifier: BSD-2-Clause */
/* comms.h: the communicators and NCCL calls of a process: GST_COMM, GST_NCCL -> nanoseconds, names, indexes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/format.h"

struct names;
struct trace;

struct comm { /* fields as in FORMAT.md */
	uint64_t hash;
	uint64_t also; /* 0 none */
	const char *name;    /* what the program calls it, NULL nothing; borrowed from the trace, untrusted text */
	const char *library; /* path, NULL not known; likewise */
	uint32_t id, parent;
	uint32_t library_name; /* its id in the file */
	uint32_t rank, size; /* GST_NONE not known */
	uint32_t version;
	uint16_t device;
	uint8_t made, flags;
	bool counted; /* its calls carry no numbers: theirs are their places among those on record (ranks_counted.c) */
};

struct nccl_call {
	int64_t begin_ns, end_ns;
	int64_t group_begin_ns; /* of the end of a group: when it was opened; else 0 */
	uint64_t count;
	uint64_t byte;   /* in the file */
	uint32_t comm;   /* index into trace.comms, or GST_NONE */
	uint32_t stream; /* index into trace.streams, or GST_NONE */
	uint32_t tid, group, seq;
	int32_t result, peer;
	uint16_t hook;   /* index into trace.nccl_hooks, always valid */
	uint16_t op;
	uint8_t kind;    /* enum gst_nccl_kind */
	uint8_t datatype, flags;
};

/* Capacities while a file is decoded. */
struct comms_room {
	size_t comms, calls;
};

/* First pass. False: no memory. */
bool comms_add(struct trace *t, struct comms_room *room, const struct gst_comm *r);
/* Between the passes: one entry for each number, in their order; names. */
void comms_publish(struct trace *t, const struct names *names);
/* Second pass: index of a number, GST_NONE none. */
uint32_t comms_index(const struct trace *t, uint32_t id);

/* Calls that the record stands for. */
uint64_t nccl_calls_of(const struct nccl_call *c);

/* Did NCCL take it? Of a communicator that does not block the answer is ncclInProgress (nccl.h). */
static inline bool nccl_took(const struct nccl_call *c)
{
	return c->result == 0 || c->result == 7;
}

/* Of all ranks together, or between two. */
static inline bool nccl_is_collective(uint8_t kind)
{
	return kind >= GST_NCCL_ALL_REDUCE && kind <= GST_NCCL_SCATTER;
}

static inline bool nccl_is_message(uint8_t kind)
{
	return kind >= GST_NCCL_SEND && kind <= GST_NCCL_SIGNAL;
}

/* Bytes that the call's count comes to; 0 where the type is not known. */
uint64_t nccl_bytes(const struct nccl_call *c);

/* "all_reduce", "float16", "sum": names for people and exports. */
const char *nccl_kind_name(uint8_t kind);
const char *nccl_datatype_name(uint8_t datatype);
const char *nccl_op_name(uint16_t op);
