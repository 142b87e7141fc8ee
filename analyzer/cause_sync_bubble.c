/* SPDX-License-Identifier: BSD-2-Clause */
/* The work ended while the host sat in a blocking call: nothing could be queued behind it. Or it went into one then, which waits for something else. */
#include "cause_rules.h"

#include <stdio.h>
#include <string.h>

#include "ns.h"
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

/* Calls that block within the gap: for another device's work, or for a host function. The next work could not be submitted meanwhile. */
static void propose_later(const struct gap_view *v, struct findings *out)
{
	for (size_t i = 0; i < v->n_calls; i++) {
		const struct call *c = v->calls[i];
		char call[256];
		struct finding *f;

		if (c == v->blocking || c == v->submit || c->begin_ns < v->gap->begin_ns || !call_blocks(c) ||
		    since64(c->end_ns, c->begin_ns) <= BRIEF_NS)
			continue;
		f = findings_add(out, CAUSE_sync_bubble, CONFIDENCE_OBSERVED, c->begin_ns, c->end_ns);
		chain_submitter(f, v, "in %s", call_name(v->trace, c));
		evidence_call(call, sizeof(call), v->trace, c);
		snprintf(f->words->evidence, sizeof(f->words->evidence), "%s; nothing of this device's ran meanwhile",
			 call);
	}
}

void cause_sync_bubble(const struct gap_view *v, struct findings *out)
{
	const struct call *c = v->blocking;
	struct finding *f;
	char name[64];
	size_t used;

	propose_later(v, out);
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
