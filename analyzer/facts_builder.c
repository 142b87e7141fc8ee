/* SPDX-License-Identifier: BSD-2-Clause */
#include "facts_builder.h"

#include "alloc.h"
#include "spill.h"

#include <stdlib.h>

struct ended { /* a submission's return, to ask what a context synchronise covers */
	uint32_t stream;
	int64_t end_ns; /* running maximum within the stream */
	uint64_t seq;   /* running maximum too */
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

static int by_stream_and_end(const void *a, const void *b)
{
	const struct ended *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

static bool make_ended(struct facts_builder *b)
{
	const struct trace *t = b->t;
	size_t n = 0;

	b->ended = spill_new(t->n_calls + t->n_carried, sizeof(*b->ended));
	b->ended_of = array_new(t->n_streams + 1, sizeof(*b->ended_of));
	if (!b->ended || !b->ended_of)
		return false;
	for (size_t i = 0; i < t->n_calls; i++)
		if (is_submission(&t->calls[i]) && t->calls[i].stream != GST_NONE)
			b->ended[n++] = (struct ended){ t->calls[i].stream, t->calls[i].end_ns, t->calls[i].seq };
	for (size_t i = 0; i < t->n_carried; i++)
		if (t->carried[i].call.stream != GST_NONE)
			b->ended[n++] = (struct ended){ t->carried[i].call.stream, t->carried[i].call.end_ns,
							t->carried[i].call.seq };
	array_sort(b->ended, n, sizeof(*b->ended), by_stream_and_end);
	for (size_t i = 1; i < n; i++)
		if (b->ended[i].stream == b->ended[i - 1].stream && b->ended[i].seq < b->ended[i - 1].seq)
			b->ended[i].seq = b->ended[i - 1].seq;
	for (size_t i = 0, s = 0; s <= t->n_streams; s++) {
		while (i < n && b->ended[i].stream < s)
			i++;
		b->ended_of[s] = i;
	}
	return true;
}

static bool ended_by(const void *element, const void *key)
{
	return ((const struct ended *)element)->end_ns <= *(const int64_t *)key;
}

uint64_t facts_submitted_before(const struct facts_builder *b, uint32_t stream, int64_t time_ns)
{
	const struct ended *first = b->ended + b->ended_of[stream];
	size_t n =
		array_first(first, b->ended_of[stream + 1] - b->ended_of[stream], sizeof(*first), ended_by, &time_ns);

	return n ? first[n - 1].seq : 0;
}

/* ---- events recorded ---------------------------------------------------------------------------------- */

static int event_order(const void *a, const void *b)
{
	const struct recording *x = a, *y = b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return (x->call > y->call) - (x->call < y->call);
}

/* Each recording that a call made; b->events NULL: only how many. */
static size_t list_recordings(struct facts_builder *b, const struct call *c)
{
	const struct graph *g = c->family == GST_FAMILY_GRAPH_LAUNCH ? &b->t->graphs[c->graph] : NULL;
	size_t n = 0;

	/* one that was under way when the records begin may stand before or behind one that is gone */
	if (c->result != 0 || (c->flags & GST_CAPTURED) || c->begin_ns < b->t->from_ns)
		return 0;
	if (c->family == GST_FAMILY_EVENT_RECORD) {
		if (b->events)
			b->events[b->n_events++] = (struct recording){ c->args[0], c, c->seq, false };
		return 1;
	}
	for (size_t i = 0; g && i < g->n; i++) {
		if (g->nodes[i].type != NODE_EVENT_RECORD)
			continue;
		if (b->events)
			b->events[b->n_events++] =
				(struct recording){ g->nodes[i].arg, c, c->seq ? c->seq - 1 : 0, true };
		n++;
	}
	return n;
}

static bool make_events(struct facts_builder *b)
{
	const struct trace *t = b->t;
	size_t n = 0;

	b->all_recordings = t->counters.records_dropped == 0 && t->cut_ns == INT64_MAX && !t->from_ns;
	for (size_t i = 0; i < t->n_calls; i++) {
		const struct call *c = &t->calls[i];

		n += list_recordings(b, c);
		b->all_recordings &= c->family != GST_FAMILY_IPC &&
				     (c->family != GST_FAMILY_GRAPH_LAUNCH || t->graphs[c->graph].whole);
	}
	b->events = array_new(n, sizeof(*b->events));
	if (!b->events)
		return false;
	for (size_t i = 0; i < t->n_calls; i++)
		list_recordings(b, &t->calls[i]);
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

	if (!last || last->event != c->args[0] || last->call->end_ns > c->begin_ns)
		return NULL;
	if (n > 1 && last[-1].event == c->args[0] && last[-1].call->end_ns > last->call->begin_ns)
		return NULL;
	return last;
}

bool facts_never_recorded(const struct facts_builder *b, const struct call *c)
{
	size_t at = array_first(b->events, b->n_events, sizeof(*b->events), lower_event, c);

	return b->all_recordings && (at == b->n_events || b->events[at].event != c->args[0]);
}

/* ---- all of them -------------------------------------------------------------------------------------- */

bool facts_make_tables(struct facts_builder *b)
{
	b->told = array_new(b->t->n_streams, sizeof(*b->told));
	b->told_by_edge = array_new(b->t->n_streams, sizeof(*b->told_by_edge));
	return b->told && b->told_by_edge && make_ended(b) && make_events(b) && accounts_find(&b->accounts, b->t);
}

void facts_free_tables(struct facts_builder *b)
{
	free(b->events);
	free(b->told);
	free(b->told_by_edge);
	accounts_free(&b->accounts);
	spill_free(b->ended);
	free(b->ended_of);
}
