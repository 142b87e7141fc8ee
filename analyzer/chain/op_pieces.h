/* SPDX-License-Identifier: BSD-2-Clause */
/* op_pieces.h: what a thread was at, from instant to instant: trace.host_ops, and those ranges that are a loader's, laid over one another. The pieces
 * tile the time from the first one on; each says which op was the innermost then, and what was around it. However deep a file nests, and
 * whatever overlaps in it, a thread of n ops has at most 4 n pieces, made in one pass; any instant's is found by bisection.
 *
 * The innermost of several is the one that began last; of those, the shortest. */
#pragma once

#include "op_names.h"
#include "trace/trace.h"

#define OP_NONE 0u
#define OP_RANGE 0x80000000u /* a number of trace.ranges, else 1 + one of trace.host_ops */

struct op_piece {
	int64_t begin_ns; /* up to the next one's */
	uint32_t inner;   /* any of its kinds */
	uint32_t outer;   /* outermost operator, the loader's own left out */
	uint32_t python;  /* innermost Python function */
	uint32_t loader;  /* innermost loader; may be a range */
};

struct op_pieces { /* of one thread; the last one says OP_NONE all over */
	struct op_piece *at;
	size_t n, cap;
};

struct op_label { /* what a name says */
	uint8_t loader;   /* enum loader: of an operator, */
	uint8_t function; /* … of a Python function */
	bool wants_cpu; /* of OFF_CPU */
	bool window;    /* op_is_window */
};

struct op_labels { /* of a trace, made once */
	struct op_label *of_name;          /* by host_op.name */
	uint32_t *ranges; size_t n_ranges; /* loaders' ranges, by thread, begin, longer first */
};

/* False: no memory; free it all the same. */
bool op_labels_build(struct op_labels *out, const struct trace *t);
void op_labels_free(struct op_labels *c);

/* What the thread did; its profiler's overhead; tid 0: overhead of no thread that is known. out is zeroed. False: no memory; free it all the same. */
bool op_pieces_build(struct op_pieces *out, const struct trace *t, const struct op_labels *c, uint32_t tid);
bool op_pieces_build_overhead(struct op_pieces *out, const struct trace *t, uint32_t tid);
void op_pieces_free(struct op_pieces *p);

/* The piece at that time, or the first one behind it; p->n: none. */
size_t op_pieces_at(const struct op_pieces *p, int64_t ns);

/* NULL none, or a range. */
static inline const struct host_op *op_of(const struct trace *t, uint32_t number)
{
	return number == OP_NONE || number & OP_RANGE ? NULL : &t->host_ops.at[number - 1];
}

/* Of a loader, as it is named; untrusted; "" none. */
const char *op_loader_name(char *buf, size_t size, const struct trace *t, uint32_t number);
enum loader op_loader_kind(const struct trace *t, const struct op_labels *c, uint32_t number);
int64_t op_loader_ns(const struct trace *t, uint32_t number); /* how long it took */
