/* SPDX-License-Identifier: BSD-2-Clause */
/* The work ended while the host sat in a blocking call: nothing could be queued behind it. */
#include "cause_rules.h"

#include <stdio.h>
#include <string.h>

#include "text.h"

static bool blocks(const struct call *c)
{
	switch (c->family) {
	case GST_FAMILY_SYNC_STREAM:
	case GST_FAMILY_SYNC_CONTEXT:
	case GST_FAMILY_SYNC_EVENT:
		return true;
	case GST_FAMILY_COPY:
	case GST_FAMILY_MEMSET:
	case GST_FAMILY_LAUNCH:
		return (c->flags & GST_BLOCKING) != 0;
	default:
		return false;
	}
}

/* The blocking call in which the gap began. */
static const struct call *blocking_call(const struct gap_view *v)
{
	for (size_t i = 0; i < v->n_calls; i++) {
		const struct call *c = v->calls[i];

		if (c->begin_ns > v->gap->begin_ns)
			break;
		if (c != v->submit && blocks(c) && c->end_ns >= v->gap->begin_ns - v->gap->begin_error_ns)
			return c;
	}
	return NULL;
}

static void evidence(struct finding *f, const struct gap_view *v, const struct call *c)
{
	char call[256], rest[TEXT_SHORT];
	int64_t late = c->end_ns - v->gap->begin_ns;

	evidence_call(call, sizeof(call), v->trace, c);
	if (late > 0)
		snprintf(f->evidence, sizeof(f->evidence), "%s, its work had ended %s before it returned", call,
			 text_duration(rest, late));
	else
		snprintf(f->evidence, sizeof(f->evidence), "%s, its work ended as it returned", call);
}

void cause_sync_bubble(const struct gap_view *v, struct findings *out)
{
	const struct call *c = blocking_call(v);
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
	snprintf(f->evidence, sizeof(f->evidence), "%s left nothing queued; no other cause is proven",
		 text_clean(name, sizeof(name), call_name(v->trace, c), 48));
	used = strlen(f->evidence);
	evidence_accounts(f->evidence + used, sizeof(f->evidence) - used, "; ", v, c->end_ns, v->gap->end_ns);
}
