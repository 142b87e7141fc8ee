/* SPDX-License-Identifier: BSD-2-Clause */
#include "burst_samples.h"

#include "burst_arrival.h"
#include "tools/alloc.h"
#include "tools/ns.h"

#include <math.h>
#include <stdlib.h>

#define HELD_NS 3000 /* recording an edge takes less, unless the thread loses its CPU */
#define FEW_NULLS 3

struct finder {
	struct burst_samples *out;
	const struct trace *t;
	const struct firing *firings;
	struct mark *marks; /* by stream, then in the order they were recorded */
	struct arrivals arrivals;
	size_t n;
	int64_t held_ns[GST_FAMILY_COUNT]; /* a call that took longer was held up */
};

static int by_stream_and_id(const void *a, const void *b)
{
	const struct edge *x = ((const struct mark *)a)->edge, *y = ((const struct mark *)b)->edge;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static int by_stream_and_seq(const void *a, const void *b)
{
	const struct burst_sample *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

static bool is_mark(const struct edge *e)
{
	return e->kind >= GST_EDGE_BURST_BEFORE && e->kind <= GST_EDGE_BURST_NULL && e->burst &&
	       e->stream != GST_NONE && !isnan(e->device_ns);
}

/* Did it fire no later than it can have come to the device? Then what stood before it may have ended earlier. */
static bool came_late(const struct finder *f, const struct mark *m, double arrival_ns)
{
	const struct edge *e = m->edge;
	int64_t recorded_ns = e->end_ns - e->begin_ns > HELD_NS ? e->end_ns : e->begin_ns;

	return e->device_ns <= since_begin(&f->arrivals, recorded_ns) + arrival_ns + 1.5 * EVENT_TICK_NS;
}

static bool list_marks(struct finder *f)
{
	const struct trace *t = f->t;

	for (size_t i = 0; i < t->n_edges; i++)
		f->n += is_mark(&t->edges[i]);
	f->marks = array_new(f->n, sizeof(*f->marks));
	if (!f->marks)
		return false;
	f->n = 0;
	for (size_t i = 0; i < t->n_edges; i++)
		if (is_mark(&t->edges[i]))
			f->marks[f->n++] = (struct mark){ &t->edges[i], &f->firings[i], false };
	array_sort(f->marks, f->n, sizeof(*f->marks), by_stream_and_id);
	return true;
}

/* The distance of two edges with nothing between, where the second had come to the device in time. */
static void measure_edge(struct finder *f)
{
	struct burst_samples *out = f->out;
	double sum = 0;

	for (size_t i = 1; i < f->n; i++) {
		const struct mark *m = &f->marks[i];
		double arrival_ns;

		if (m->edge->kind != GST_EDGE_BURST_NULL || !same_row(m->edge, m[-1].edge) ||
		    m->edge->covers != m[-1].edge->covers)
			continue;
		arrival_ns = arrival_of(&f->arrivals, m);
		if (isnan(arrival_ns) ||
		    m[-1].edge->device_ns <= since_begin(&f->arrivals, m->edge->end_ns) + arrival_ns + EVENT_TICK_NS)
			continue; /* the first one fired before the second was there */
		sum += m->edge->device_ns - m[-1].edge->device_ns;
		out->n_edge++;
	}
	if (out->n_edge < FEW_NULLS)
		return;
	out->edge_ns = fmax(0, sum / (double)out->n_edge);
	out->edge_error_ns = fmin(PLACE_NS, 2 * sqrt(EVENT_TICKS_VARIANCE / (double)out->n_edge));
}

/* ---- samples --------------------------------------------------------------------------------------------- */

/* Put around one submission by one thread, with nothing else between. */
static bool is_pair(const struct edge *before, const struct edge *after)
{
	return after->kind == GST_EDGE_BURST_AFTER && before->kind != GST_EDGE_BURST_NULL && same_row(before, after) &&
	       after->covers == before->covers + 1 && after->tid == before->tid &&
	       after->device_ns >= before->device_ns;
}

static bool list_samples(struct finder *f)
{
	struct burst_samples *out = f->out;

	out->at = array_new(f->n, sizeof(*out->at));
	if (!out->at)
		return false;
	for (size_t i = 1; i < f->n; i++)
		if (is_pair(f->marks[i - 1].edge, f->marks[i].edge))
			out->at[out->n++] = (struct burst_sample){ .before = f->marks[i - 1].edge,
								   .after = f->marks[i].edge,
								   .stream = f->marks[i].edge->stream,
								   .seq = f->marks[i].edge->covers };
	array_sort(out->at, out->n, sizeof(*out->at), by_stream_and_seq);
	for (size_t i = 0; i < f->t->n_calls && out->n; i++) {
		const struct call *c = &f->t->calls[i];
		struct burst_sample *s = NULL;

		if (is_submission(c) && c->stream != GST_NONE && c->family != GST_FAMILY_HOSTFN)
			s = (struct burst_sample *)burst_samples_get(out, c->stream, c->seq);
		if (s && s->after->begin_ns >= c->begin_ns && s->before->begin_ns <= c->end_ns)
			s->call = c;
	}
	return true;
}

static bool mark_before(const void *element, const void *key)
{
	return by_stream_and_id(element, key) < 0;
}

static const struct mark *mark_of(const struct finder *f, const struct edge *e)
{
	const struct mark key = { .edge = e };

	return &f->marks[array_first(f->marks, f->n, sizeof(key), mark_before, &key)];
}

/* From the edge's firing to the work's arrival at the device, if that came later. */
static double arrives_after(const struct finder *f, const struct burst_sample *s, const struct mark *before,
			    double arrival_ns)
{
	const struct edge *e = s->before;
	double recording_ns = (double)(e->end_ns - e->begin_ns), since_ns;

	since_ns = since_begin(&f->arrivals, s->entered_ns) + arrival_ns - e->device_ns;
	if (e->kind != GST_EDGE_BURST_BEFORE)
		return fmax(since_ns, 0);
	if (before->starved && recording_ns <= HELD_NS && delay_of(&f->arrivals, e) <= arrival_ns + WAITED_NS)
		return recording_ns;
	return fmax(fmin(since_ns, recording_ns), 0);
}

/* The host lost its CPU in the call, perhaps before it told the device, and the device had nothing else to do in that stream. */
static bool may_have_been_held(const struct finder *f, const struct burst_sample *s, double arrival_ns)
{
	return s->call->end_ns - s->entered_ns > f->held_ns[s->call->family] &&
	       since_begin(&f->arrivals, s->call->end_ns) + arrival_ns > s->before->device_ns + EVENT_TICK_NS;
}

static void measure(const struct finder *f, struct burst_sample *s)
{
	const struct mark *before = mark_of(f, s->before), *after = mark_of(f, s->after);
	double arrival_ns = arrival_of(&f->arrivals, before), start_ns = s->before->device_ns;

	s->unsure_ns = f->out->edge_error_ns;
	if (!isnan(arrival_ns)) {
		double after_ns = arrives_after(f, s, before, arrival_ns);

		s->placed = after_ns > 0;
		s->unsure_ns = s->placed ? PLACE_NS : s->unsure_ns;
		start_ns += after_ns;
		s->late = came_late(f, after, arrival_ns) || may_have_been_held(f, s, arrival_ns);
	}
	s->ns = fmax(0, s->after->device_ns - start_ns - f->out->edge_ns);
}

/* What a call of each family takes at most, if nothing holds it up. */
static bool measure_calls(struct finder *f)
{
	const struct burst_samples *out = f->out;
	int64_t *took = array_new(out->n, sizeof(*took));

	for (int family = 0; took && family < GST_FAMILY_COUNT; family++) {
		size_t n = 0;

		for (size_t i = 0; i < out->n; i++)
			if (out->at[i].call->family == family)
				took[n++] = out->at[i].call->end_ns - out->at[i].entered_ns;
		f->held_ns[family] = n ? 2 * array_median(took, n) + 1000 : 0;
	}
	free(took);
	return took != NULL;
}

static bool measure_samples(struct finder *f)
{
	struct burst_samples *out = f->out;
	size_t n = 0;

	for (size_t i = 0; i < out->n; i++) {
		struct burst_sample *s = &out->at[i];

		if (!s->call)
			continue; /* its record was lost, or the call failed */
		s->entered_ns = s->before->kind == GST_EDGE_BURST_BEFORE ? s->before->end_ns : s->call->begin_ns;
		out->at[n++] = *s;
	}
	out->n = n;
	if (!measure_calls(f))
		return false;
	for (size_t i = 0; i < out->n; i++)
		measure(f, &out->at[i]);
	return true;
}

bool burst_samples_find(struct burst_samples *out, const struct trace *t, const struct firing *firings)
{
	struct finder f = { .out = out, .t = t, .firings = firings };
	bool ok;

	*out = (struct burst_samples){ .edge_error_ns = PLACE_NS };
	ok = list_marks(&f) && arrivals_find(&f.arrivals, t, f.marks, f.n, firings);
	if (ok) {
		out->latency_ns = f.arrivals.latency_ns;
		out->latency_error_ns = f.arrivals.latency_error_ns;
		out->n_latencies = f.arrivals.n_latencies;
		measure_edge(&f);
		ok = list_samples(&f);
	}
	ok = ok && measure_samples(&f);
	free(f.marks);
	arrivals_free(&f.arrivals);
	return ok;
}

void burst_samples_free(struct burst_samples *s)
{
	free(s->at);
	*s = (struct burst_samples){ 0 };
}

static bool sample_before(const void *element, const void *key)
{
	return by_stream_and_seq(element, key) < 0;
}

const struct burst_sample *burst_samples_get(const struct burst_samples *s, uint32_t stream, uint64_t seq)
{
	const struct burst_sample key = { .stream = stream, .seq = seq };
	size_t at = array_first(s->at, s->n, sizeof(key), sample_before, &key);

	return at < s->n && s->at[at].stream == stream && s->at[at].seq == seq ? &s->at[at] : NULL;
}
