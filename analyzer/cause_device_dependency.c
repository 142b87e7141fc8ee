/* SPDX-License-Identifier: BSD-2-Clause */
/* Queued work waited for a host function that the stream was running. */
#include "cause_rules.h"

#include <stdio.h>

#include "text.h"

/* Where the host function ran, as well as the timeline knows. */
static const struct op *hostfn_op(const struct gap_view *v)
{
	const struct device_timeline *d = v->device;
	size_t low = 0, high = d->n_ops;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (d->ops[middle].begin_ns < v->gap->begin_ns - v->gap->begin_error_ns)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < d->n_ops && d->ops[low].begin_ns < v->gap->end_ns; low++) {
		if (d->ops[low].class == OP_HOSTFN && d->ops[low].call == v->gap->hostfn)
			return &d->ops[low];
	}
	return NULL;
}

void cause_device_dependency(const struct gap_view *v, struct findings *out)
{
	const struct op *op = v->gap->hostfn ? hostfn_op(v) : NULL;
	int64_t begin = op ? op->begin_ns : v->gap->begin_ns, end = op ? op->end_ns : v->gap->end_ns;
	struct finding *f;
	char call[256];

	if (!v->gap->hostfn || !v->trace)
		return;
	f = findings_add(out, CAUSE_device_dependency, op ? CONFIDENCE_OBSERVED : CONFIDENCE_INFERRED, begin, end);
	chain_submitter(f, v, "a host function ran in the stream");
	evidence_call(call, sizeof(call), op ? op->trace : v->trace, v->gap->hostfn);
	snprintf(f->evidence, sizeof(f->evidence), "a host function ran in the stream: %s", call);
}
