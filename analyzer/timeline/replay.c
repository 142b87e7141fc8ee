/* SPDX-License-Identifier: BSD-2-Clause */
#include "replay.h"

#include "tools/alloc.h"
#include "tools/ns.h"
#include "waits.h"

#include <stdlib.h>
#include <string.h>

#define NEVER (INT64_MIN / 2) /* before everything, with room for arithmetic */

/* ---- what happens, in the order of calls ------------------------------------------------------------ */

static int by_entry(const void *a, const void *b)
{
	const struct replay_step *x = a, *y = b;

	if (x->entered_ns != y->entered_ns)
		return x->entered_ns < y->entered_ns ? -1 : 1;
	if (!x->work != !y->work)
		return x->work ? 1 : -1; /* what a stream is told to wait for holds what comes behind */
	return (x->slot > y->slot) - (x->slot < y->slot);
}

static void add_flow(struct replay *r, const struct stream_work *w, uint32_t device)
{
	r->flows[r->n_flows++] = (struct replay_flow){ .work = w,
						       .device = device,
						       .legacy = GST_NONE,
						       .ordered = w->stream != GST_NONE,
						       .first = r->n_slots,
						       .n = w->n };
	r->n_slots += w->n;
}

/* Flows are listed device by device, each device's streams in their order, then the relays. */
static uint32_t flow_of(const struct replay *r, const struct stream_work *w)
{
	size_t first = 0;

	for (size_t i = 0; w && i < r->n_devices; first += r->devices[i++].n)
		if (w >= r->devices[i].streams && w < r->devices[i].streams + r->devices[i].n)
			return (uint32_t)(first + (size_t)(w - r->devices[i].streams));
	if (w && r->n_devices && w >= r->devices[0].relays && w < r->devices[0].relays + r->devices[0].n_relays)
		return (uint32_t)(first + (size_t)(w - r->devices[0].relays));
	return GST_NONE;
}

static void list_flows(struct replay *r, const struct device_work *devices, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < devices[i].n; k++)
			add_flow(r, &devices[i].streams[k], (uint32_t)i);
	for (size_t i = 0; n && i < devices[0].n_relays; i++)
		add_flow(r, &devices[0].relays[i], devices[0].relays[i].device);
	for (size_t i = 0; i < r->n_flows; i++)
		r->flows[i].legacy = flow_of(r, r->flows[i].work->legacy);
}

static uint8_t engine_of(const struct call *c)
{
	if (c->family != GST_FAMILY_COPY)
		return 0;
	switch (c->detail) {
	case GST_COPY_H2D_PAGEABLE:
	case GST_COPY_H2D_PINNED:
		return 1;
	case GST_COPY_D2H_PAGEABLE:
	case GST_COPY_D2H_PINNED:
	case GST_COPY_PEER:
		return 2;
	default:
		return 0;
	}
}

static void add_works(struct replay *r, uint32_t flow, struct classes *classes, const struct burst_samples *samples)
{
	const struct replay_flow *f = &r->flows[flow];
	int64_t at_ns = INT64_MIN;

	for (size_t i = 0; i < f->n; i++) {
		const struct work *w = &f->work->ops[i];
		const struct burst_sample *s =
			samples && f->ordered ? burst_samples_get(samples, f->work->stream, w->call->seq) : NULL;
		bool known = f->ordered && !f->work->elsewhere && !f->work->carried && !w->hostfn;

		/* entries rise along a stream but for races of threads: it keeps its order */
		at_ns = max64(at_ns, s ? s->entered_ns : w->call->begin_ns);
		r->steps[r->n_steps++] =
			(struct replay_step){ .entered_ns = at_ns,
					      .work = w,
					      .slot = f->first + i,
					      .flow = flow,
					      .class = known ? classes_of(classes, f->work->trace, w->call)
							     : CLASS_UNKNOWN,
					      .producer = GST_NONE,
					      .engine = w->hostfn ? 0 : engine_of(w->call) };
	}
}

static void add_waits(struct replay *r, uint32_t flow)
{
	const struct stream_work *w = r->flows[flow].work;

	for (size_t i = 0; i < w->n_held; i++) {
		const struct held *h = &w->held[i];
		uint32_t producer = flow_of(r, h->producer);
		bool any = producer != GST_NONE && h->covers;

		r->steps[r->n_steps++] = (struct replay_step){
			.entered_ns = h->at_ns,
			.slot = any ? r->flows[producer].first + h->covers - 1 : SIZE_MAX,
			.flow = flow,
			.producer = producer,
		};
	}
}

