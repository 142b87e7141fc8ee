/* SPDX-License-Identifier: BSD-2-Clause */
#include "estimate.h"

#include "alloc.h"
#include "inside.h"
#include "ns.h"
#include "replay.h"
#include "timeline.h"

#include <math.h>
#include <stdlib.h>

#define GROUPS 20u /* of bursts, left out in turn */
#define FEW_BURSTS 3u
#define FEW_SAMPLES 8u
#define PIECES 20000u /* kept, of where the model is idle */

struct numbered { /* a burst with samples */
	size_t trace;
	uint32_t number;
	int64_t begin_ns;
};

enum { UNRESOLVED, WHOLE, VIEWS };

struct view { /* a part of a device's time */
	struct intervals where;
	double groups[GROUPS]; /* idle time without each group */
	double idle_ns;
	double shorter_ns, longer_ns; /* if all work takes as little, as much as it may */
	double earlier_ns, later_ns;  /* if all of it starts earlier, later */
};

struct device_look {              /* at one device */
	struct view views[VIEWS]; /* both without the inside of graphs */
	struct inside inside;
	struct idle_pieces pieces;
	uint32_t met; /* a bit for each group of bursts that has samples here: the others cannot tell chance */
};

struct maker {
	struct timeline *out;
	const struct device_work *works;
	size_t n;
	struct burst_samples *samples; /* by trace */
	struct numbered *bursts;
	size_t n_bursts; /* by time */
	struct classes classes;
	struct replay replay;
	struct device_look *looks;
	uint32_t n_groups;
	double latency_ns, latency_error_ns;
};

/* ---- samples ---------------------------------------------------------------------------------------- */

static int by_begin(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

static bool find_samples(struct maker *m, struct firing *const *firings)
{
	const struct run *run = m->out->run;
	double latencies = 0;

	m->samples = array_new(run->n_traces, sizeof(*m->samples));
	if (!m->samples)
		return false;
	for (size_t i = 0; i < run->n_traces; i++) {
		struct burst_samples *s = &m->samples[i];

		if (!burst_samples_find(s, run->traces[i], firings[i]))
			return false;
		latencies += (double)s->n_latencies;
		m->latency_ns += s->latency_ns * (double)s->n_latencies;
		m->latency_error_ns += s->latency_error_ns * (double)s->n_latencies;
	}
	if (latencies > 0) {
		m->latency_ns /= latencies;
		m->latency_error_ns /= latencies;
	}
	return true;
}

static int by_trace_and_number(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;

	if (x->trace != y->trace)
		return x->trace < y->trace ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return by_begin(a, b);
}

static bool list_bursts(struct maker *m)
{
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < m->out->run->n_traces; i++)
		n += m->samples[i].n;
	m->bursts = array_new(n, sizeof(*m->bursts));
	if (!m->bursts)
		return false;
	n = 0;
	for (size_t i = 0; i < m->out->run->n_traces; i++)
		for (size_t k = 0; k < m->samples[i].n; k++) {
			const struct edge *edge = m->samples[i].at[k].after;

			m->bursts[n++] = (struct numbered){ i, edge->burst, edge->begin_ns };
		}
	array_sort(m->bursts, n, sizeof(*m->bursts), by_trace_and_number);
	for (size_t i = 0; i < n; i++)
		if (!kept || m->bursts[kept - 1].trace != m->bursts[i].trace ||
		    m->bursts[kept - 1].number != m->bursts[i].number)
			m->bursts[kept++] = m->bursts[i];
	m->n_bursts = kept;
	m->n_groups = (uint32_t)(kept < GROUPS ? kept : GROUPS);
	return true;
}

