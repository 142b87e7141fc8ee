/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread was loading, linking or looking up code; or it launched a function for the first time, on whatever device, and the driver took long. */
#include "cause_rules.h"

#include <stdio.h>
#include <string.h>

#include "ns.h"
#include "text_symbol.h"

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

	chain_submitter(f, v, "in %s", call_name(v->trace, c));
	evidence_call(f->words->evidence, sizeof(f->words->evidence), v->trace, c);
	used = strlen(f->words->evidence);
	if (*kernel)
		snprintf(f->words->evidence + used, sizeof(f->words->evidence) - used, ", %s%s",
			 confidence == CONFIDENCE_INFERRED ? "the first launch of " : "",
			 text_symbol(name, sizeof(name), kernel, 64));
	return f;
}

void cause_module_load(const struct gap_view *v, struct findings *out)
{
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