bool replay_new(struct replay *r, const struct device_work *devices, size_t n, struct classes *classes,
		const struct burst_samples *(*samples_of)(const void *, const struct trace *), const void *arg)
{
	size_t n_flows = n ? devices[0].n_relays : 0, n_steps = 0;

	*r = (struct replay){ .devices = devices, .n_devices = n };
	for (size_t i = 0; i < n; i++)
		n_flows += devices[i].n;
	r->flows = array_new(n_flows, sizeof(*r->flows));
	r->engines = array_new(n, sizeof(*r->engines));
	if (!r->flows || !r->engines)
		return false;
	list_flows(r, devices, n);
	for (size_t i = 0; i < r->n_flows; i++)
		n_steps += r->flows[i].n + r->flows[i].work->n_held;
	r->steps = array_new(n_steps, sizeof(*r->steps));
	r->begins = array_new(r->n_slots, sizeof(*r->begins));
	r->ends = array_new(r->n_slots, sizeof(*r->ends));
	if (!r->steps || !r->begins || !r->ends)
		return false;
	for (uint32_t i = 0; i < r->n_flows; i++) {
		add_works(r, i, classes, samples_of(arg, r->flows[i].work->trace));
		add_waits(r, i);
	}
	array_sort(r->steps, r->n_steps, sizeof(*r->steps), by_entry);
	r->turns = array_new(classes->n, sizeof(*r->turns));
	return r->turns != NULL;
}

void replay_free(struct replay *r)
{
	free(r->steps);
	free(r->flows);
	free(r->begins);
	free(r->ends);
	free(r->engines);
	free(r->turns);
	*r = (struct replay){ 0 };
}

/* ---- the model -------------------------------------------------------------------------------------- */

static void take_wait(struct replay *r, const struct replay_step *s)
{
	struct replay_flow *f = &r->flows[s->flow];

	if (s->slot != SIZE_MAX)
		f->hold_ns = max64(f->hold_ns, r->ends[s->slot]);
	else if (s->producer != GST_NONE) /* a stream that had no work passes on what it waits for itself */
		f->hold_ns = max64(f->hold_ns, r->flows[s->producer].hold_ns);
}

/* A host function, or a graph that does nothing here: the device has no part in it. */
static void take_hostfn(struct replay *r, const struct replay_step *s, int64_t start_ns, int64_t latency_ns)
{
	const struct work *w = s->work;
	int64_t end_ns = middle64(w->earliest_end_ns, w->latest_end_ns);

	r->begins[s->slot] = r->ends[s->slot] = max64(end_ns, min64(start_ns, w->latest_end_ns)) + latency_ns;
}

static int64_t as_ns(double ns)
{
	return ns >= 4e18 ? (int64_t)4e18 : ns > 0 ? (int64_t)(ns + 0.5) : 0;
}

static void take_work(struct replay *r, const struct replay_step *s, const struct classes *classes, int64_t latency_ns,
		      int side)
{
	struct replay_flow *f = &r->flows[s->flow], *legacy = f->legacy == GST_NONE ? NULL : &r->flows[f->legacy];
	int64_t *engine = s->engine ? &r->engines[f->device][s->engine - 1] : NULL, takes_ns, end_ns;
	const struct work *w = s->work;
	int64_t start_ns = max64(max64(s->entered_ns + latency_ns, w->earliest_start_ns), f->hold_ns);

	if (f->ordered)
		start_ns = max64(start_ns, f->end_ns);
	if (legacy)
		start_ns = max64(start_ns, legacy == f ? f->members_end_ns : legacy->end_ns);
	if (engine)
		start_ns = max64(start_ns, *engine);
	if (w->hostfn) {
		take_hostfn(r, s, start_ns, latency_ns);
	} else {
		takes_ns = as_ns(class_draw(classes, s->class, r->turns[s->class]++, side));
		end_ns = takes_ns < w->latest_end_ns - start_ns ? start_ns + takes_ns : w->latest_end_ns;
		r->ends[s->slot] = max64(end_ns, w->earliest_end_ns);
		r->begins[s->slot] = min64(start_ns, r->ends[s->slot]);
	}
	f->end_ns = max64(f->end_ns, r->ends[s->slot]);
	if (legacy && legacy != f)
		legacy->members_end_ns = max64(legacy->members_end_ns, f->end_ns);
	if (engine)
		*engine = max64(*engine, f->end_ns);
}

void replay_run(struct replay *r, const struct classes *classes, double latency_ns, int side)
{
	for (size_t i = 0; i < r->n_flows; i++)
		r->flows[i].end_ns = r->flows[i].hold_ns = r->flows[i].members_end_ns = NEVER;
	for (size_t i = 0; i < r->n_devices; i++)
		r->engines[i][0] = r->engines[i][1] = NEVER;
	memset(r->turns, 0, classes->n * sizeof(*r->turns));
	for (size_t i = 0; i < r->n_steps; i++) {
		if (r->steps[i].work)
			take_work(r, &r->steps[i], classes, as_ns(latency_ns), side);
		else
			take_wait(r, &r->steps[i]);
	}
}

/* ---- what the model leaves idle --------------------------------------------------------------------- */

struct merge { /* of a device's flows, by begin */
	const struct replay *r;
	uint32_t *heap;
	size_t *next; /* by flow: how many of its works are taken */
	size_t n;
};

