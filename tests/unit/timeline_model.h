/* SPDX-License-Identifier: BSD-2-Clause */
/* timeline_model.h: a small simulated machine. Processes put random work into the streams of some devices, which keep the truth; the
 * host side records what the shim would have recorded, with random slack. Devices are independent of who uses them: work of several
 * processes runs side by side. */
#pragma once

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "timeline/facts.h"
#include "timeline/timeline.h"
#include "tools/ns.h"

#define STREAMS 4
#define DEVICES 3
#define MAX 4000
#define GRAPH_NODES 5
#define PROCESSES 3
#define US 1000

struct truth {
	int64_t begin, end;
	uint32_t device; /* the physical one */
	bool host;
	int stream;
	int64_t submit;
	bool lost; /* it was to be measured and was not */
};

struct model { /* of one process */
	uint64_t rng;
	int64_t now;
	struct trace t;
	struct call calls[MAX + 1];
	struct edge edges_of[MAX + 1];
	struct poll polls[MAX + 1];
	struct usage usages[2 * MAX + 2];
	struct stream streams[STREAMS];
	struct device devices[DEVICES];
	struct thread thread;
	struct truth ops[MAX];
	size_t n_ops;
	uint32_t n_devices;
	uint32_t turn;               /* the process calls physical device d number (d + turn) % n_devices */
	int64_t stream_end[STREAMS]; /* end of the last work, waits included */
	int64_t start_after[STREAMS];
	uint64_t seq[STREAMS], marked[STREAMS];
	int64_t fired[MAX]; /* host time of each edge */
	double drift[DEVICES];
	uint32_t base[DEVICES];
	int64_t base_fired[DEVICES];
	bool edges;
	bool exact;        /* the device's work is measured; no edges then, and no polls */
	uint32_t lost;     /* of a thousand pieces of work so many are not measured after all, */
	uint32_t unlinked; /* … and so many without a call */
	struct measured measured[MAX];
	struct graph graphs[GRAPH_NODES + 1]; /* number n has n nodes, one after the other or side by side */
	struct graph_node nodes[GRAPH_NODES];
	bool legacy; /* each device's first stream is its legacy default stream, and the others block with it */
	int n_streams;
	uint64_t delay;        /* what the thread has waited for a CPU so far */
	int awaited;           /* the stream of a synchronise that is about to begin, -1 none */
	bool blind;            /* the kernel does not say so */
	int64_t held[DEVICES]; /* by edges between two pieces of work: idle time too short for any record to show */
};

