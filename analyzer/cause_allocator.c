/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread was inside an allocation or a free. */
#include "cause_rules.h"

#include <stdio.h>
#include <string.h>

#include "text.h"

static bool allocates(const struct call *c)
{
	switch (c->family) {
	case GST_FAMILY_ALLOC:
	case GST_FAMILY_FREE:
	case GST_FAMILY_HOST_ALLOC:
	case GST_FAMILY_HOST_FREE:
	case GST_FAMILY_POOL:
	case GST_FAMILY_VMM:
		return true;
	default:
		return false;
	}
}

void cause_allocator(const struct gap_view *v, struct findings *out)
{
	for (size_t i = 0; i < v->n_calls; i++) {
		const struct call *c = v->calls[i];
		struct finding *f;
		char bytes[TEXT_SHORT];
		size_t used;

		if (!allocates(c) || c->end_ns <= v->gap->begin_ns)
			continue;
		f = findings_add(out, CAUSE_allocator, CONFIDENCE_OBSERVED, c->begin_ns, c->end_ns);
		chain_submitter(f, v, "in %s", call_name(v->trace, c));
		evidence_call(f->evidence, sizeof(f->evidence), v->trace, c);
		used = strlen(f->evidence);
		if (c->args[1])
			snprintf(f->evidence + used, sizeof(f->evidence) - used, ", %s", text_bytes(bytes, c->args[1]));
		used = strlen(f->evidence);
		if (c->result)
			snprintf(f->evidence + used, sizeof(f->evidence) - used, ", result %d", c->result);
	}
}
