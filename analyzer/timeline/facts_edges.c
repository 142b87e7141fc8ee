/* SPDX-License-Identifier: BSD-2-Clause */
#include "facts_builder.h"

#include "tools/spill.h"

/* An edge in the legacy default stream stands behind the work of every stream that blocks with it, and one in such a stream behind the
 * legacy stream's: that is over too when it fires. */
static bool add_edge_across(struct facts_builder *b, const struct edge *edge, int64_t by_ns)
{
	const struct stream *own = &b->t->streams[edge->stream];

	if (own->flags & 1) /* CU_STREAM_NON_BLOCKING */
		return true;
	for (uint32_t s = 0; s < b->t->n_streams; s++) {
		const struct stream *other = &b->t->streams[s];
		uint64_t covers;

		if (s == edge->stream || other->context != own->context || (other->flags & 1) ||
		    (own->kind == GST_STREAM_LEGACY) == (other->kind == GST_STREAM_LEGACY))
			continue;
		if (!facts_submitted_before(b, s, edge->begin_ns, &covers))
			return false;
		if (covers <= b->told_by_edge[s])
			continue; /* an earlier edge said so; that it fired earlier is likely, and not needed */
		b->told_by_edge[s] = covers;
		if (!facts_add_finished(b, s, covers, by_ns, BOUNDARY_EDGE))
			return false;
	}
	return true;
}

bool facts_add_edge(struct facts_builder *b, const struct edge *edge, const struct firing *f)
{
	struct facts *out = b->out;
	int64_t first = f->exact ? f->time_ns - f->error_ns : edge->begin_ns;
	int64_t last = f->exact ? f->time_ns + f->error_ns : f->time_ns;

	if (edge->stream == GST_NONE)
		return true;
	if (last > edge->done_ns)
		last = edge->done_ns;
	if (first < edge->begin_ns)
		first = edge->begin_ns;
	if (last < first)
		last = first;
	if (f->exact && f->error_ns > out->worst_edge_error_ns)
		out->worst_edge_error_ns = f->error_ns;
	if (!spill_room(out->order, out->n_order, out->cap_order))
		return false;
	out->order[out->n_order++] =
		(struct order){ edge->stream, edge->tid, edge->begin_ns, edge->end_ns, first, last };
	if (!facts_add_finished(b, edge->stream, edge->covers, last, BOUNDARY_EDGE) || !add_edge_across(b, edge, last))
		return false;
	/* later than an event on an empty stream would have: it waited for the work before it */
	if (first - EVENT_NS > edge->end_ns + out->latency_ns)
		return facts_add_pending(b, (struct pending){ .stream = edge->stream,
							      .covers = edge->covers,
							      .at_ns = first - EVENT_NS,
							      .asked_ns = edge->end_ns + out->latency_ns,
							      .known_by = PENDING_EDGE });
	return true;
}

bool facts_add_poll(struct facts_builder *b, const struct poll *p)
{
	if (p->stream == GST_NONE)
		return true;
	if (p->ready)
		return facts_add_finished(b, p->stream, p->covers, p->end_ns, BOUNDARY_POLL);
	return facts_add_asked(b, p->stream, p->covers, p->begin_ns);
}