/* For qsort. */
static int by_begin(const void *a, const void *b)
{
	const struct truth *x = a, *y = b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

static uint32_t random32(struct model *m)
{
	m->rng ^= m->rng << 13;
	m->rng ^= m->rng >> 7;
	m->rng ^= m->rng << 17;
	return (uint32_t)(m->rng >> 16);
}

static int64_t between(struct model *m, int64_t low, int64_t high)
{
	return low + (int64_t)(random32(m) % (uint64_t)(high - low + 1));
}

/* The physical device of a stream. */
static uint32_t device_of(const struct model *m, int s)
{
	return (uint32_t)s % m->n_devices;
}

static bool is_legacy(const struct model *m, int s)
{
	return m->legacy && (uint32_t)s < m->n_devices;
}

/* When all is over that stands before what is put into the stream now. */
static int64_t over(const struct model *m, int s)
{
	int64_t end = max64(m->stream_end[s], m->start_after[s]);

	if (!m->legacy)
		return end;
	if (!is_legacy(m, s))
		return max64(end, m->stream_end[device_of(m, s)]);
	for (int i = s; i < m->n_streams; i += (int)m->n_devices)
		end = max64(end, m->stream_end[i]);
	return end;
}

/* When a query answers "done": a stream that blocks with the legacy stream answers for what was put into it, that one for all. */
static int64_t done(const struct model *m, int s)
{
	return is_legacy(m, s) ? over(m, s) : max64(m->stream_end[s], m->start_after[s]);
}

/* ---- the host side: calls ---------------------------------------------------------------------------- */

static struct call *call(struct model *m, uint8_t family, int s, uint64_t seq, int64_t end)
{
	struct call *c = &m->t.calls[m->t.n_calls++];

	assert_true(m->t.n_calls <= MAX);
	*c = (struct call){ .begin_ns = m->now,
			    .end_ns = end,
			    .seq = seq,
			    .stream = (uint32_t)s,
			    .device = m->streams[s].device,
			    .tid = 1,
			    .family = family };
	c->byte = m->t.n_calls;
	m->now = end + between(m, 0, 300);
	return c;
}

static int64_t call_time(struct model *m)
{
	return random32(m) % 20 ? between(m, 500, 4 * US) : between(m, 5 * US, 80 * US);
}

/* The thread's accounts, which the recorder reads on either side of a wait. */
static void account(struct model *m, int64_t time)
{
	assert_true(m->t.n_usages < 2 * MAX);
	m->usages[m->t.n_usages++] =
		(struct usage){ .time_ns = time, .run_delay_ns = m->blind ? UINT64_MAX : m->delay, .tid = 1 };
}

/* When the driver is asked to wait: seldom, the thread loses its CPU before that. */
static int64_t begin_wait(struct model *m)
{
	int64_t asked = m->now + between(m, 0, 300);

	if (random32(m) % 40 == 0)
		asked += between(m, 0, 3000 * US);
	account(m, asked);
	return asked;
}

/* When the wait for what is over at `over` returns: the thread may not get a CPU for a while. */
static int64_t wake(struct model *m, int64_t over)
{
	int64_t late = random32(m) % 8 ? 0 : between(m, 0, 3000 * US);

	m->delay += (uint64_t)late;
	return over + between(m, 500, 25 * US) + late;
}

static void end_wait(struct model *m)
{
	account(m, m->now);
	m->now++;
}

/* How late an edge fires on a stream that has long been idle, because the device must wake first: less than what WAIT_PROVES allows for.
 * Only where the host then waits for it: that work is not late so is trusted. */
static int64_t slow_start(struct model *m, int s, int64_t idle)
{
	return s == m->awaited && idle > 0 && random32(m) % 4 == 0
		       ? between(m, 0, min64(idle / (WAIT_PROVES + 2), 300 * US))
		       : 0;
}

static void edge(struct model *m, int s, uint16_t kind, int64_t fires_after)
{
	struct edge *e = &m->t.edges[m->t.n_edges];
	int64_t begin = m->now, end = begin + between(m, 300, 2 * US);
	int64_t held = between(m, 0, 1500);
	int64_t slow = slow_start(m, s, begin - over(m, s));
	int64_t fires = max64(max64(begin + between(m, 200, 9 * US) + slow, over(m, s) + held), fires_after);
	uint32_t id = (uint32_t)m->t.n_edges + 1, d = device_of(m, s);
	double device, base_device;

	if (!m->edges)
		return;
	assert_true(m->t.n_edges < MAX - 1);
	*e = (struct edge){ .begin_ns = begin,
			    .end_ns = end,
			    .done_ns = INT64_MAX,
			    .covers = m->seq[s],
			    .stream = (uint32_t)s,
			    .id = id,
			    .device = m->streams[s].device,
			    .kind = kind,
			    .tid = 1 };
	m->fired[m->t.n_edges++] = fires;
	m->held[d] += held;
	if (!m->base[d]) {
		m->base[d] = id;
		m->base_fired[d] = fires;
	}
	device = floor((double)fires * (1 + m->drift[d]) / 500) * 500;
	base_device = floor((double)m->base_fired[d] * (1 + m->drift[d]) / 500) * 500;
	e->root = m->base[d];
	e->device_ns = (double)(float)((device - base_device) / 1e6) * 1e6;
	e->step_ns = 250;
	m->marked[s] = m->seq[s];
	/* the event itself holds the stream up until it has fired */
	m->stream_end[s] = max64(m->stream_end[s], fires);
	m->now = end + between(m, 0, 200);
}

/* The recorder looks at its open edges: those that have fired are seen complete now. */
static void harvest(struct model *m)
{
	for (size_t i = 0; i < m->t.n_edges; i++)
		if (m->t.edges[i].done_ns == INT64_MAX && m->fired[i] <= m->now)
			m->t.edges[i].done_ns = m->now + between(m, 0, 1 * US);
}

/* The recorder can put edges into the streams of the current context only; into the legacy stream last, and if it is awaited. */
static void mark_all(struct model *m, uint32_t device, int awaited)
{
	for (int s = 0; s < m->n_streams; s++)
		if (device_of(m, s) == device && m->seq[s] > m->marked[s] && !is_legacy(m, s))
			edge(m, s, GST_EDGE_BLOCK, 0);
	for (int s = 0; s < m->n_streams; s++)
		if (device_of(m, s) == device && m->seq[s] > m->marked[s] && is_legacy(m, s) &&
		    (awaited < 0 || awaited == s))
			edge(m, s, GST_EDGE_BLOCK, 0);
}

/* ---- the device side ---------------------------------------------------------------------------------- */

static void measure(struct model *m, struct truth *op, uint64_t node)
{
	bool unlinked = random32(m) % 1000 < m->unlinked;

	op->lost = random32(m) % 1000 < m->lost;
	if (!op->lost)
		m->measured[m->t.n_measured++] =
			(struct measured){ .begin_ns = op->begin,
					   .end_ns = op->end,
					   .seq = unlinked ? 0 : m->seq[op->stream],
					   .stream = unlinked ? GST_NONE : (uint32_t)op->stream,
					   .device = m->streams[op->stream].device,
					   .node = node,
					   .kind = GST_ACTIVITY_KERNEL };
}

static int64_t run(struct model *m, int s, int64_t submit, int64_t latest, int64_t duration, bool host)
{
	int64_t start = min64(submit + between(m, 1 * US, 9 * US), latest);

	start = max64(start, over(m, s));
	m->ops[m->n_ops++] = (struct truth){ start, start + duration, device_of(m, s), host, s, submit, false };
	if (m->exact && !host)
		measure(m, &m->ops[m->n_ops - 1], 0);
	m->stream_end[s] = start + duration;
	return start + duration;
}

static int64_t duration(struct model *m)
{
	uint32_t kind = random32(m) % 10;

	return kind < 3   ? between(m, 200, 5 * US)
	       : kind < 9 ? between(m, 5 * US, 60 * US)
			  : between(m, 100 * US, 3000 * US);
}

static bool empty(const struct model *m, int s)
{
	return over(m, s) <= m->now && m->marked[s] == m->seq[s];
}

static void launch(struct model *m, int s)
{
	int64_t entry = m->now, spent = call_time(m);
	struct call *c;

	if (m->edges && empty(m, s) && random32(m) % 2)
		edge(m, s, GST_EDGE_START, 0);
	m->seq[s]++;
	run(m, s, m->now, m->now + spent + 14 * US, duration(m), false);
	c = call(m, GST_FAMILY_LAUNCH, s, m->seq[s], m->now + spent);
	c->flags = GST_SUBMISSION;
	c->begin_ns = entry; /* the edge was recorded inside it */
}

static void graph_launch(struct model *m, int s)
{
	uint32_t n = 1 + random32(m) % GRAPH_NODES;
	int64_t spent = call_time(m), at = max64(m->now + between(m, 1 * US, 9 * US), over(m, s));
	struct call *c;

	m->seq[s]++;
	for (uint32_t i = 0; i < n; i++) {
		int64_t end = at + duration(m);

		assert_true(m->n_ops < MAX);
		m->ops[m->n_ops++] = (struct truth){ at, end, device_of(m, s), false, s, m->now, false };
		measure(m, &m->ops[m->n_ops - 1], i + 1);
		m->stream_end[s] = max64(m->stream_end[s], end);
		at = random32(m) % 2 ? between(m, at, end) : end + between(m, 0, 2 * US);
	}
	c = call(m, GST_FAMILY_GRAPH_LAUNCH, s, m->seq[s], m->now + spent);
	c->flags = GST_SUBMISSION;
	c->graph = n;
}

static void blocking_copy(struct model *m, int s)
{
	int64_t end, asked, entry = m->now;
	struct call *c;

	mark_all(m, device_of(m, s), s);
	m->seq[s]++;
	asked = begin_wait(m);
	end = run(m, s, asked, asked + 20 * US, duration(m), false);
	m->marked[s] = m->seq[s];
	c = call(m, GST_FAMILY_COPY, s, m->seq[s], wake(m, end));
	c->begin_ns = entry;
	end_wait(m);
	c->flags = GST_SUBMISSION | GST_BLOCKING;
	c->args[0] = 4096;
	harvest(m);
}

static void host_function(struct model *m, int s)
{
	if (!m->edges && !m->exact)
		return;
	edge(m, s, GST_EDGE_HOSTFN_BEFORE, 0);
	m->seq[s]++;
	run(m, s, m->now, m->now + 14 * US, between(m, 5 * US, 400 * US), true);
	call(m, GST_FAMILY_HOSTFN, s, m->seq[s], m->now + 2 * US)->flags = GST_SUBMISSION;
	edge(m, s, GST_EDGE_HOSTFN_AFTER, 0);
}

static void sync_stream(struct model *m, int s)
{
	int64_t asked, entry = m->now;

	m->awaited = s;
	mark_all(m, device_of(m, s), s);
	m->awaited = -1;
	asked = begin_wait(m);
	call(m, GST_FAMILY_SYNC_STREAM, s, m->seq[s], wake(m, max64(asked + 1 * US, over(m, s))))->begin_ns = entry;
	end_wait(m);
	harvest(m);
}

static void sync_context(struct model *m, int s)
{
	int64_t end, entry = m->now;
	struct call *c;

	mark_all(m, device_of(m, s), -1);
	end = begin_wait(m) + 1 * US;
	for (int i = 0; i < m->n_streams; i++)
		if (device_of(m, i) == device_of(m, s))
			end = max64(end, m->stream_end[i]);
	c = call(m, GST_FAMILY_SYNC_CONTEXT, s, 0, wake(m, end));
	c->stream = GST_NONE;
	c->args[0] = m->streams[s].context;
	c->begin_ns = entry;
	end_wait(m);
	harvest(m);
}

static void query_stream(struct model *m, int s)
{
	bool ready = done(m, s) <= m->now;

	call(m, GST_FAMILY_QUERY_STREAM, s, m->seq[s], m->now + 1 * US)->result = ready ? 0 : 600;
	harvest(m);
}

static void stream_wait(struct model *m, int s, int other)
{
	uint64_t event = 1 + random32(m) % 3;

	if (s == other)
		return;
	call(m, GST_FAMILY_EVENT_RECORD, other, m->seq[other], m->now + 1 * US)->args[0] = event;
	m->start_after[s] = max64(m->start_after[s], over(m, other));
	m->stream_end[s] = max64(m->stream_end[s], m->start_after[s]);
	call(m, GST_FAMILY_STREAM_WAIT, s, m->seq[s], m->now + 1 * US)->args[0] = event;
}

/* Nothing for a while: the helper polls every 200 us. */
static void silence(struct model *m, int64_t until)
{
	bool known[STREAMS] = { false };

	while (m->now + 205 * US < until) {
		m->now += 200 * US;
		for (int s = 0; s < m->n_streams; s++) {
			struct poll *p = &m->t.polls[m->t.n_polls];

			if (m->exact || known[s] || m->seq[s] == 0 || m->t.n_polls + 1 >= MAX)
				continue;
			known[s] = done(m, s) <= m->now;
			*p = (struct poll){ m->now, m->now + 800, m->seq[s], (uint32_t)s, known[s] };
			m->t.n_polls++;
			m->now += 800;
		}
		harvest(m);
	}
	m->now = max64(m->now, until);
}

static void step(struct model *m)
{
	int s = (int)(random32(m) % (uint32_t)m->n_streams);

	switch (random32(m) % 17) {
	case 0:
	case 1:
		sync_stream(m, s);
		break;
	case 2:
		blocking_copy(m, s);
		break;
	case 3:
		host_function(m, s);
		break;
	case 4:
		query_stream(m, s);
		break;
	case 5:
		stream_wait(m, s, (int)(random32(m) % (uint32_t)m->n_streams));
		break;
	case 6:
		silence(m, m->now + between(m, 0, 3000 * US));
		break;
	case 7:
		m->now += between(m, 0, 150 * US);
		break;
	case 8:
		sync_context(m, s);
		break;
	default:
		if (m->exact && random32(m) % 6 == 0)
			graph_launch(m, s);
		else
			launch(m, s);
		break;
	}
}

/* ---- a whole run -------------------------------------------------------------------------------------- */

static void begin(struct model *m, uint64_t seed, uint32_t process, uint32_t n_devices, bool legacy, bool exact)
{
	memset(m, 0, sizeof(*m));
	m->rng = (seed + process * 1000003) * 0x9e3779b97f4a7c15u + 1;
	m->now = 1000000 * US;
	m->exact = exact;
	m->edges = !exact && seed % 4 != 0;
	m->blind = seed % 7 == 3;
	m->awaited = -1;
	m->n_devices = n_devices;
	m->legacy = legacy;
	m->turn = process;
	m->n_streams = 1 + (int)((seed + process) % STREAMS);
	m->t.calls = m->calls;
	m->t.edges = m->edges_of;
	m->t.polls = m->polls;
	m->t.usages = m->usages;
	m->t.streams = m->streams;
	m->t.n_streams = (size_t)m->n_streams;
	m->t.devices = m->devices;
	m->t.n_devices = n_devices;
	m->thread.tid = 1;
	m->t.threads = &m->thread;
	m->t.n_threads = 1;
	m->t.path = (char[]){ "model" };
	m->t.graphs = m->graphs;
	m->t.n_graphs = GRAPH_NODES + 1;
	for (uint32_t n = 1; n <= GRAPH_NODES; n++) {
		m->nodes[n - 1] = (struct graph_node){ .node = n };
		m->graphs[n] = (struct graph){
			.id = n, .counted = true, .whole = true, .work = n, .levels = n, .nodes = m->nodes, .n = n
		};
	}
	m->t.measured = m->measured;
	m->t.measured_from_ns = INT64_MIN;
	m->t.measured_until_ns = exact ? INT64_MAX : INT64_MIN;
	m->t.header.device_level = exact ? GST_LEVEL_CUPTI : m->edges ? GST_LEVEL_EDGES : GST_LEVEL_HOST;
	for (uint32_t d = 0; d < n_devices; d++) {
		m->drift[d] = (double)between(m, -60, 60) * 1e-6;
		m->devices[d] = (struct device){ .device = (d + process) % n_devices, .uuid = { (uint8_t)(d + 1) } };
	}
	for (int s = 0; s < STREAMS; s++)
		m->streams[s] = (struct stream){ .id = (uint32_t)s + 1,
						 .flags = legacy ? 0 : 1,
						 .kind = is_legacy(m, s) ? GST_STREAM_LEGACY : GST_STREAM_CREATED,
						 .device = (uint16_t)((device_of(m, s) + process) % n_devices),
						 .context = 7 + device_of(m, s) };
	m->t.begin_ns = m->now;
	m->now += process ? between(m, 0, 3000 * US) : 0;
}

static int measured_order(const void *a, const void *b)
{
	const struct measured *x = a, *y = b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

static void play(struct model *m, uint64_t seed)
{
	size_t steps = 1 + random32(m) % 120;

	for (size_t i = 0; i < steps; i++)
		step(m);
	for (int s = 0; s < m->n_streams && seed % 3; s++)
		sync_stream(m, s);
	for (int s = 0; s < m->n_streams; s++)
		m->now = max64(m->now, m->stream_end[s]);
	harvest(m);
	qsort(m->measured, m->t.n_measured, sizeof(m->measured[0]), measured_order);
	m->t.end_ns = m->now + 2 * US;
}
