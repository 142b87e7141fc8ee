/* SPDX-License-Identifier: BSD-2-Clause */
/* facts_carried.c: what streams may have been given, or told to wait for, before the records begin (front.h). */
#include "facts_builder.h"

#include "tools/ns.h"
#include "trace/trace_rare.h"

/* Streams may have been told to wait for memory, or for what other processes do: such a wait ends when nobody can say. */
static bool waits_for_others(const struct trace *t)
{
	for (size_t i = trace_rare(t, 0); i < t->n_calls; i = trace_rare(t, i + 1))
		if (t->calls[i].family == GST_FAMILY_MEMOP || t->calls[i].family == GST_FAMILY_IPC)
			return true;
	return false;
}

/* Each stream may have been told to wait for any of the carried work. */
static bool add_carried_waits(struct facts_builder *b, int64_t over_ns)
{
	const struct trace *t = b->t;

	for (uint32_t s = 0; s < t->n_streams; s++)
		if (!facts_add_wait(b, (struct wait){ .stream = s,
						      .producer = GST_NONE,
						      .at_ns = t->from_ns - 1,
						      .end_ns = t->from_ns,
						      .recorded_ns = INT64_MIN,
						      .over_ns = over_ns,
						      .carried = true }))
			return false;
	return true;
}

bool facts_add_carried_ends(struct facts_builder *b)
{
	for (size_t i = 0; i < b->t->n_carried; i++) {
		const struct carried *c = &b->t->carried[i];

		if (!facts_add_finished(b, c->call.stream, c->call.seq, c->by_ns, BOUNDARY_POLL))
			return false;
	}
	return true;
}

bool facts_settle(struct facts_builder *b)
{
	struct facts *f = b->out;
	const struct trace *t = b->t;

	f->settled_ns = INT64_MIN;
	if (!t->from_ns)
		return true;
	f->settled_ns = t->from_ns;
	for (size_t i = 0; i < t->n_carried; i++) {
		const struct call *c = &t->carried[i].call;
		int64_t over_ns = c->stream == GST_NONE ? t->end_ns : facts_over(f, c->stream, c->seq);

		f->settled_ns = max64(f->settled_ns, min64(over_ns, t->end_ns));
	}
	return add_carried_waits(b, waits_for_others(t) ? INT64_MAX : f->settled_ns);
}
