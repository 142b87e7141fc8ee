/* SPDX-License-Identifier: BSD-2-Clause */
/* The timeline against a model: a small simulated device runs random work and keeps the truth; the host side records what the
 * shim would have recorded, with random slack. For every seed the three soundness statements and the sums must hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timeline.h"

#define STREAMS 4
#define MAX 4000
#define US 1000
#ifndef LAST_SEED
#define LAST_SEED 4000
#endif

struct truth {
	int64_t begin, end;
	bool host;
};

struct model {
	uint64_t rng;
	int64_t now;
	struct trace t;
	struct truth ops[MAX];
	size_t n_ops;
	int64_t stream_end[STREAMS]; /* end of the last work, waits included */
	int64_t start_after[STREAMS];
	uint64_t seq[STREAMS], marked[STREAMS];
	int64_t open_edges[MAX];
	int64_t fired[MAX]; /* host time of each edge */
	double drift;
	uint32_t base;
	int64_t base_fired;
	bool edges;
	int n_streams;
	int64_t held; /* by edges between two pieces of work: idle time too short for any record to show */
};

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

static int64_t max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* ---- the host side: calls ---------------------------------------------------------------------------- */

static struct call *call(struct model *m, uint8_t family, int s, uint64_t seq, int64_t end)
{
	struct call *c = &m->t.calls[m->t.n_calls++];

	assert_true(m->t.n_calls <= MAX);
	*c = (struct call){
		.begin_ns = m->now, .end_ns = end, .seq = seq, .stream = (uint32_t)s, .tid = 1, .family = family
	};
	c->byte = m->t.n_calls;
	m->now = end + between(m, 0, 300);
	return c;
}

static int64_t call_time(struct model *m)
{
	return random32(m) % 20 ? between(m, 500, 4 * US) : between(m, 5 * US, 80 * US);
}

static void edge(struct model *m, int s, uint16_t kind, int64_t fires_after)
{
	struct edge *e = &m->t.edges[m->t.n_edges];
	int64_t begin = m->now, end = begin + between(m, 300, 2 * US);
	int64_t held = between(m, 0, 1500);
	int64_t fires = max64(max64(begin + between(m, 200, 9 * US), m->stream_end[s] + held), fires_after);
	uint32_t id = (uint32_t)m->t.n_edges + 1;
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
			    .kind = kind };
	m->fired[m->t.n_edges++] = fires;
	m->held += held;
	if (!m->base) {
		m->base = id;
		m->base_fired = fires;
	}
	device = floor((double)fires * (1 + m->drift) / 500) * 500;
	base_device = floor((double)m->base_fired * (1 + m->drift) / 500) * 500;
	e->root = m->base;
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

static void mark_all(struct model *m)
{
	for (int s = 0; s < m->n_streams; s++)
		if (m->seq[s] > m->marked[s])
			edge(m, s, GST_EDGE_BLOCK, 0);
}

/* ---- the device side ---------------------------------------------------------------------------------- */

static int64_t run(struct model *m, int s, int64_t submit, int64_t latest, int64_t duration, bool host)
{
	int64_t start = min64(submit + between(m, 1 * US, 9 * US), latest);

	start = max64(max64(start, m->stream_end[s]), m->start_after[s]);
	m->ops[m->n_ops++] = (struct truth){ start, start + duration, host };
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
	return m->stream_end[s] <= m->now && m->marked[s] == m->seq[s];
}

static void launch(struct model *m, int s)
{
	int64_t spent = call_time(m);

	if (m->edges && empty(m, s) && random32(m) % 2)
		edge(m, s, GST_EDGE_START, 0);
	m->seq[s]++;
	run(m, s, m->now, m->now + spent + 14 * US, duration(m), false);
	call(m, GST_FAMILY_LAUNCH, s, m->seq[s], m->now + spent)->flags = GST_SUBMISSION;
}

static void blocking_copy(struct model *m, int s)
{
	int64_t end;
	struct call *c;

	mark_all(m);
	m->seq[s]++;
	end = run(m, s, m->now, m->now + 20 * US, duration(m), false);
	m->marked[s] = m->seq[s];
	c = call(m, GST_FAMILY_COPY, s, m->seq[s], end + between(m, 500, 25 * US));
	c->flags = GST_SUBMISSION | GST_BLOCKING;
	c->args[0] = 4096;
	harvest(m);
}

