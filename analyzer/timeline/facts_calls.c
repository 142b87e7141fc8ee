/* SPDX-License-Identifier: BSD-2-Clause */
#include "facts_builder.h"

#include "tools/alloc.h"
#include "tools/spill.h"

#define NOT_READY 600 /* CUDA_ERROR_NOT_READY */

/* The work a call waited for was still pending shortly before the call returned, if the call did wait. */
static bool add_blocked(struct facts_builder *b, const struct call *c, uint32_t stream, uint64_t covers,
			uint64_t context)
{
	int64_t wake = accounts_wake_ns(&b->accounts, c);
	int64_t asked = accounts_asked_ns(&b->accounts, c);
	struct pending p = { .stream = stream,
			     .covers = covers,
			     .asked_ns = asked + b->out->latency_ns,
			     .context = context,
			     .known_by = PENDING_WAKE,
			     .entered_ns = INT64_MIN };

	if (wake == INT64_MAX)
		return true; /* nobody knows for how long the thread had no CPU */
	p.at_ns = c->end_ns - wake;
	if (!is_submission(c))
		return facts_add_pending(b, p);
	p.known_by = PENDING_OWN;
	p.entered_ns = accounts_handed_ns(&b->accounts, c);
	if (p.entered_ns == INT64_MIN)
		return true; /* its own two ends bound it, and rest on no allowance */
	/* a wait for a CPU delays the copy; a short call's return bounds it without any allowance */
	p.asked_ns = p.entered_ns + BLOCKING_START_NS + b->out->latency_ns + wake - WAKE_NS;
	if (c->end_ns - p.entered_ns < SHORT_CALL_NS)
		p.asked_ns = c->end_ns;
	return facts_add_pending(b, p);
}

static bool add_event_answer(struct facts_builder *b, const struct call *c)
{
	const struct recording *r = facts_recorded_before(b, c);
	uint32_t stream = r ? r->call->stream : GST_NONE;
	uint64_t until; /* what it waited for if it did: in a graph, some part of the launch itself */

	if (stream == GST_NONE)
		return true;
	until = r->covers + r->inside;
	if (c->result == NOT_READY)
		return facts_add_asked(b, stream, until, c->begin_ns);
	if (c->result != 0 ||
	    !facts_add_finished(b, stream, r->covers, c->end_ns,
				c->family == GST_FAMILY_SYNC_EVENT ? BOUNDARY_BLOCKING_RETURN : BOUNDARY_QUERY))
		return c->result != 0;
	return c->family == GST_FAMILY_QUERY_EVENT || add_blocked(b, c, stream, until, 0);
}

static bool add_context_sync(struct facts_builder *b, const struct call *c)
{
	bool any = false;

	for (uint32_t s = 0; s < b->t->n_streams; s++) {
		uint64_t covers;

		if (b->t->streams[s].context != c->args[0])
			continue;
		if (!facts_submitted_before(b, s, c->begin_ns, &covers))
			return false;
		any |= covers != 0;
		if (covers <= b->told[s])
			continue; /* an earlier one said so, and earlier */
		b->told[s] = covers;
		if (!facts_add_finished(b, s, covers, c->end_ns, BOUNDARY_BLOCKING_RETURN))
			return false;
	}
	return !any || add_blocked(b, c, GST_NONE, 1, c->args[0]);
}

/* The program's own events and waits are pending themselves until the device gets to them, as our edges are. */
static bool add_mark(struct facts_builder *b, const struct call *c)
{
	struct facts *f = b->out;

	if (c->result != 0 || c->stream == GST_NONE || (c->flags & GST_CAPTURED))
		return true;
	if (!spill_room(f->order, f->n_order, f->cap_order))
		return false;
	f->order[f->n_order++] = (struct order){ .stream = c->stream, .after_ns = c->end_ns, .from_ns = INT64_MIN };
	return true;
}

bool facts_add_call(struct facts_builder *b, const struct call *c)
{
	switch (c->family) {
	case GST_FAMILY_SYNC_EVENT:
	case GST_FAMILY_QUERY_EVENT:
		return add_event_answer(b, c);
	case GST_FAMILY_STREAM_WAIT:
		return add_mark(b, c) && facts_add_event_wait(b, c);
	case GST_FAMILY_EVENT_RECORD:
		return add_mark(b, c);
	case GST_FAMILY_SYNC_CONTEXT:
		return c->result != 0 || add_context_sync(b, c);
	case GST_FAMILY_QUERY_STREAM:
		if (c->result == NOT_READY && c->stream != GST_NONE)
			return facts_add_asked(b, c->stream, c->seq, c->begin_ns);
		return c->result != 0 || facts_add_finished(b, c->stream, c->seq, c->end_ns, BOUNDARY_QUERY);
	default:
		break;
	}
	if (c->result != 0 || c->stream == GST_NONE || (c->flags & GST_CAPTURED))
		return true;
	if (is_submission(c) && c->family == GST_FAMILY_COPY && c->detail == GST_COPY_H2D_PAGEABLE)
		return add_blocked(b, c, c->stream, c->seq,
				   0); /* staged: its last piece ends about when the call does */
	if (c->family != GST_FAMILY_SYNC_STREAM && !(c->flags & GST_BLOCKING))
		return true;
	return facts_add_finished(b, c->stream, c->seq, c->end_ns, BOUNDARY_BLOCKING_RETURN) &&
	       add_blocked(b, c, c->stream, c->seq, 0);
}
