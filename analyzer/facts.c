/* SPDX-License-Identifier: BSD-2-Clause */
#include "facts.h"

#include "accounts.h"
#include "alloc.h"
#include "latency.h"
#include "ns.h"
#include "timeline.h"

#include <stdlib.h>

#define NOT_READY 600 /* CUDA_ERROR_NOT_READY */

struct ended { /* a submission's return, to ask what a context synchronise covers */
	uint32_t stream;
	int64_t end_ns; /* running maximum within the stream */
	uint64_t seq;   /* running maximum too */
};

/* An event recorded: by a call of its own, or by a node of the graph that a call launched. */
struct recording {
	uint64_t event;
	const struct call *call;
	uint64_t covers; /* submissions of the call's stream that the event stands behind */
	bool inside;     /* of a graph: it fires before the launch is over */
};

struct builder {
	struct facts *out;
	const struct trace *t;
	const struct firing *firings;
	struct recording *events; /* by event, then time */
	size_t n_events;
	bool all_recordings;    /* of events are in the trace */
	uint64_t *told;         /* per stream: what a context synchronise has said is over */
	uint64_t *told_by_edge; /* … an edge across the legacy stream */
	struct ended *ended;
	size_t *ended_of; /* per stream: its first in ended; one more for the end */
	struct accounts accounts;
};

static bool add_finished(struct builder *b, uint32_t stream, uint64_t covers, int64_t by_ns, enum boundary known_by)
{
	struct facts *f = b->out;

	if (stream == GST_NONE || covers == 0 || by_ns == INT64_MAX)
		return true;
	if (!array_room(f->finished, f->n_finished, f->cap_finished))
		return false;
	f->finished[f->n_finished++] = (struct finished){ stream, (uint8_t)known_by, covers, by_ns };
	return true;
}

static bool add_pending(struct builder *b, struct pending p)
{
	struct facts *f = b->out;

	if (p.covers == 0 || (p.at_ns < p.asked_ns && p.known_by != PENDING_OWN))
		return true;
	if (!array_room(f->pending, f->n_pending, f->cap_pending))
		return false;
	f->pending[f->n_pending++] = p;
	return true;
}

/* Something in the stream was pending at at_ns: the work, or an event of ours that fires a little after it. */
static bool add_asked(struct builder *b, uint32_t stream, uint64_t covers, int64_t at_ns)
{
	return add_pending(b, (struct pending){ .stream = stream,
						.covers = covers,
						.at_ns = at_ns - EVENT_NS,
						.asked_ns = at_ns - EVENT_NS,
						.known_by = PENDING_ASKED });
}

static bool ended_by(const void *element, const void *key)
{
	return ((const struct ended *)element)->end_ns <= *(const int64_t *)key;
}

/* The highest submission of a stream whose call had returned before time_ns. */
static uint64_t submitted_before(const struct builder *b, uint32_t stream, int64_t time_ns)
{
	const struct ended *first = b->ended + b->ended_of[stream];
	size_t n =
		array_first(first, b->ended_of[stream + 1] - b->ended_of[stream], sizeof(*first), ended_by, &time_ns);

	return n ? first[n - 1].seq : 0;
}

/* ---- edges and polls -------------------------------------------------------------------------------- */

/* An edge in the legacy default stream stands behind the work of every stream that blocks with it, and one in such a stream behind the
 * legacy stream's: that is over too when it fires. */
static bool add_edge_across(struct builder *b, const struct edge *edge, int64_t by_ns)
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
		covers = submitted_before(b, s, edge->begin_ns);
		if (covers <= b->told_by_edge[s])
			continue; /* an earlier edge said so; that it fired earlier is likely, and not needed */
		b->told_by_edge[s] = covers;
		if (!add_finished(b, s, covers, by_ns, BOUNDARY_EDGE))
			return false;
	}
	return true;
}

