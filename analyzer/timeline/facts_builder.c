/* SPDX-License-Identifier: BSD-2-Clause */
#include "facts_builder.h"

#include "tools/alloc.h"
#include "tools/spill.h"
#include "trace/trace_rare.h"

#include <stdlib.h>

struct ended { /* a submission's return, to ask what a context synchronise covers */
	int64_t end_ns;
	uint64_t seq; /* the highest of all so far */
};

/* ---- the lists --------------------------------------------------------------------------------------- */

bool facts_add_finished(struct facts_builder *b, uint32_t stream, uint64_t covers, int64_t by_ns,
			enum boundary known_by)
{
	struct facts *f = b->out;

	if (stream == GST_NONE || covers == 0 || by_ns == INT64_MAX)
		return true;
	if (!spill_room(f->finished, f->n_finished, f->cap_finished))
		return false;
	f->finished[f->n_finished++] = (struct finished){ stream, (uint8_t)known_by, covers, by_ns };
	return true;
}

bool facts_add_pending(struct facts_builder *b, struct pending p)
{
	struct facts *f = b->out;

	if (p.covers == 0 || (p.at_ns < p.asked_ns && p.known_by != PENDING_OWN))
		return true;
	if (!spill_room(f->pending, f->n_pending, f->cap_pending))
		return false;
	f->pending[f->n_pending++] = p;
	return true;
}

bool facts_add_asked(struct facts_builder *b, uint32_t stream, uint64_t covers, int64_t at_ns)
{
	return facts_add_pending(b, (struct pending){ .stream = stream,
						      .covers = covers,
						      .at_ns = at_ns - EVENT_NS,
						      .asked_ns = at_ns - EVENT_NS,
						      .known_by = PENDING_ASKED });
}

bool facts_add_wait(struct facts_builder *b, struct wait w)
{
	struct facts *f = b->out;

	if (!array_room(f->waits, f->n_waits, f->cap_waits))
		return false;
	f->waits[f->n_waits++] = w;
	return true;
}

/* ---- submissions that had returned -------------------------------------------------------------------- */

