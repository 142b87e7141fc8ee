/* SPDX-License-Identifier: BSD-2-Clause */
/* values.h: streams that wait for a value in memory or of a semaphore, and which write ended such a wait. Of one process, and of its writes in
 * stream order alone: kernels, copies, the host and other processes may write the same memory, and no record says so. */
#pragma once

#include "trace/trace.h"

struct values {
	const struct trace *trace;
	const struct call **waits;  size_t n_waits;  /* by stream and begin; those whose stream is not known come last */
	const struct call **writes; size_t n_writes; /* by what they write and begin */
};

/* False: no memory. */
bool values_build(struct values *v, const struct trace *t);
void values_free(struct values *v);

/* How many of v->waits stand before the stream's first one that began at time_ns or later. */
size_t values_waits_before(const struct values *v, uint32_t stream, int64_t time_ns);

/* Is there a wait of which no record says in which stream? */
bool values_anywhere(const struct values *v);

/* The write that ended the wait, as the calls' order and their values have it: of those that began before time_ns the first after which what is
 * waited for held until then. NULL: none on record did. */
const struct call *values_producer(const struct values *v, const struct call *wait, int64_t time_ns);