static uint32_t group_of(const struct maker *m, size_t trace, uint32_t number)
{
	const struct numbered key = { .trace = trace, .number = number };
	size_t low = 0, high = m->n_bursts;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_trace_and_number(&m->bursts[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return (uint32_t)(low % m->n_groups);
}

static size_t trace_index(const struct maker *m, const struct trace *t)
{
	size_t i = 0;

	while (m->out->run->traces[i] != t)
		i++;
	return i;
}

static const struct burst_samples *samples_of(const void *arg, const struct trace *t)
{
	const struct maker *m = arg;

	return &m->samples[trace_index(m, t)];
}

static bool give_samples(struct maker *m)
{
	for (size_t i = 0; i < m->replay.n_steps; i++) {
		const struct replay_step *step = &m->replay.steps[i];
		const struct stream_work *w = m->replay.flows[step->flow].work;
		const struct burst_sample *s;
		uint32_t device = m->replay.flows[step->flow].device, group;
		size_t trace;

		if (!step->work || step->class == CLASS_UNKNOWN || w->stream == GST_NONE)
			continue;
		trace = trace_index(m, w->trace);
		s = burst_samples_get(&m->samples[trace], w->stream, step->work->call->seq);
		if (!s)
			continue;
		group = group_of(m, trace, s->after->burst);
		if (!classes_add_sample(&m->classes, step->class, group, s))
			return false;
		m->looks[device].met |= 1u << group;
		m->out->devices[device].estimate.bracketed++;
	}
	classes_sort(&m->classes);
	return true;
}

/* ---- replays ---------------------------------------------------------------------------------------- */

static bool find_where(struct device_look *look, const struct device_timeline *d, const struct device_work *work)
{
	struct intervals all = { .at = d->unresolved, .n = d->n_unresolved };

	return intervals_subtract(&look->views[UNRESOLVED].where, &all, &work->inside) &&
	       intervals_add(&look->views[WHOLE].where, d->begin_ns, d->end_ns);
}

/* The share of the busy time in which no other stream works: only then the time between a graph's nodes is idle. */
static double alone(const struct replay_gauge *g)
{
	return g->busy_ns > 0 ? (double)g->alone_ns / (double)g->busy_ns : 1;
}

/* Idle time of each device in the model as it stands, into the double at this offset of each view. inside: with that of graphs. */
static bool look_at_all(struct maker *m, size_t offset, bool inside)
{
	for (uint32_t i = 0; i < m->n; i++) {
		struct inside in = { 0 };

		if (inside && !inside_sum(&in, &m->replay, i, &m->classes))
			return false;
		for (int k = 0; k < VIEWS; k++) {
			struct view *v = &m->looks[i].views[k];
			struct replay_gauge g;

			if (!replay_gauge(&m->replay, i, &v->where, &g, NULL))
				return false;
			*(double *)(void *)((char *)v + offset) = (double)g.idle_ns + in.middle * alone(&g);
		}
	}
	return true;
}

static bool leave_out(struct maker *m)
{
	for (uint32_t g = 0; g < m->n_groups; g++) {
		classes_measure(&m->classes, g);
		replay_run(&m->replay, &m->classes, m->latency_ns, 0);
		if (!look_at_all(m, offsetof(struct view, groups) + g * sizeof(double), true))
			return false;
	}
	return true;
}

/* The systematic part: what is not known, at one of its ends after the other. */
static bool look_at_ends(struct maker *m)
{
	const struct {
		size_t offset;
		double latency_ns;
		int side;
	} ends[] = { { offsetof(struct view, shorter_ns), m->latency_ns, -1 },
		     { offsetof(struct view, longer_ns), m->latency_ns, 1 },
		     { offsetof(struct view, earlier_ns), fmax(0, m->latency_ns - m->latency_error_ns), 0 },
		     { offsetof(struct view, later_ns), m->latency_ns + m->latency_error_ns, 0 } };

	classes_measure(&m->classes, GST_NONE);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		replay_run(&m->replay, &m->classes, ends[i].latency_ns, ends[i].side);
		if (!look_at_all(m, ends[i].offset, false))
			return false;
	}
	return true;
}

static bool look_at_middle(struct maker *m)
{
	replay_run(&m->replay, &m->classes, m->latency_ns, 0);
	for (uint32_t i = 0; i < m->n; i++) {
		struct device_look *look = &m->looks[i];
		struct replay_gauge g;

		for (int k = 0; k < VIEWS; k++) {
			if (!replay_gauge(&m->replay, i, &look->views[k].where, &g,
					  k == UNRESOLVED ? &look->pieces : NULL))
				return false;
			look->views[k].idle_ns = (double)g.idle_ns;
		}
		if (!inside_sum(&look->inside, &m->replay, i, &m->classes))
			return false;
		look->inside.low *= alone(&g);
		look->inside.middle *= alone(&g);
	}
	return true;
}

/* ---- the interval ----------------------------------------------------------------------------------- */

/* Student's t, 0.975 */
static double quantile(uint32_t degrees)
{
	static const double t[] = { 12.71, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26,
				    2.23,  2.20,  2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09 };

	return t[degrees < sizeof(t) / sizeof(t[0]) ? degrees : sizeof(t) / sizeof(t[0]) - 1];
}

/* The jackknife's, of the mean over the groups. */
static double variance(const struct view *v, uint32_t n)
{
	double mean = 0, sum = 0;

	for (uint32_t i = 0; i < n; i++)
		mean += v->groups[i] / n;
	for (uint32_t i = 0; i < n; i++)
		sum += (v->groups[i] - mean) * (v->groups[i] - mean);
	return n > 1 ? sum * (n - 1) / n : 0;
}

/* Single pieces of work differ from their class's mean by chance. */
static double own_variance(const struct maker *m, uint32_t device)
{
	double sum = 0;

	for (size_t i = 0; i < m->replay.n_steps; i++) {
		const struct replay_step *s = &m->replay.steps[i];

		if (s->work && m->replay.flows[s->flow].device == device)
			sum += m->classes.at[s->class].spread_ns * m->classes.at[s->class].spread_ns;
	}
	return sum;
}

static int64_t within(double ns, int64_t least, int64_t most)
{
	return ns <= (double)least ? least : ns >= (double)most ? most : (int64_t)(ns + 0.5);
}

static uint32_t groups_met(const struct maker *m, uint32_t device)
{
	return (uint32_t)__builtin_popcount(m->looks[device].met);
}

/* share: of the device's time that the view is about. */
static struct likely likely(const struct maker *m, uint32_t device, int view, int64_t least, int64_t most, double share)
{
	const struct view *v = &m->looks[device].views[view];
	const struct inside *in = &m->looks[device].inside;
	double idle = v->idle_ns + in->middle, chance, clock;
	struct likely l = { within(idle, least, most), least, most };

	if (!m->out->devices[device].estimate.measured)
		return l;
	chance = quantile(groups_met(m, device) - 1) * sqrt(variance(v, m->n_groups) + own_variance(m, device) * share);
	clock = fabs(v->later_ns - v->earlier_ns) / 2;
	l.low_ns = within(idle - chance - clock - fmax(0, v->idle_ns - v->longer_ns) - (in->middle - in->low), least,
			  l.ns);
	l.high_ns = within(idle + chance + clock + fmax(0, v->shorter_ns - v->idle_ns) + (in->high - in->middle), l.ns,
			   most);
	return l;
}

static void conclude(struct maker *m, uint32_t device)
{
	struct device_timeline *d = &m->out->devices[device];
	struct estimate *e = &d->estimate;
	int64_t span_ns = d->end_ns - d->begin_ns, least_ns = max64(0, d->idle_ns - d->idle_error_ns);
	int64_t most_ns = max64(least_ns, min64(span_ns, sum64(d->idle_ns + d->unresolved_ns, d->idle_error_ns)));

	e->measured = groups_met(m, device) >= FEW_BURSTS && e->bracketed >= FEW_SAMPLES;
	e->unresolved = likely(m, device, UNRESOLVED, 0, d->unresolved_ns,
			       fmin(1, (double)d->unresolved_ns / (double)max64(1, span_ns)));
	e->whole = likely(m, device, WHOLE, least_ns, most_ns, 1);
	if (!e->bracketed) {
		e->unresolved.ns = d->unresolved_ns / 2;
		e->whole.ns = middle64(least_ns, most_ns);
	}
	e->inside_ns = within(m->looks[device].inside.middle, 0, e->unresolved.ns);
}

/* Every so-manieth piece, so that what is kept is no more than can be looked at one by one. */
static void keep_pieces(struct estimate *e, struct idle_pieces *pieces, double latency_ns)
{
	size_t step = pieces->n / PIECES + 1, n = 0;

	for (size_t i = 0; i < pieces->n; i += step)
		pieces->at[n++] = pieces->at[i];
	pieces->n = n;
	e->pieces = *pieces;
	e->latency_ns = (int64_t)latency_ns;
	*pieces = (struct idle_pieces){ 0 };
}

/* ---- all together ----------------------------------------------------------------------------------- */

static bool has_flow(const struct maker *m, uint32_t device, const struct trace *t)
{
	for (size_t i = 0; i < m->replay.n_flows; i++)
		if (m->replay.flows[i].device == device && m->replay.flows[i].work->trace == t)
			return true;
	return false;
}

static bool says_bursts(const struct maker *m, size_t trace)
{
	const struct trace *t = m->out->run->traces[trace];

	return t->header.device_level == GST_LEVEL_BURSTS || t->n_bursts || m->samples[trace].n;
}

static void count_bursts(struct maker *m, uint32_t device)
{
	struct estimate *e = &m->out->devices[device].estimate;

	for (size_t i = 0; i < m->out->run->n_traces; i++) {
		const struct trace *t = m->out->run->traces[i];

		if (!has_flow(m, device, t))
			continue;
		e->made |= says_bursts(m, i);
		for (size_t k = 0; k < m->n_bursts; k++)
			e->bursts += m->bursts[k].trace == i;
		for (size_t k = 0; k < t->n_bursts; k++) {
			e->passed += t->bursts[k].passed;
			e->cost_ns = sum64(e->cost_ns, t->bursts[k].cost_ns);
		}
	}
}

static void count_works(struct maker *m)
{
	for (size_t i = 0; i < m->replay.n_steps; i++) {
		const struct replay_step *s = &m->replay.steps[i];
		struct estimate *e = &m->out->devices[m->replay.flows[s->flow].device].estimate;

		if (!s->work || s->work->hostfn)
			continue;
		e->works++;
		e->sampled_works += m->classes.at[s->class].n > 0;
	}
}

static bool make(struct maker *m, struct firing *const *firings)
{
	bool any = false;

	m->looks = array_new(m->n, sizeof(*m->looks));
	if (!m->looks || !find_samples(m, firings) || !list_bursts(m))
		return false;
	for (size_t i = 0; i < m->out->run->n_traces; i++)
		any |= says_bursts(m, i);
	if (!any)
		return true;
	if (!classes_new(&m->classes) || !replay_new(&m->replay, m->works, m->n, &m->classes, samples_of, m) ||
	    !give_samples(m))
		return false;
	count_works(m);
	for (uint32_t i = 0; i < m->n; i++) {
		count_bursts(m, i);
		if (!find_where(&m->looks[i], &m->out->devices[i], &m->works[i]))
			return false;
	}
	if ((m->n_groups && !leave_out(m)) || !look_at_ends(m) || !look_at_middle(m))
		return false;
	for (uint32_t i = 0; i < m->n; i++) {
		if (!m->out->devices[i].estimate.made)
			continue;
		conclude(m, i);
		keep_pieces(&m->out->devices[i].estimate, &m->looks[i].pieces, m->latency_ns);
	}
	return true;
}

enum err_kind estimate_build(struct timeline *out, const struct device_work *works, struct firing *const *firings,
			     struct error *e)
{
	struct maker m = { .out = out, .works = works, .n = out->n_devices };
	bool ok = make(&m, firings);

	for (size_t i = 0; m.samples && i < out->run->n_traces; i++)
		burst_samples_free(&m.samples[i]);
	for (size_t i = 0; m.looks && i < m.n; i++) {
		for (int k = 0; k < VIEWS; k++)
			intervals_free(&m.looks[i].views[k].where);
		free(m.looks[i].pieces.at);
	}
	free(m.samples);
	free(m.bursts);
	free(m.looks);
	classes_free(&m.classes);
	replay_free(&m.replay);
	return ok ? ERR_NONE : err_set(e, ERR_SYSTEM, "", ERR_NO_BYTE, "out of memory");
}

void estimate_free(struct estimate *e)
{
	free(e->pieces.at);
	*e = (struct estimate){ 0 };
}
