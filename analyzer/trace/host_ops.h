/* SPDX-License-Identifier: BSD-2-Clause */
/* host_ops.h: what threads were at, as another tool's trace says: a framework's operators, Python functions, calls of the operating system's
 * libraries, the profiler's own work. Our own recordings have none. They are evidence for causes; they are no driver calls and no ranges
 * of the program's. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum host_op_kind {
	HOST_OP_OPERATOR = 1, /* "aten::addmm", "autograd::engine::evaluate_function: …", "enumerate(DataLoader)#…" */
	HOST_OP_PYTHON = 2,   /* a Python function's call: "train.py(12): step" */
	HOST_OP_OS_CALL = 3,  /* "read", "pthread_cond_wait", "fsync", as the C library calls it */
	HOST_OP_OFF_CPU = 4,  /* the scheduler had taken it off the CPU; the name says why, or is "" */
	HOST_OP_OVERHEAD = 5, /* the profiler's own: "Buffer flush", "Lazy function loading" */
};

struct host_op {
	int64_t begin_ns, end_ns; /* end after begin */
	uint64_t byte;            /* where it stands (import_place_text): evidence names it */
	uint32_t tid;             /* 0: of no thread that is known */
	uint32_t name;            /* index into host_ops.names */
	uint8_t kind;             /* enum host_op_kind */
};

struct host_ops { /* of one process */
	struct host_op *at; size_t n; /* by thread, then by begin, longer ones first. Of one thread they nest, or should */
	const char **names; size_t n_names; /* [0] is ""; untrusted, in trace.text */
};

/* Those of a thread; NULL none. */
const struct host_op *host_ops_of(const struct host_ops *o, uint32_t tid, size_t *n);
