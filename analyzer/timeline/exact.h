/* SPDX-License-Identifier: BSD-2-Clause */
/* exact.h: work whose begin and end were measured (by CUPTI, or by a tool whose trace was imported), beside the calls that asked for it.
 *
 * Such work has no bounds to be narrowed: it ran from begin to end, and the device was busy. A submission may have several pieces: a
 * graph's nodes, the parts of a staged copy. A piece without a call is work all the same. A submission that should have been measured
 * and was not is *lost*: it ran some time between what stands before and behind it in its stream, and all of that time is unresolved. */
#pragma once

#include "trace/trace.h"

struct exact_op {
	const struct measured *measured;
	const struct call *call; /* of the trace, or one of exact.unlinked */
};

struct exact { /* of one trace */
	struct exact_op *ops;
	size_t n; /* by call, then when it ended; from n_linked on those without a call of the trace */
	size_t n_linked;
	struct call *unlinked;
	size_t n_unlinked; /* stand for the calls that are not known */
	const struct trace *trace;
};

enum err_kind exact_link(struct exact *out, const struct trace *t, struct error *e);
void exact_free(struct exact *x);

/* What the call's work was on the device, *n pieces of it in the order of their ends; 0: not measured. */
const struct exact_op *exact_of(const struct exact *x, const struct call *c, size_t *n);

/* Of these pieces: how many more the call must have had that were not measured. */
uint32_t exact_missing(const struct exact *x, const struct call *c, const struct exact_op *ops, size_t n);

/* Is it one of exact.unlinked, no call of the trace? */
bool exact_is_unlinked(const struct exact *x, const struct call *c);