static int by_end(const void *a, const void *b)
{
	const struct ended *x = a, *y = b;

	return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

static bool add_ended(struct facts_builder *b, const struct call *c)
{
	struct ended_list *list = &b->ended[c->stream];

	if (!spill_room(list->at, list->n, list->cap))
		return false;
	list->at[list->n++] = (struct ended){ c->end_ns, c->seq + call_count(c) - 1 };
	return true;
}

/* Only where somebody asks: there is an element for each submission. */
static bool make_ended(struct facts_builder *b)
{
	const struct trace *t = b->t;
	bool ok = true;

	b->ended = array_new(t->n_streams, sizeof(*b->ended));
	if (!b->ended)
		return false;
	for (size_t i = 0; i < t->n_calls && ok; i++)
		if (is_submission(&t->calls[i]) && t->calls[i].stream != GST_NONE)
			ok = add_ended(b, &t->calls[i]);
	for (size_t i = 0; i < t->n_carried && ok; i++)
		if (t->carried[i].call.stream != GST_NONE)
			ok = add_ended(b, &t->carried[i].call);
	for (size_t s = 0; s < t->n_streams && ok; s++) {
		struct ended_list *list = &b->ended[s];

		array_sort(list->at, list->n, sizeof(*list->at), by_end);
		for (size_t i = 1; i < list->n; i++)
			if (list->at[i].seq < list->at[i - 1].seq)
				list->at[i].seq = list->at[i - 1].seq;
	}
	return ok;
}

static bool ended_by(const void *element, const void *key)
{
	return ((const struct ended *)element)->end_ns <= *(const int64_t *)key;
}

bool facts_submitted_before(struct facts_builder *b, uint32_t stream, int64_t time_ns, uint64_t *seq)
{
	const struct ended_list *list;
	size_t n;

	if (!b->ended && !make_ended(b))
		return false;
	list = &b->ended[stream];
	n = array_first(list->at, list->n, sizeof(*list->at), ended_by, &time_ns);
	*seq = n ? list->at[n - 1].seq : 0;
	return true;
}

/* ---- events recorded ---------------------------------------------------------------------------------- */

static int event_order(const void *a, const void *b)
{
	const struct recording *x = a, *y = b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return (x->call > y->call) - (x->call < y->call);
}

static bool add_recording(struct facts_builder *b, struct recording r)
{
	if (!array_room(b->events, b->n_events, b->cap_events))
		return false;
	b->events[b->n_events++] = r;
	return true;
}

/* Each recording that a call made. */
static bool list_recordings(struct facts_builder *b, const struct call *c)
{
	const struct graph *g = c->family == GST_FAMILY_GRAPH_LAUNCH ? &b->t->graphs[c->graph] : NULL;
	bool ok = true;

	/* one that was under way when the records begin may stand before or behind one that is gone */
	if (c->result != 0 || (c->flags & GST_CAPTURED) || c->begin_ns < b->t->from_ns)
		return true;
	if (c->family == GST_FAMILY_EVENT_RECORD)
		return add_recording(b, (struct recording){ c->args[0], c, c->seq, false });
	for (size_t i = 0; g && i < g->n && ok; i++)
		if (g->nodes[i].type == NODE_EVENT_RECORD)
			ok = add_recording(b, (struct recording){ g->nodes[i].arg, c, c->seq ? c->seq - 1 : 0, true });
	return ok;
}

static bool make_events(struct facts_builder *b)
{
	const struct trace *t = b->t;

	/* another tool may have begun when an event was recorded already */
	b->all_recordings = t->counters.records_dropped == 0 && t->cut_ns == INT64_MAX && !t->from_ns && !t->imported;
	for (size_t i = trace_rare(t, 0); i < t->n_calls; i = trace_rare(t, i + 1)) {
		const struct call *c = &t->calls[i];

		if (!list_recordings(b, c))
			return false;
		b->all_recordings &= c->family != GST_FAMILY_IPC &&
				     (c->family != GST_FAMILY_EVENT_RECORD || c->args[0]) &&
				     (c->family != GST_FAMILY_GRAPH_LAUNCH || t->graphs[c->graph].whole);
	}
	array_sort(b->events, b->n_events, sizeof(*b->events), event_order);
	return true;
}

/* Of the same event as the call, made before it was over; or of a lower one. */
static bool recorded_by(const void *element, const void *key)
{
	const struct recording *r = element;
	const struct call *c = key;

	return r->event < c->args[0] || (r->event == c->args[0] && r->call->begin_ns < c->end_ns);
}

static bool lower_event(const void *element, const void *key)
{
	return ((const struct recording *)element)->event < ((const struct call *)key)->args[0];
}

const struct recording *facts_recorded_before(const struct facts_builder *b, const struct call *c)
{
	size_t n = array_first(b->events, b->n_events, sizeof(*b->events), recorded_by, c);
	const struct recording *last = n ? &b->events[n - 1] : NULL;

	if (!last || !last->event || last->event != c->args[0] || last->call->end_ns > c->begin_ns)
		return NULL;
	if (n > 1 && last[-1].event == c->args[0] && last[-1].call->end_ns > last->call->begin_ns)
		return NULL;
	return last;
}

bool facts_never_recorded(const struct facts_builder *b, const struct call *c)
{
	size_t at = array_first(b->events, b->n_events, sizeof(*b->events), lower_event, c);

	return b->all_recordings && c->args[0] && (at == b->n_events || b->events[at].event != c->args[0]);
}

/* ---- all of them -------------------------------------------------------------------------------------- */

bool facts_make_tables(struct facts_builder *b)
{
	b->told = array_new(b->t->n_streams, sizeof(*b->told));
	b->told_by_edge = array_new(b->t->n_streams, sizeof(*b->told_by_edge));
	return b->told && b->told_by_edge && make_events(b) && accounts_find(&b->accounts, b->t);
}

void facts_free_tables(struct facts_builder *b)
{
	free(b->events);
	free(b->told);
	free(b->told_by_edge);
	accounts_free(&b->accounts);
	for (size_t s = 0; b->ended && s < b->t->n_streams; s++)
		spill_free(b->ended[s].at);
	free(b->ended);
}
