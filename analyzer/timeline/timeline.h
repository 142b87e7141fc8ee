/* SPDX-License-Identifier: BSD-2-Clause */
/* timeline.h: when was each device surely busy, surely idle, and where can we not tell.
 *
 * Nothing here is a guess presented as a fact. For each stream the records give, for submission k:
 *   earliest start   its call's entry, or a start edge            latest start   its call's return + LATENCY
 *   latest end       an edge, a sync return, a ready query        earliest end   an exact edge, a not-ready query,
 *                                                                                a blocking return less the wake-up
 * From these, per device, two unions over all streams:
 *   outer = where work may have run (its complement is surely idle)
 *   inner = where work surely ran, or where this level cannot tell (`unresolved`, counted as busy)
 * The inside of a graph's launch is `unresolved` as far as its nodes may leave the device idle (bounds.h).
 * A gap's stated ends lie midway between inner and outer, its errors are half the distance. */
#pragma once

#include "tools/arena.h"
#include "trace/device_clock.h"
#include "exact.h"
#include "estimate.h"
#include "tools/interval.h"
#include "run/run.h"
#include "trace/trace.h"

enum op_class { OP_KERNEL, OP_COMM, OP_COPY, OP_MEMSET, OP_HOSTFN };

struct op_more { /* of those few of which somebody asks */
	int64_t begun_ns, unfinished_ns; /* it had begun by then, and was not over before that */
	int64_t usual_ns; /* what such work takes, where another process may have held this up (held_up.h); else 0 */
};

/* What an op is an operation of, besides its call. Plain work of a stream shares one (place_of.h): what there is one of for each op lies in the op. */
struct op_of {
	const struct trace *trace;
	const struct measured *measured; /* how begin and end are known exactly; NULL: placed */
	const struct graph_node *node; /* of the graph that the call launched; NULL: the call's own work */
	const struct op_more *more; /* of communication, and of what may have been held up; else NULL */
	uint32_t count;   /* operations it stands for: more than 1 for a batch of copies, and where a graph's nodes are counted and not known */
	uint8_t class;    /* enum op_class */
	uint8_t copy;     /* enum gst_copy_kind for OP_COPY */
	bool exact;       /* begin and end are measured (imported or CUPTI), not placed */
	bool unlinked;    /* it was measured, and who asked for it is not known: `call` is none of the trace's */
	bool lost;        /* its process's work was measured, and this was not */
};

/* One thing the device did, placed as well as this level of timing can: its stretch is known, its place in it is not. */
struct op { /* there are as many as submissions and more: each byte counts */
	int64_t begin_ns, end_ns; /* placed end to end within the known stretch of its stream; what the partition uses */
	int64_t stretch_begin_ns, stretch_end_ns; /* what is known: it ran inside */
	const struct call *call; /* its stream is the op's, an index into of->trace->streams */
	const struct op_of *of;
};

/* The kernel's name, "" where it is not known or not a kernel's. */
const char *op_kernel(const struct op *op);
const char *op_title(const struct op *op);     /* … as people write it, of any length */
const char *op_label(const struct op *op);     /* … else what it is: "copy host to device, pinned", "CUDA graph" */
#define OP_NAMELESS "kernel without a name"      /* … of a kernel */
uint32_t op_kernel_index(const struct op *op); /* … in trace->kernels, 0 for "" */
/* Of a copy or memset. */
uint64_t op_bytes(const struct op *op);
int64_t op_begun_ns(const struct op *op); /* of measured work: when it began */
int64_t op_unfinished_ns(const struct op *op);
int64_t op_usual_ns(const struct op *op); /* 0 */

/* Why a busy stretch's end, that is a gap's begin, is known; the best of several. */
enum boundary { BOUNDARY_NONE, BOUNDARY_EDGE, BOUNDARY_BLOCKING_RETURN, BOUNDARY_QUERY, BOUNDARY_POLL, BOUNDARY_MEASURED };

enum depend_kind {
	DEPEND_NONE,
	DEPEND_WORK,   /* another device's */
	DEPEND_HOSTFN, /* a host function, of whichever device's stream */
	DEPEND_NODE,   /* a graph's node: one that stands still, or another device's; `producer` is the launch */
	DEPEND_WRITE,  /* the call that wrote a value in stream order: it came late */
	DEPEND_UNWRITTEN, /* a wait for a value that nobody on record wrote: `producer` is that wait */
};

#define DEPEND_WAITS 4 /* so many waits are followed, from one stream to the next */