static bool add_edge(struct builder *b, const struct edge *edge, const struct firing *f)
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
	if (!array_room(out->order, out->n_order, out->cap_order))
		return false;
	out->order[out->n_order++] = (struct order){ edge->stream, edge->end_ns, first };
	if (!add_finished(b, edge->stream, edge->covers, last, BOUNDARY_EDGE) || !add_edge_across(b, edge, last))
		return false;
	/* later than an event on an empty stream would have: it waited for the work before it */
	if (first - EVENT_NS > edge->end_ns + out->latency_ns)
		return add_pending(b, (struct pending){ .stream = edge->stream,
							.covers = edge->covers,
							.at_ns = first - EVENT_NS,
							.asked_ns = edge->end_ns + out->latency_ns,
							.known_by = PENDING_EDGE });
	return true;
}

static bool add_poll(struct builder *b, const struct poll *p)
{
	if (p->stream == GST_NONE)
		return true;
	if (p->ready)
		return add_finished(b, p->stream, p->covers, p->end_ns, BOUNDARY_POLL);
	return add_asked(b, p->stream, p->covers, p->begin_ns);
}

/* ---- how long a blocking call may have taken to notice ---------------------------------------------- */

/* The work a call waited for was still pending shortly before the call returned, if the call did wait. */
static bool add_blocked(struct builder *b, const struct call *c, uint32_t stream, uint64_t covers, uint64_t context)
{
	int64_t wake = accounts_wake_ns(&b->accounts, c);
	int64_t asked = accounts_asked_ns(&b->accounts, c);
	struct pending p = { stream,  covers,       c->end_ns - wake, asked + b->out->latency_ns,
			     context, PENDING_WAKE, INT64_MIN };

	if (!is_submission(c))
		return add_pending(b, p);
	p.known_by = PENDING_OWN;
	p.entered_ns = accounts_handed_ns(&b->accounts, c);
	if (p.entered_ns == INT64_MIN)
		return true; /* its own two ends bound it, and rest on no allowance */
	/* a wait for a CPU delays the copy; a short call's return bounds it without any allowance */
	p.asked_ns = p.entered_ns + BLOCKING_START_NS + b->out->latency_ns + wake - WAKE_NS;
	if (c->end_ns - p.entered_ns < SHORT_CALL_NS)
		p.asked_ns = c->end_ns;
	return add_pending(b, p);
}

/* ---- calls ------------------------------------------------------------------------------------------ */