static void host_function(struct model *m, int s)
{
	if (!m->edges)
		return;
	edge(m, s, GST_EDGE_HOSTFN_BEFORE, 0);
	m->seq[s]++;
	run(m, s, m->now, m->now + 14 * US, between(m, 5 * US, 400 * US), true);
	call(m, GST_FAMILY_HOSTFN, s, m->seq[s], m->now + 2 * US)->flags = GST_SUBMISSION;
	edge(m, s, GST_EDGE_HOSTFN_AFTER, 0);
}

static void sync_stream(struct model *m, int s)
{
	mark_all(m);
	call(m, GST_FAMILY_SYNC_STREAM, s, m->seq[s],
	     max64(m->now + 1 * US, m->stream_end[s]) + between(m, 500, 25 * US));
	harvest(m);
}

static void query_stream(struct model *m, int s)
{
	bool ready = m->stream_end[s] <= m->now;

	call(m, GST_FAMILY_QUERY_STREAM, s, m->seq[s], m->now + 1 * US)->result = ready ? 0 : 600;
	harvest(m);
}

static void stream_wait(struct model *m, int s, int other)
{
	if (s == other)
		return;
	m->start_after[s] = max64(m->start_after[s], m->stream_end[other]);
	m->stream_end[s] = max64(m->stream_end[s], m->start_after[s]);
	call(m, GST_FAMILY_STREAM_WAIT, s, m->seq[s], m->now + 1 * US);
}