/* What work waited for although it had been submitted: of all that it stood behind and that keeps its own device idle, what ended last. */
struct dependency {
	uint8_t kind; /* enum depend_kind */
	bool unknown; /* it may have waited for something that no record names */
	bool placed;  /* end_ns is its place in this device's timeline */
	uint32_t n_waits;
	const struct call *waits[DEPEND_WAITS]; /* that made the work's stream wait, for the producer the last; none: they are in one stream, or in streams
						 * that the legacy default stream keeps in order */
	const struct call *producer;
	const struct graph_node *node; /* DEPEND_NODE */
	const struct trace *trace;
	uint32_t stream; /* the producer's, an index */
	uint32_t device; /* the producer's, index in timeline.devices */
	int64_t end_ns;  /* of the producer, as well as it is known */
	int64_t earliest_end_ns, latest_end_ns;
};

struct gap { /* there may be as many as operations */
	int64_t begin_ns, end_ns;
	int64_t begin_error_ns, end_error_ns; /* the true end lies within ± of each */
	uint8_t begin_known_by;               /* enum boundary */
	const struct op *before, *after;      /* work that ended last and began first; after may be NULL in host-function gaps */
	struct dependency *depends;           /* what `after` waited for; NULL: nothing is known that it waited for. gap_depends() */
};

/* Never NULL. */
static inline const struct dependency *gap_depends(const struct gap *gap)
{
	static const struct dependency none;

	return gap->depends ? gap->depends : &none;
}

struct device_timeline {
	const struct trace *trace; /* a process that has it */
	struct device device;      /* … as that describes it */
	int64_t begin_ns, end_ns; /* first start, last end (best estimates) */
	int64_t process_start_ns;
	struct op *ops;                size_t n_ops;    /* by begin_ns; host functions are among them, not counted as operations */
	struct arena more; /* op.of, and what that refers to; gap.depends */
	uint64_t *others;  /* a bit for each op: it is no kernel (timeline_other); NULL: nobody looked */
	const struct trace *only; /* all ops are this process's; NULL: of several, or nobody looked */
	struct interval *unresolved;   size_t n_unresolved; /* inside busy time */
	struct interval *undrawn;      size_t n_undrawn;    /* busy time that no op's place covers */
	struct gap *gaps;              size_t n_gaps;   /* in time order, disjoint */
	uint32_t n_streams;
	uint64_t operations;          /* kernels, copies, memsets */
	uint64_t measured_unlinked;   /* measured work without a known call: part of operations_unlinked */
	uint64_t operations_lost;     /* not measured, although their process's work was */
	uint64_t operations_unlinked; /* work whose stream or end is not known; launches of graphs that are not, or that the device decides on */
	/* exact: end - begin = compute + comm + sum(copy) + memset + sum of gaps */
	int64_t compute_ns, comm_ns, memset_ns;
	int64_t copy_ns[8]; /* by enum gst_copy_kind */
	struct partition_marks { struct partition_mark *at; size_t n, cap; } marks; /* partition.h */
	int64_t idle_ns, idle_error_ns, unresolved_ns; /* idle_error: the gaps' errors and what the first work's start may hide */
	int64_t latency_ns; /* what it takes to start work that is ready, as seen in this run (latency.h); 0: too seldom seen */
	uint32_t n_latencies;
	struct estimate estimate; /* of unresolved_ns */
	int64_t settled_ns; /* until then work from before the records begin may have run (front.h); INT64_MIN none */
	struct device_fit clock; /* how its clock is tied to the host's */
	int64_t host_error_ns;   /* of the host's own times on CLOCK_MONOTONIC, the worst at any gap's end */
};

struct timeline {
	struct device_timeline *devices; size_t n_devices;
	const struct run *run; /* borrowed */
	struct exact *exact;   /* like run->traces: calls that ops name */
};

/* Most ops are kernels. The first at or behind i that is none; n_ops: there is none. Where nobody looked every op counts as one. */
static inline size_t timeline_other(const struct device_timeline *d, size_t i)
{
	if (!d->others)
		return i;
	while (i < d->n_ops) {
		uint64_t word = d->others[i / 64] >> i % 64;

		if (word)
			return i + (size_t)__builtin_ctzll(word);
		i = (i / 64 + 1) * 64;
	}
	return d->n_ops;
}

enum err_kind timeline_build(struct timeline *out, const struct run *run, struct error *e);
void timeline_free(struct timeline *t);
