/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread was loading, linking or looking up code; or it launched a function for the first time, on whatever device, and the driver took long;
 * or another tool says that the driver did so within a call. */
#include "gap/gap_view_ops.h"
#include "cause_rules.h"

#include <stdio.h>
#include <string.h>

#include "tools/ns.h"
#include "tools/text_symbol.h"

/* A launch that only launches takes microseconds. */
#define LONG_LAUNCH_NS 200000

static const char *kernel_of(const struct gap_view *v, const struct call *c)
{
	return kernel_title(v->trace, c->name);
}

static struct finding *propose(const struct gap_view *v, struct findings *out, const struct call *c,
			       enum confidence confidence)
{
	struct finding *f = findings_add(out, CAUSE_module_load, confidence, c->begin_ns, c->end_ns);
	const char *kernel = kernel_of(v, c);
	char name[96];
	size_t used;

	chain_submitter_in(f, v, "in ", call_name(v->trace, c));
	evidence_call(f->words->evidence, sizeof(f->words->evidence), v->trace, c);
	used = strlen(f->words->evidence);
	if (*kernel)
		snprintf(f->words->evidence + used, sizeof(f->words->evidence) - used, ", %s%s",
			 confidence == CONFIDENCE_INFERRED ? "the first launch of " : "",
			 text_symbol(name, sizeof(name), kernel, 64));
	return f;
}

static void propose_within(const struct gap_view *v, struct findings *out)
{
	struct op_walk w = op_walk_begin(&v->records->overhead, v->gap->begin_ns, v->submit->end_ns);
	const struct op_piece *p;
	int64_t begin, end;

	while ((p = op_walk_on(&w, &begin, &end))) {
		const struct host_op *op = op_of(v->trace, p->inner);
		struct finding *f;

		if (!op || overhead_by_name(op_name(v->trace, op)) != OVERHEAD_LOADS_CODE)
			continue;
		f = findings_add(out, CAUSE_module_load, CONFIDENCE_OBSERVED, begin, end);
		chain_submitter(f, v, "in the driver, loading code");
		evidence_op(f->words->evidence, sizeof(f->words->evidence), v->trace, op);
	}
}

void cause_module_load(const struct gap_view *v, struct findings *out)
{
	if (v->submit && v->records && !v->ready)
		propose_within(v, out);
	for (size_t i = 0; i < v->n_calls; i++) {
		const struct call *c = v->calls[i];

		if (c->end_ns <= v->gap->begin_ns)
			continue;
		if (c->family == GST_FAMILY_MODULE)
			propose(v, out, c, CONFIDENCE_OBSERVED);
		else if (gap_view_first_launch(v, c) && since64(c->end_ns, c->begin_ns) >= LONG_LAUNCH_NS)
			propose(v, out, c, CONFIDENCE_INFERRED); /* for whichever device */
	}
}
