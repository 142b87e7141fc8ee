/* SPDX-License-Identifier: BSD-2-Clause */
#include "estimate_maker.h"

#include "tools/alloc.h"
#include "tools/ns.h"

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

			m->bursts[n++] = (struct numbered){ i, edge->burst, edge->begin_ns, GST_NONE };
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

static bool burst_before(const void *element, const void *key)
{
	return by_trace_and_number(element, key) < 0;
}

/* Its place in the list, or the next one's; n_bursts beyond the last. */
static size_t burst_index(const struct maker *m, size_t trace, uint32_t number)
{
	const struct numbered key = { .trace = trace, .number = number, .begin_ns = INT64_MIN };

	return array_first(m->bursts, m->n_bursts, sizeof(key), burst_before, &key);
}

static size_t trace_index(const struct maker *m, const struct trace *t)
{
	size_t i = 0;

	while (m->out->run->traces[i] != t)
		i++;
	return i;
}

const struct burst_samples *estimate_samples_of(const void *arg, const struct trace *t)
{
	const struct maker *m = arg;

	return &m->samples[trace_index(m, t)];
}

bool estimate_find_bursts(struct maker *m, struct firing *const *firings)
{
	return find_samples(m, firings) && list_bursts(m);
}

/* ---- which met what --------------------------------------------------------------------------------- */

static bool give_sample(struct maker *m, const struct replay_step *step)
{
	const struct stream_work *w = m->replay.flows[step->flow].work;
	uint32_t device = m->replay.flows[step->flow].device, group;
	const struct burst_sample *s;
	size_t trace, burst;

	if (!step->work || step->class == CLASS_UNKNOWN || w->stream == GST_NONE)
		return true;
	trace = trace_index(m, w->trace);
	s = burst_samples_get(&m->samples[trace], w->stream, step->work->call->seq);
	if (!s)
		return true;
	burst = burst_index(m, trace, s->after->burst);
	group = (uint32_t)(burst % m->n_groups);
	if (!classes_add_sample(&m->classes, step->class, group, s) ||
	    !array_room(m->meetings, m->n_meetings, m->cap_meetings))
		return false;
	m->meetings[m->n_meetings++] = (struct meeting){ burst, device };
	m->looks[device].met |= 1u << group;
	m->out->devices[device].estimate.bracketed++;
	return true;
}

static int by_burst(const void *a, const void *b)
{
	const struct meeting *x = a, *y = b;

	if (x->burst != y->burst)
		return x->burst < y->burst ? -1 : 1;
	return (x->device > y->device) - (x->device < y->device);
}

/* A burst counts on each device that it has samples of. */
static void count_meetings(struct maker *m)
{
	array_sort(m->meetings, m->n_meetings, sizeof(*m->meetings), by_burst);
	for (size_t i = 0; i < m->n_meetings; i++) {
		const struct meeting *at = &m->meetings[i];
		struct numbered *burst = &m->bursts[at->burst];

		if (i && by_burst(at, at - 1) == 0)
			continue;
		m->out->devices[at->device].estimate.bursts++;
		if (burst->device == GST_NONE)
			burst->device = at->device;
	}
}

static bool has_flow(const struct maker *m, uint32_t device, const struct trace *t)
{
	for (size_t i = 0; i < m->replay.n_flows; i++)
		if (m->replay.flows[i].device == device && m->replay.flows[i].work->trace == t)
			return true;
	return false;
}

bool estimate_says_bursts(const struct maker *m, size_t trace)
{
	const struct trace *t = m->out->run->traces[trace];

	return t->header.device_level == GST_LEVEL_BURSTS || t->n_bursts || m->samples[trace].n;
}

/* What bursts cost and passed counts once: on the first device that they have samples of; where none brought any, on the process's first. */
static void count_costs(struct maker *m, size_t trace, uint32_t first_device)
{
	const struct trace *t = m->out->run->traces[trace];

	for (size_t i = 0; i < t->n_bursts; i++) {
		const struct burst *b = &t->bursts[i];
		size_t at = burst_index(m, trace, b->number);
		bool listed = at < m->n_bursts && m->bursts[at].trace == trace && m->bursts[at].number == b->number;
		uint32_t device = listed && m->bursts[at].device != GST_NONE ? m->bursts[at].device : first_device;
		struct estimate *e = &m->out->devices[device].estimate;

		e->passed += b->passed;
		e->cost_ns = sum64(e->cost_ns, b->cost_ns);
	}
}

static void count_bursts(struct maker *m)
{
	count_meetings(m);
	for (size_t i = 0; i < m->out->run->n_traces; i++) {
		uint32_t first_device = GST_NONE;

		for (uint32_t k = 0; estimate_says_bursts(m, i) && k < m->n; k++)
			if (has_flow(m, k, m->out->run->traces[i])) {
				m->out->devices[k].estimate.made = true;
				first_device = first_device == GST_NONE ? k : first_device;
			}
		if (first_device != GST_NONE)
			count_costs(m, i, first_device);
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

bool estimate_give_samples(struct maker *m)
{
	for (size_t i = 0; i < m->replay.n_steps; i++)
		if (!give_sample(m, &m->replay.steps[i]))
			return false;
	classes_sort(&m->classes);
	count_works(m);
	count_bursts(m);
	return true;
}
