/* SPDX-License-Identifier: BSD-2-Clause */
/* The work ended while the host sat in a blocking call: nothing could be queued behind it. */
#include "cause_rules.h"

#include <stdio.h>
#include <string.h>

#include "text.h"

static void evidence(struct finding *f, const struct gap_view *v, const struct call *c)
{
	char call[256], rest[TEXT_SHORT];
	int64_t late = c->end_ns - v->gap->begin_ns;

	evidence_call(call, sizeof(call), v->trace, c);
	if (late > 0)
		snprintf(f->words->evidence, sizeof(f->words->evidence), "%s, its work had ended %s before it returned",
			 call, text_duration(rest, late));
	else
		snprintf(f->words->evidence, sizeof(f->words->evidence), "%s, its work ended as it returned", call);
}

void cause_sync_bubble(const struct gap_view *v, struct findings *out)
{
	const struct call *c = v->blocking;
	struct finding *f;
	char name[64];
	size_t used;

	if (!c)
		return;
	f = findings_add(out, CAUSE_sync_bubble, CONFIDENCE_OBSERVED, v->gap->begin_ns, c->end_ns);
	chain_submitter(f, v, "in %s", call_name(v->trace, c));
	evidence(f, v, c);

	f = findings_add(out, CAUSE_sync_bubble, CONFIDENCE_INFERRED, c->end_ns, v->gap->end_ns);
	f->remainder = true;
	chain_submitter(f, v, "after %.32s", call_name(v->trace, c));
	snprintf(f->words->evidence, sizeof(f->words->evidence), "%s left nothing queued; no other cause is proven",
		 text_clean(name, sizeof(name), call_name(v->trace, c), 48));
	used = strlen(f->words->evidence);
	evidence_accounts(f->words->evidence + used, sizeof(f->words->evidence) - used, "; ", v, c->end_ns,
			  v->gap->end_ns);
}
