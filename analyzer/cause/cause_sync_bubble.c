/* SPDX-License-Identifier: BSD-2-Clause */
/* The work ended while the host sat in a blocking call: nothing could be queued behind it. Or it went into one then, which waits for something else. */
#include "cause_rules.h"

#include "tools/ns.h"
#include "tools/text_put.h"

static struct text_put words_of(struct finding *f)
{
	return text_put_begin(f->words->evidence, sizeof(f->words->evidence));
}

static void put_call(struct text_put *p, const struct gap_view *v, const struct call *c)
{
	char call[256];

	evidence_call(call, sizeof(call), v->trace, c);
	put_text(p, call);
}

static void evidence(struct finding *f, const struct gap_view *v, const struct call *c)
{
	int64_t late = c->end_ns - v->gap->begin_ns;
	struct text_put p = words_of(f);

	put_call(&p, v, c);
	if (late > 0) {
		put_text(&p, ", its work had ended ");
		put_duration(&p, late);
		put_text(&p, " before it returned");
	} else {
		put_text(&p, ", its work ended as it returned");
	}
}

/* Calls that block within the gap: for another device's work, or for a host function. The next work could not be submitted meanwhile. */
static void propose_later(const struct gap_view *v, struct findings *out)
{
	for (size_t i = 0; i < v->n_calls; i++) {
		const struct call *c = v->calls[i];
		struct finding *f;
		struct text_put p;

		if (c == v->blocking || c == v->submit || c->begin_ns < v->gap->begin_ns || !call_blocks(c) ||
		    since64(c->end_ns, c->begin_ns) <= BRIEF_NS)
			continue;
		f = findings_add(out, CAUSE_sync_bubble, CONFIDENCE_OBSERVED, c->begin_ns, c->end_ns);
		chain_submitter_in(f, v, "in ", call_name(v->trace, c));
		p = words_of(f);
		put_call(&p, v, c);
		put_text(&p, "; nothing of this device's ran meanwhile");
	}
}

void cause_sync_bubble(const struct gap_view *v, struct findings *out)
{
	const struct call *c = v->blocking;
	char after[33]; /* as much of its name as has room */
	const char *name;
	struct finding *f;
	struct text_put p;

	propose_later(v, out);
	if (!c)
		return;
	name = call_name(v->trace, c);
	f = findings_add(out, CAUSE_sync_bubble, CONFIDENCE_OBSERVED, v->gap->begin_ns, c->end_ns);
	chain_submitter_in(f, v, "in ", name);
	evidence(f, v, c);

	f = findings_add(out, CAUSE_sync_bubble, CONFIDENCE_INFERRED, c->end_ns, v->gap->end_ns);
	f->remainder = true;
	p = text_put_begin(after, sizeof(after));
	put_text(&p, name);
	chain_submitter_in(f, v, "after ", after);
	p = words_of(f);
	put_clean(&p, name, 64, 48);
	put_text(&p, " left nothing queued; no other cause is proven");
	evidence_accounts(p.at, (size_t)(p.last - p.at) + 1, "; ", v, c->end_ns, v->gap->end_ns);
}