/* Nothing for a while: the helper polls every 200 us. */
static void silence(struct model *m, int64_t until)
{
	bool known[STREAMS] = { false };

	while (m->now + 205 * US < until) {
		m->now += 200 * US;
		for (int s = 0; s < m->n_streams; s++) {
			struct poll *p = &m->t.polls[m->t.n_polls];

			if (known[s] || m->seq[s] == 0 || m->t.n_polls + 1 >= MAX)
				continue;
			known[s] = m->stream_end[s] <= m->now;
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

	switch (random32(m) % 16) {
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
	default:
		launch(m, s);
		break;
	}
}

/* ---- what must hold ----------------------------------------------------------------------------------- */

static int by_begin(const void *a, const void *b)
{
	const struct truth *x = a, *y = b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Only device work, merged. */
static size_t merge_truth(struct model *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n_ops; i++)
		if (!m->ops[i].host)
			m->ops[n++] = m->ops[i];
	qsort(m->ops, n, sizeof(m->ops[0]), by_begin);
	m->n_ops = n;
	n = 0;
	for (size_t i = 0; i < m->n_ops; i++) {
		if (n && m->ops[i].begin <= m->ops[n - 1].end)
			m->ops[n - 1].end = max64(m->ops[n - 1].end, m->ops[i].end);
		else
			m->ops[n++] = m->ops[i];
	}
	return n;
}

static void check_sums(const struct device_timeline *d, uint64_t seed)
{
	int64_t sum = d->compute_ns + d->comm_ns + d->memset_ns, idle = 0, unresolved = 0, at = d->begin_ns;

	for (int i = 0; i < 8; i++)
		sum += d->copy_ns[i];
	for (size_t i = 0; i < d->n_gaps; i++) {
		const struct gap *g = &d->gaps[i];

		if (g->begin_ns < at || g->end_ns > d->end_ns)
			print_message("seed %llu: gap %zu out of order\n", (unsigned long long)seed, i);
		assert_true(g->begin_ns >= at && g->end_ns >= g->begin_ns && g->end_ns <= d->end_ns);
		assert_true(g->begin_error_ns >= 0 && g->end_error_ns >= 0);
		idle += g->end_ns - g->begin_ns;
		at = g->end_ns;
	}
	assert_int_equal(idle, d->idle_ns);
	assert_int_equal(sum + idle, d->end_ns - d->begin_ns);
	at = d->begin_ns;
	for (size_t i = 0; i < d->n_unresolved; i++) {
		assert_true(d->unresolved[i].begin_ns >= at && d->unresolved[i].end_ns <= d->end_ns);
		at = d->unresolved[i].end_ns;
		unresolved += d->unresolved[i].end_ns - d->unresolved[i].begin_ns;
	}
	assert_int_equal(unresolved, d->unresolved_ns);
	for (size_t i = 0; i < d->n_ops; i++)
		assert_true(d->ops[i].begin_ns <= d->ops[i].end_ns);
}

/* Where a gap is claimed in a long idle time, its ends are where it says they are. */
static bool check_ends(const struct device_timeline *d, const struct truth *busy, size_t n, uint64_t seed)
{
	size_t k = 0;

	for (size_t i = 1; i < n; i++) {
		int64_t begin = busy[i - 1].end, end = busy[i].begin;
		const struct gap *g;

		if (end - begin < 1000 * US)
			continue;
		while (k < d->n_gaps && d->gaps[k].end_ns < begin + (end - begin) / 2)
			k++;
		g = &d->gaps[k];
		/* none there: work that nothing waited for may have run until later, and the sums say so */
		if (k == d->n_gaps || g->begin_ns > end ||
		    g->begin_ns + g->begin_error_ns >= g->end_ns - g->end_error_ns)
			continue;
		if (llabs(g->begin_ns - begin) <= g->begin_error_ns && llabs(g->end_ns - end) <= g->end_error_ns)
			continue;
		print_message("seed %llu: idle [%lld, %lld] is not where a gap says\n", (unsigned long long)seed,
			      (long long)begin, (long long)end);
		return false;
	}
	return true;
}

static bool check_truth(const struct device_timeline *d, const struct truth *busy, size_t n, int64_t held,
			uint64_t seed)
{
	int64_t idle = 0;
	bool ok = true;
	size_t k = 0;

	for (size_t i = 1; i < n; i++)
		idle += busy[i].begin - busy[i - 1].end;
	if (idle < d->idle_ns - d->idle_error_ns || idle > d->idle_ns + d->idle_error_ns + d->unresolved_ns + held) {
		print_message("seed %llu: true idle %lld not in %lld ± %lld + %lld\n", (unsigned long long)seed,
			      (long long)idle, (long long)d->idle_ns, (long long)d->idle_error_ns,
			      (long long)d->unresolved_ns);
		ok = false;
	}
	for (size_t i = 0; i < d->n_gaps; i++) {
		int64_t begin = d->gaps[i].begin_ns + d->gaps[i].begin_error_ns;
		int64_t end = d->gaps[i].end_ns - d->gaps[i].end_error_ns;

		while (k < n && busy[k].end <= begin)
			k++;
		if (begin < end && k < n && busy[k].begin < end) {
			print_message("seed %llu: gap %zu [%lld, %lld] holds work [%lld, %lld]\n",
				      (unsigned long long)seed, i, (long long)begin, (long long)end,
				      (long long)busy[k].begin, (long long)busy[k].end);
			ok = false;
		}
	}
	return ok && check_ends(d, busy, n, seed);
}

/* How wide the answer is, over all seeds: a bound that is always right because it says nothing is no answer. */
struct width {
	int64_t span, idle, error, unresolved;
};

static void dump(const struct model *m, const struct device_timeline *d, size_t n)
{
	int64_t zero = m->t.begin_ns;

	for (size_t i = 0; i < m->t.n_calls; i++)
		print_message("call %lld..%lld family %u stream %u seq %llu result %d\n",
			      (long long)(m->t.calls[i].begin_ns - zero), (long long)(m->t.calls[i].end_ns - zero),
			      m->t.calls[i].family, m->t.calls[i].stream, (unsigned long long)m->t.calls[i].seq,
			      m->t.calls[i].result);
	for (size_t i = 0; i < m->t.n_edges; i++)
		print_message("edge %lld..%lld fired %lld stream %u covers %llu\n",
			      (long long)(m->t.edges[i].begin_ns - zero), (long long)(m->t.edges[i].end_ns - zero),
			      (long long)(m->fired[i] - zero), m->t.edges[i].stream,
			      (unsigned long long)m->t.edges[i].covers);
	for (size_t i = 0; i < n; i++)
		print_message("busy %lld..%lld\n", (long long)(m->ops[i].begin - zero),
			      (long long)(m->ops[i].end - zero));
	for (size_t i = 0; i < d->n_gaps; i++)
		print_message("gap %lld..%lld ± %lld, %lld\n", (long long)(d->gaps[i].begin_ns - zero),
			      (long long)(d->gaps[i].end_ns - zero), (long long)d->gaps[i].begin_error_ns,
			      (long long)d->gaps[i].end_error_ns);
	for (size_t i = 0; i < d->n_unresolved; i++)
		print_message("unresolved %lld..%lld\n", (long long)(d->unresolved[i].begin_ns - zero),
			      (long long)(d->unresolved[i].end_ns - zero));
	print_message("span %lld..%lld\n", (long long)(d->begin_ns - zero), (long long)(d->end_ns - zero));
}

static bool one(uint64_t seed, struct width *sum)
{
	static struct model m;
	static struct call calls[MAX + 1];
	static struct edge edges[MAX + 1];
	static struct poll polls[MAX + 1];
	struct stream streams[STREAMS];
	struct trace *traces[1] = { &m.t };
	struct run r = { .traces = traces, .n_traces = 1, .count = 1 };
	struct timeline tl;
	struct error e;
	size_t steps, n;
	bool ok = true;

	memset(&m, 0, sizeof(m));
	m.rng = seed * 0x9e3779b97f4a7c15u + 1;
	m.now = 1000000 * US;
	m.edges = seed % 4 != 0;
	m.n_streams = 1 + (int)(seed % STREAMS);
	m.drift = (double)between(&m, -60, 60) * 1e-6;
	m.t.calls = calls;
	m.t.edges = edges;
	m.t.polls = polls;
	m.t.streams = streams;
	m.t.n_streams = (size_t)m.n_streams;
	m.t.path = (char[]){ "model" };
	m.t.begin_ns = m.now;
	m.t.header.device_level = m.edges ? GST_LEVEL_EDGES : GST_LEVEL_HOST;
	memset(streams, 0, sizeof(streams));
	for (int s = 0; s < STREAMS; s++)
		streams[s] = (struct stream){ .id = (uint32_t)s + 1, .flags = 1, .context = 7 };
	steps = 1 + random32(&m) % 120;
	for (size_t i = 0; i < steps; i++)
		step(&m);
	for (int s = 0; s < m.n_streams && seed % 3; s++)
		sync_stream(&m, s);
	for (int s = 0; s < m.n_streams; s++)
		m.now = max64(m.now, m.stream_end[s]);
	harvest(&m);
	m.t.end_ns = m.now + 2 * US;
	assert_int_equal(timeline_build(&tl, &r, &e), ERR_NONE);
	n = merge_truth(&m);
	assert_int_equal(tl.n_devices, n || m.n_ops ? 1 : tl.n_devices);
	if (tl.n_devices && n) {
		const struct device_timeline *d = &tl.devices[0];

		if (getenv("SEED"))
			dump(&m, d, n);

		check_sums(d, seed);
		ok = check_truth(d, m.ops, n, m.held, seed);
		sum->span += d->end_ns - d->begin_ns;
		sum->idle += d->idle_ns;
		sum->error += d->idle_error_ns;
		sum->unresolved += d->unresolved_ns;
	}
	timeline_free(&tl);
	return ok;
}

static void random_work_is_bounded_soundly(void **state)
{
	const char *only = getenv("SEED");
	uint64_t first = only ? strtoull(only, NULL, 10) : 1, last = only ? first : LAST_SEED;
	struct width sum = { 0 };
	size_t failed = 0;

	(void)state;
	for (uint64_t seed = first; seed <= last; seed++)
		failed += !one(seed, &sum);
	print_message("idle %.1f%%, error %.2f%%, unresolved %.2f%% of the span; %zu seeds failed\n",
		      100.0 * (double)sum.idle / (double)sum.span, 100.0 * (double)sum.error / (double)sum.span,
		      100.0 * (double)sum.unresolved / (double)sum.span, failed);
	assert_int_equal(failed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_work_is_bounded_soundly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
