/* SPDX-License-Identifier: BSD-2-Clause */
#include "burst_samples.h"

#include "alloc.h"
#include "ns.h"

#include <math.h>
#include <stdlib.h>

#define STEP_NS 500.0    /* of a device's clock, as events show it */
#define WAITED_NS 3000.0 /* an edge that fires so much later than its neighbours waited for something in its stream */
#define HELD_NS 3000     /* recording an edge takes less, unless the thread loses its CPU */
#define FEW_NULLS 3

struct mark { /* an edge of a burst */
	const struct edge *edge;
	const struct firing *firing;
	bool starved; /* nothing stood before it in its stream when it came to the device */
};

struct arrival { /* of an edge on a starved stream: device time it fired less host time it was recorded */
	uint32_t burst, root;
	double ns;
};

struct finder {
	struct burst_samples *out;
	const struct trace *t;
	const struct firing *firings;
	struct mark *marks;       /* by stream, then in the order they were recorded */
	struct arrival *arrivals; /* by burst and root, then ns */
	size_t n, n_arrivals;
	int64_t held_ns[GST_FAMILY_COUNT]; /* a call that took longer was held up */
};

static int by_stream_and_id(const void *a, const void *b)
{
	const struct edge *x = ((const struct mark *)a)->edge, *y = ((const struct mark *)b)->edge;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static int by_arrival(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;

	if (x->burst != y->burst)
		return x->burst < y->burst ? -1 : 1;
	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	return (x->ns > y->ns) - (x->ns < y->ns);
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

/* Both stand in one stream and are measured from one base. */
static bool same_row(const struct edge *a, const struct edge *b)
{
	return a->stream == b->stream && a->burst == b->burst && a->root == b->root && a->device == b->device;
}

/* ---- when what the host recorded came to the device --------------------------------------------------- */

static double since_begin(const struct finder *f, int64_t host_ns)
{
	return (double)(host_ns - f->t->begin_ns);
}

static double delay(const struct finder *f, const struct edge *e)
{
	return e->device_ns - since_begin(f, e->begin_ns);
}

static bool arrival_before(const void *element, const void *key)
{
	const struct arrival *x = element, *y = key;

	return x->burst != y->burst ? x->burst < y->burst : x->root < y->root;
}

/* Added to a host time it gives the device's time at which what was recorded then arrived: by the starved edges of the burst (the
 * median), or by the clock's mapping and what arriving takes in this run. NAN: no stream was ever seen starved. */
static double arrival_of(const struct finder *f, const struct mark *m)
{
	const struct edge *e = m->edge;
	const struct arrival key = { .burst = e->burst, .root = e->root };
	size_t first = array_first(f->arrivals, f->n_arrivals, sizeof(key), arrival_before, &key), n = first;

	while (n < f->n_arrivals && f->arrivals[n].burst == e->burst && f->arrivals[n].root == e->root)
		n++;
	if (n > first)
		return f->arrivals[first + (n - first) / 2].ns;
	if (!f->out->n_latencies || !m->firing->exact)
		return NAN;
	return e->device_ns - since_begin(f, m->firing->time_ns) + f->out->latency_ns;
}

/* Did it fire no later than it can have come to the device? Then what stood before it may have ended earlier. */
static bool came_late(const struct finder *f, const struct mark *m, double arrival_ns)
{
	const struct edge *e = m->edge;
	int64_t recorded_ns = e->end_ns - e->begin_ns > HELD_NS ? e->end_ns : e->begin_ns;

	return e->device_ns <= since_begin(f, recorded_ns) + arrival_ns + 1.5 * STEP_NS;
}

static bool list_marks(struct finder *f)
{
	const struct trace *t = f->t;

	for (size_t i = 0; i < t->n_edges; i++)
		f->n += is_mark(&t->edges[i]);
	f->marks = array_new(f->n, sizeof(*f->marks));
	f->arrivals = array_new(f->n, sizeof(*f->arrivals));
	if (!f->marks || !f->arrivals)
		return false;
	f->n = 0;
	for (size_t i = 0; i < t->n_edges; i++)
		if (is_mark(&t->edges[i]))
			f->marks[f->n++] = (struct mark){ &t->edges[i], &f->firings[i], false };
	array_sort(f->marks, f->n, sizeof(*f->marks), by_stream_and_id);
	return true;
}

static void list_arrivals(struct finder *f)
{
	for (size_t i = 1; i < f->n; i++) {
		struct mark *m = &f->marks[i];

		m->starved = m->edge->kind == GST_EDGE_BURST_BEFORE && same_row(m->edge, m[-1].edge) &&
			     m->edge->device_ns - m[-1].edge->device_ns > 2 * STEP_NS;
		if (m->starved)
			f->arrivals[f->n_arrivals++] =
				(struct arrival){ m->edge->burst, m->edge->root, delay(f, m->edge) };
	}
	array_sort(f->arrivals, f->n_arrivals, sizeof(*f->arrivals), by_arrival);
}

/* ---- what is common to the run ------------------------------------------------------------------------- */

static void add_latency(struct burst_samples *out, const struct edge *e, const struct firing *f)
{
	if (!f->exact || f->time_ns < e->begin_ns)
		return;
	out->latency_ns += (double)(f->time_ns - e->begin_ns);
	out->latency_error_ns += (double)f->error_ns;
	out->n_latencies++;
}

static void measure_latency(struct finder *f)
{
	struct burst_samples *out = f->out, sum = { 0 };

	for (size_t i = 0; i < f->n; i++) {
		const struct mark *m = &f->marks[i];

		if (m->starved && delay(f, m->edge) <= arrival_of(f, m) + WAITED_NS)
			add_latency(&sum, m->edge, m->firing);
	}
	for (size_t i = 0; !sum.n_latencies && i < f->t->n_edges; i++)
		if (f->t->edges[i].kind == GST_EDGE_START && f->t->edges[i].stream != GST_NONE)
			add_latency(&sum, &f->t->edges[i], &f->firings[i]);
	if (sum.n_latencies) {
		out->n_latencies = sum.n_latencies;
		out->latency_ns = sum.latency_ns / (double)sum.n_latencies;
		out->latency_error_ns = sum.latency_error_ns / (double)sum.n_latencies;
	}
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
		arrival_ns = arrival_of(f, m);
		if (isnan(arrival_ns) ||
		    m[-1].edge->device_ns <= since_begin(f, m->edge->end_ns) + arrival_ns + STEP_NS)
			continue; /* the first one fired before the second was there */
		sum += m->edge->device_ns - m[-1].edge->device_ns;
		out->n_edge++;
	}
	if (out->n_edge >= FEW_NULLS)
		out->edge_ns = fmax(0, sum / (double)out->n_edge);
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

	since_ns = since_begin(f, s->entered_ns) + arrival_ns - e->device_ns;
	if (e->kind != GST_EDGE_BURST_BEFORE)
		return fmax(since_ns, 0);
	if (before->starved && recording_ns <= HELD_NS && delay(f, e) <= arrival_ns + WAITED_NS)
		return recording_ns;
	return fmax(fmin(since_ns, recording_ns), 0);
}

/* The host lost its CPU in the call, perhaps before it told the device, and the device had nothing else to do in that stream. */
static bool may_have_been_held(const struct finder *f, const struct burst_sample *s, double arrival_ns)
{
	return s->call->end_ns - s->entered_ns > f->held_ns[s->call->family] &&
	       since_begin(f, s->call->end_ns) + arrival_ns > s->before->device_ns + STEP_NS;
}

static void measure(const struct finder *f, struct burst_sample *s)
{
	const struct mark *before = mark_of(f, s->before), *after = mark_of(f, s->after);
	double arrival_ns = arrival_of(f, before), start_ns = s->before->device_ns;

	if (!isnan(arrival_ns)) {
		start_ns += arrives_after(f, s, before, arrival_ns);
		s->late = came_late(f, after, arrival_ns) || may_have_been_held(f, s, arrival_ns);
	}
	s->ns = fmax(0, s->after->device_ns - start_ns - f->out->edge_ns);
}

static int by_ns(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
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
		array_sort(took, n, sizeof(*took), by_ns);
		f->held_ns[family] = n ? 2 * took[n / 2] + 1000 : 0;
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

	*out = (struct burst_samples){ 0 };
	ok = list_marks(&f);
	if (ok) {
		list_arrivals(&f);
		measure_latency(&f);
		measure_edge(&f);
		ok = list_samples(&f);
	}
	ok = ok && measure_samples(&f);
	free(f.marks);
	free(f.arrivals);
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