static const struct work *work_at(const struct merge *m, uint32_t flow)
{
	return &m->r->flows[flow].work->ops[m->next[flow]];
}

static int64_t begin_at(const struct merge *m, uint32_t flow)
{
	return m->r->begins[m->r->flows[flow].first + m->next[flow]];
}

static void sink(struct merge *m, size_t at)
{
	uint32_t flow = m->heap[at];
	size_t child;

	while ((child = 2 * at + 1) < m->n) {
		if (child + 1 < m->n && begin_at(m, m->heap[child + 1]) < begin_at(m, m->heap[child]))
			child++;
		if (begin_at(m, flow) <= begin_at(m, m->heap[child]))
			break;
		m->heap[at] = m->heap[child];
		at = child;
	}
	m->heap[at] = flow;
}

/* Past host functions to the flow's next work for the device. */
static bool skip(struct merge *m, uint32_t flow)
{
	while (m->next[flow] < m->r->flows[flow].n && work_at(m, flow)->hostfn)
		m->next[flow]++;
	return m->next[flow] < m->r->flows[flow].n;
}

static void merge_begin(struct merge *m, uint32_t device)
{
	for (uint32_t i = 0; i < m->r->n_flows; i++)
		if (m->r->flows[i].device == device && m->r->flows[i].n && skip(m, i))
			m->heap[m->n++] = i;
	for (size_t i = m->n; i-- > 0;)
		sink(m, i);
}

static void merge_next(struct merge *m)
{
	uint32_t flow = m->heap[0];

	m->next[flow]++;
	if (!skip(m, flow))
		m->heap[0] = m->heap[--m->n];
	if (m->n)
		sink(m, 0);
}

struct gauge {
	const struct intervals *where;
	struct replay_gauge *out;
	struct idle_pieces *pieces;
	size_t at;
	int64_t until_ns, second_ns, last_ns; /* the latest end so far, the one before, and the last begin */
};

/* Adds what of [begin, end) lies within `where`. */
static bool add_idle(struct gauge *g, int64_t begin_ns, int64_t end_ns, struct idle_piece piece)
{
	while (g->at < g->where->n && g->where->at[g->at].end_ns <= begin_ns)
		g->at++;
	for (size_t i = g->at; i < g->where->n && g->where->at[i].begin_ns < end_ns; i++) {
		piece.begin_ns = max64(begin_ns, g->where->at[i].begin_ns);
		piece.end_ns = min64(end_ns, g->where->at[i].end_ns);
		if (piece.end_ns <= piece.begin_ns)
			continue;
		g->out->idle_ns += piece.end_ns - piece.begin_ns;
		if (!g->pieces)
			continue;
		if (!array_room(g->pieces->at, g->pieces->n, g->pieces->cap))
			return false;
		g->pieces->at[g->pieces->n++] = piece;
	}
	return true;
}

/* Up to now, the begin of the next work. */
static void add_alone(struct gauge *g, int64_t now_ns)
{
	g->out->alone_ns += max64(0, min64(g->until_ns, now_ns) - max64(g->last_ns, g->second_ns));
	g->last_ns = now_ns;
}

static void add_busy(struct gauge *g, int64_t begin_ns, int64_t end_ns)
{
	g->out->busy_ns += max64(0, end_ns - max64(begin_ns, g->until_ns));
	if (end_ns > g->until_ns) {
		g->second_ns = g->until_ns;
		g->until_ns = end_ns;
	} else {
		g->second_ns = max64(g->second_ns, end_ns);
	}
}

static bool gauge_all(struct gauge *g, struct merge *m)
{
	for (; m->n; merge_next(m)) {
		uint32_t flow = m->heap[0];
		int64_t begin_ns = begin_at(m, flow);
		const struct idle_piece piece = { .next = work_at(m, flow)->call,
						  .trace = m->r->flows[flow].work->trace };

		if (begin_ns > g->until_ns && !add_idle(g, g->until_ns, begin_ns, piece))
			return false;
		add_alone(g, begin_ns);
		add_busy(g, begin_ns, m->r->ends[m->r->flows[flow].first + m->next[flow]]);
	}
	add_alone(g, INT64_MAX);
	return add_idle(g, g->until_ns, INT64_MAX, (struct idle_piece){ 0 });
}

bool replay_gauge(const struct replay *r, uint32_t device, const struct intervals *where, struct replay_gauge *out,
		  struct idle_pieces *pieces)
{
	struct gauge g = {
		.where = where, .out = out, .pieces = pieces, .until_ns = NEVER, .second_ns = NEVER, .last_ns = NEVER
	};
	struct merge m = { .r = r };
	bool ok;

	*out = (struct replay_gauge){ 0 };
	m.heap = array_new(r->n_flows, sizeof(*m.heap));
	m.next = array_new(r->n_flows, sizeof(*m.next));
	ok = m.heap && m.next;
	if (ok) {
		merge_begin(&m, device);
		ok = gauge_all(&g, &m);
	}
	free(m.heap);
	free(m.next);
	return ok;
}