static int event_order(const void *a, const void *b)
{
	const struct recording *x = a, *y = b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return (x->call > y->call) - (x->call < y->call);
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

/* The recording that a wait for or query of the event was about; NULL where two threads make that doubtful. */
static const struct recording *recorded_before(const struct builder *b, const struct call *c)
{
	size_t n = array_first(b->events, b->n_events, sizeof(*b->events), recorded_by, c);
	const struct recording *last = n ? &b->events[n - 1] : NULL;

	if (!last || last->event != c->args[0] || last->call->end_ns > c->begin_ns)
		return NULL;
	if (n > 1 && last[-1].event == c->args[0] && last[-1].call->end_ns > last->call->begin_ns)
		return NULL;
	return last;
}

static bool add_event_answer(struct builder *b, const struct call *c)
{
	const struct recording *r = recorded_before(b, c);
	uint32_t stream = r ? r->call->stream : GST_NONE;
	uint64_t until; /* what it waited for if it did: in a graph, some part of the launch itself */

	if (stream == GST_NONE)
		return true;
	until = r->covers + r->inside;
	if (c->result == NOT_READY)
		return add_asked(b, stream, until, c->begin_ns);
	if (c->result != 0 ||
	    !add_finished(b, stream, r->covers, c->end_ns,
			  c->family == GST_FAMILY_SYNC_EVENT ? BOUNDARY_BLOCKING_RETURN : BOUNDARY_QUERY))
		return c->result != 0;
	return c->family == GST_FAMILY_QUERY_EVENT || add_blocked(b, c, stream, until, 0);
}

/* An event that was never recorded holds nobody up, if all recordings are in the trace: none of another process, none in a graph that is
 * not known. */
static bool never_recorded(const struct builder *b, const struct call *c)
{
	size_t at = array_first(b->events, b->n_events, sizeof(*b->events), lower_event, c);

	return b->all_recordings && (at == b->n_events || b->events[at].event != c->args[0]);
}

static bool add_wait(struct builder *b, const struct call *c)
{
	struct facts *f = b->out;
	const struct recording *r = recorded_before(b, c);
	struct wait w = { .stream = c->stream,
			  .producer = GST_NONE,
			  .at_ns = c->begin_ns,
			  .end_ns = c->end_ns,
			  .recorded_ns = INT64_MIN,
			  .over_ns = INT64_MAX,
			  .call = c };

	if (c->stream == GST_NONE || c->result != 0 || (c->flags & GST_CAPTURED))
		return true;
	if (r && r->call->stream != GST_NONE) {
		w.producer = r->call->stream;
		w.seq = r->covers;
		w.recorded_ns = r->call->end_ns;
	} else if (!r && never_recorded(b, c)) {
		return true;
	}
	if (w.producer != GST_NONE && w.seq == 0 && !r->inside && submitted_before(b, w.producer, r->call->end_ns) != 0)
		w.producer = GST_NONE; /* another thread was at it: what the event covers is not known */
	if (!array_room(f->waits, f->n_waits, f->cap_waits))
		return false;
	f->waits[f->n_waits++] = w;
	return true;
}

static bool add_context_sync(struct builder *b, const struct call *c)
{
	bool any = false;

	for (uint32_t s = 0; s < b->t->n_streams; s++) {
		uint64_t covers;

		if (b->t->streams[s].context != c->args[0])
			continue;
		covers = submitted_before(b, s, c->begin_ns);
		any |= covers != 0;
		if (covers <= b->told[s])
			continue; /* an earlier one said so, and earlier */
		b->told[s] = covers;
		if (!add_finished(b, s, covers, c->end_ns, BOUNDARY_BLOCKING_RETURN))
			return false;
	}
	return !any || add_blocked(b, c, GST_NONE, 1, c->args[0]);
}

static bool add_call(struct builder *b, const struct call *c)
{
	switch (c->family) {
	case GST_FAMILY_SYNC_EVENT:
	case GST_FAMILY_QUERY_EVENT:
		return add_event_answer(b, c);
	case GST_FAMILY_STREAM_WAIT:
		return add_wait(b, c);
	case GST_FAMILY_SYNC_CONTEXT:
		return c->result != 0 || add_context_sync(b, c);
	case GST_FAMILY_QUERY_STREAM:
		if (c->result == NOT_READY && c->stream != GST_NONE)
			return add_asked(b, c->stream, c->seq, c->begin_ns);
		return c->result != 0 || add_finished(b, c->stream, c->seq, c->end_ns, BOUNDARY_QUERY);
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
	return add_finished(b, c->stream, c->seq, c->end_ns, BOUNDARY_BLOCKING_RETURN) &&
	       add_blocked(b, c, c->stream, c->seq, 0);
}

/* ---- lookup tables ---------------------------------------------------------------------------------- */

static int by_stream_and_end(const void *a, const void *b)
{
	const struct ended *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

static bool make_ended(struct builder *b)
{
	const struct trace *t = b->t;
	size_t n = 0;

	b->ended = array_new(t->n_calls + t->n_carried, sizeof(*b->ended));
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

/* Each recording that a call made; b->events NULL: only how many. */
static size_t list_recordings(struct builder *b, const struct call *c)
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

static bool make_events(struct builder *b)
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
	b->told = array_new(t->n_streams, sizeof(*b->told));
	b->told_by_edge = array_new(t->n_streams, sizeof(*b->told_by_edge));
	if (!b->events || !b->told || !b->told_by_edge || !accounts_find(&b->accounts, t))
		return false;
	for (size_t i = 0; i < t->n_calls; i++)
		list_recordings(b, &t->calls[i]);
	array_sort(b->events, b->n_events, sizeof(*b->events), event_order);
	return true;
}

/* ---- graphs ----------------------------------------------------------------------------------------- */

static int by_exec(const void *a, const void *b)
{
	const struct call *x = *(const struct call *const *)a, *y = *(const struct call *const *)b;

	if (x->args[0] != y->args[0])
		return x->args[0] < y->args[0] ? -1 : 1;
	return (x > y) - (x < y);
}

/* A launch stands behind the executable graph's launch before it, in whatever stream that was (CUDA driver API, cuGraphLaunch). A
 * handle may be used again for another graph while what the first one launched still runs: then it does not. */
static bool add_launch_order(struct builder *b, const struct call *before, const struct call *c)
{
	struct facts *f = b->out;
	uint32_t one = b->t->graphs[before->graph].root, other = b->t->graphs[c->graph].root;
	bool known = one && other;

	if (before->args[0] != c->args[0] || before->stream == c->stream || (known && one != other))
		return true;
	if (!array_room(f->waits, f->n_waits, f->cap_waits))
		return false;
	f->waits[f->n_waits++] = (struct wait){ .stream = c->stream,
						.producer = known ? before->stream : GST_NONE,
						.seq = known ? before->seq : 0,
						.at_ns = c->begin_ns - 1,
						.end_ns = c->begin_ns,
						.recorded_ns = before->end_ns,
						.over_ns = INT64_MAX,
						.call = c };
	return true;
}

static bool add_launch_orders(struct builder *b)
{
	const struct trace *t = b->t;
	const struct call **launches;
	size_t n = 0;
	bool ok = true;

	for (size_t i = 0; i < t->n_calls; i++)
		n += t->calls[i].family == GST_FAMILY_GRAPH_LAUNCH;
	launches = array_new(n, sizeof(*launches));
	if (!launches)
		return false;
	n = 0;
	for (size_t i = 0; i < t->n_calls; i++)
		if (t->calls[i].family == GST_FAMILY_GRAPH_LAUNCH && is_submission(&t->calls[i]) &&
		    t->calls[i].stream != GST_NONE)
			launches[n++] = &t->calls[i];
	array_sort(launches, n, sizeof(*launches), by_exec);
	for (size_t i = 1; i < n && ok; i++)
		ok = add_launch_order(b, launches[i - 1], launches[i]);
	free(launches);
	return ok;
}

/* ---- before the records begin ------------------------------------------------------------------------- */

/* Streams may have been told to wait for memory, or for what other processes do: such a wait ends when nobody can say. */
static bool waits_for_others(const struct trace *t)
{
	for (size_t i = 0; i < t->n_calls; i++)
		if (t->calls[i].family == GST_FAMILY_MEMOP || t->calls[i].family == GST_FAMILY_IPC)
			return true;
	return false;
}

/* Each stream may have been told to wait for any of the carried work. */
static bool add_carried_waits(struct builder *b, int64_t over_ns)
{
	struct facts *f = b->out;
	const struct trace *t = b->t;

	for (uint32_t s = 0; s < t->n_streams; s++) {
		if (!array_room(f->waits, f->n_waits, f->cap_waits))
			return false;
		f->waits[f->n_waits++] = (struct wait){ .stream = s,
							.producer = GST_NONE,
							.at_ns = t->from_ns - 1,
							.end_ns = t->from_ns,
							.recorded_ns = INT64_MIN,
							.over_ns = over_ns,
							.carried = true };
	}
	return true;
}

static bool add_carried_ends(struct builder *b)
{
	for (size_t i = 0; i < b->t->n_carried; i++) {
		const struct carried *c = &b->t->carried[i];

		if (!add_finished(b, c->call.stream, c->call.seq, c->by_ns, BOUNDARY_POLL))
			return false;
	}
	return true;
}

/* Needs what has finished, in order. */
static bool settle(struct builder *b)
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

static int finished_order(const void *a, const void *b)
{
	const struct finished *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	if (x->covers != y->covers)
		return x->covers < y->covers ? -1 : 1;
	return (x->by_ns > y->by_ns) - (x->by_ns < y->by_ns);
}

static int pending_order(const void *a, const void *b)
{
	const struct pending *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	if (x->covers != y->covers)
		return x->covers < y->covers ? -1 : 1;
	return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

static int order_order(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return (x->after_ns > y->after_ns) - (x->after_ns < y->after_ns);
}

static int wait_order(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

static bool collect(struct builder *b)
{
	const struct trace *t = b->t;

	if (!make_ended(b) || !make_events(b) || !latency_find(b->out, t, b->firings))
		return false;
	for (size_t i = 0; i < t->n_edges; i++)
		if (!add_edge(b, &t->edges[i], &b->firings[i]))
			return false;
	for (size_t i = 0; i < t->n_polls; i++)
		if (!add_poll(b, &t->polls[i]))
			return false;
	for (size_t i = 0; i < t->n_calls; i++)
		if (!add_call(b, &t->calls[i]))
			return false;
	if (!add_launch_orders(b) || !add_carried_ends(b))
		return false;
	array_sort(b->out->finished, b->out->n_finished, sizeof(*b->out->finished), finished_order);
	if (!settle(b))
		return false;
	array_sort(b->out->pending, b->out->n_pending, sizeof(*b->out->pending), pending_order);
	array_sort(b->out->waits, b->out->n_waits, sizeof(*b->out->waits), wait_order);
	array_sort(b->out->order, b->out->n_order, sizeof(*b->out->order), order_order);
	return true;
}

enum err_kind facts_build(struct facts *out, const struct trace *t, const struct firing *firings, struct error *e)
{
	struct builder b = { .out = out, .t = t, .firings = firings };
	bool ok;

	*out = (struct facts){ 0 };
	ok = collect(&b);
	free(b.events);
	free(b.told);
	free(b.told_by_edge);
	accounts_free(&b.accounts);
	free(b.ended);
	free(b.ended_of);
	if (ok)
		return ERR_NONE;
	facts_free(out);
	return err_set(e, ERR_SYSTEM, t->path, ERR_NO_BYTE, "out of memory");
}

void facts_free(struct facts *f)
{
	free(f->finished);
	free(f->pending);
	free(f->order);
	free(f->waits);
	free(f->starts);
	*f = (struct facts){ 0 };
}

/* ---- asking ----------------------------------------------------------------------------------------- */

/* All four structures begin with the stream. */
static bool stream_before(const void *element, const void *key)
{
	return *(const uint32_t *)element < *(const uint32_t *)key;
}

_Static_assert(offsetof(struct finished, stream) == 0 && offsetof(struct pending, stream) == 0 &&
		       offsetof(struct order, stream) == 0 && offsetof(struct wait, stream) == 0,
	       "stream_before reads it there");

size_t facts_first_finished(const struct facts *f, uint32_t stream)
{
	return array_first(f->finished, f->n_finished, sizeof(*f->finished), stream_before, &stream);
}

int64_t facts_over(const struct facts *f, uint32_t stream, uint64_t seq)
{
	int64_t by_ns = INT64_MAX;

	for (size_t i = facts_first_finished(f, stream); i < f->n_finished && f->finished[i].stream == stream; i++)
		if (f->finished[i].covers >= seq)
			by_ns = min64(by_ns, f->finished[i].by_ns);
	return by_ns;
}

size_t facts_first_pending(const struct facts *f, uint32_t stream)
{
	return array_first(f->pending, f->n_pending, sizeof(*f->pending), stream_before, &stream);
}

size_t facts_first_order(const struct facts *f, uint32_t stream)
{
	return array_first(f->order, f->n_order, sizeof(*f->order), stream_before, &stream);
}

size_t facts_first_wait(const struct facts *f, uint32_t stream)
{
	return array_first(f->waits, f->n_waits, sizeof(*f->waits), stream_before, &stream);
}

static bool ordered_before(const void *element, const void *key)
{
	return ((const struct order *)element)->after_ns < *(const int64_t *)key;
}

bool facts_edge_near(const struct facts *f, uint32_t stream, int64_t time_ns)
{
	size_t first = facts_first_order(f, stream), end = facts_first_order(f, stream + 1);
	int64_t from_ns = time_ns - f->latency_ns;

	if (first == end)
		return false;
	first += array_first(f->order + first, end - first, sizeof(*f->order), ordered_before, &from_ns);
	return first < end && f->order[first].after_ns < time_ns + f->latency_ns;
}
