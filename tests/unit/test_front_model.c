/* SPDX-License-Identifier: BSD-2-Clause */
/* Recordings of the model (timeline_model.h) whose beginning is given up at a random instant, as the recorder does it: records written
 * by then are gone or not. What is claimed of the rest must be true of the whole: no gap where work ran, the sums, the bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "timeline_runs.h"
#include "trace/front.h"

#define LISTS 8

/* ---- giving up the beginning -------------------------------------------------------------------------- */

/* Of what was written by then, some is there still: of threads that write little. */
static bool goes(struct model *m, int64_t written_ns, int64_t from_ns, unsigned one_in)
{
	return written_ns <= from_ns && (one_in == 0 || random32(m) % one_in != 0);
}

static void give_up(struct model *m, int64_t from_ns)
{
	struct trace *t = &m->t;
	unsigned one_in = random32(m) % 3;
	size_t n = 0;

	for (size_t i = 0; i < t->n_calls; i++)
		if (!goes(m, t->calls[i].end_ns, from_ns, one_in))
			t->calls[n++] = t->calls[i];
	t->n_calls = n;
	n = 0;
	for (size_t i = 0; i < t->n_edges; i++)
		if (!goes(m, t->edges[i].done_ns, from_ns, one_in))
			t->edges[n++] = t->edges[i];
	t->n_edges = n;
	n = 0;
	for (size_t i = 0; i < t->n_polls; i++)
		if (!goes(m, t->polls[i].end_ns, from_ns, one_in))
			t->polls[n++] = t->polls[i];
	t->n_polls = n;
	t->recycled = true;
}

static bool is_busy(const struct model *m, int s, int64_t at_ns)
{
	for (size_t i = 0; i < m->n_ops; i++)
		if (m->ops[i].stream == s && m->ops[i].submit < at_ns && m->ops[i].end > at_ns)
			return true;
	return false;
}

/* What the recorder says at the begin of each segment. It may take a stream for busy that is not, for it has not looked yet. */
static void list_busy(struct model *m, int64_t from_ns, struct busy_list lists[LISTS],
		      uint32_t streams[LISTS * STREAMS])
{
	size_t n = random32(m) % (LISTS + 1);
	int64_t at_ns = from_ns;

	m->t.busy = lists;
	m->t.busy_streams = streams;
	for (size_t i = 0; i < n; i++) {
		at_ns += between(m, 0, 2000 * US);
		lists[i] = (struct busy_list){ .time_ns = at_ns,
					       .first = m->t.n_busy_streams,
					       .open = random32(m) % 8 == 0 };
		for (int s = 0; s < m->n_streams; s++)
			if (is_busy(m, s, at_ns) || random32(m) % 4 == 0)
				streams[m->t.n_busy_streams++] = (uint32_t)s;
		lists[i].n = m->t.n_busy_streams - lists[i].first;
		m->t.n_busy++;
	}
}

/* ---- what must hold ------------------------------------------------------------------------------------ */

static void check_sums(const struct device_timeline *d)
{
	int64_t sum = d->compute_ns + d->comm_ns + d->memset_ns, idle = 0, at = d->begin_ns;

	for (int i = 0; i < 8; i++)
		sum += d->copy_ns[i];
	for (size_t i = 0; i < d->n_gaps; i++) {
		assert_true(d->gaps[i].begin_ns >= at && d->gaps[i].end_ns >= d->gaps[i].begin_ns);
		assert_true(d->gaps[i].begin_error_ns >= 0 && d->gaps[i].end_error_ns >= 0);
		at = d->gaps[i].end_ns;
		idle += at - d->gaps[i].begin_ns;
	}
	assert_true(at <= d->end_ns);
	assert_int_equal(idle, d->idle_ns);
	assert_int_equal(sum + idle, d->end_ns - d->begin_ns);
}

/* The device's true work after from_ns, of all processes, merged. */
static size_t busy_after(struct truth *busy, const struct model *models, size_t n_models, uint32_t device,
			 int64_t from_ns)
{
	size_t n = 0, kept = 0;

	for (size_t k = 0; k < n_models; k++)
		for (size_t i = 0; i < models[k].n_ops; i++)
			if (!models[k].ops[i].host && models[k].ops[i].device == device &&
			    models[k].ops[i].end > from_ns)
				busy[n++] = models[k].ops[i];
	qsort(busy, n, sizeof(*busy), by_begin);
	for (size_t i = 0; i < n; i++) {
		busy[i].begin = max64(busy[i].begin, from_ns);
		if (kept && busy[i].begin <= busy[kept - 1].end)
			busy[kept - 1].end = max64(busy[kept - 1].end, busy[i].end);
		else
			busy[kept++] = busy[i];
	}
	return kept;
}

static bool check_device(const struct device_timeline *d, const struct model *models, size_t n_models, uint64_t seed,
			 struct totals *sum)
{
	static struct truth busy[PROCESSES * MAX];
	uint32_t device = d->device.uuid[0] - 1u;
	size_t n = busy_after(busy, models, n_models, device, d->begin_ns), k = 0;
	int64_t idle = 0, lead, held = 0;
	bool ok = true;

	check_sums(d);
	if (!d->operations)
		return true; /* host functions alone: no time of the device at all */
	for (size_t i = 0; i < n_models; i++)
		held += models[i].held[device];
	for (size_t i = 1; i < n; i++)
		idle += busy[i].begin - busy[i - 1].end;
	lead = n ? busy[0].begin - d->begin_ns : 0; /* the first work known may begin a little after the span does */
	if (n && (idle + lead < d->idle_ns - d->idle_error_ns ||
		  idle > d->idle_ns + d->idle_error_ns + d->unresolved_ns + held)) {
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
			print_message("seed %llu: gap [%lld, %lld] holds work [%lld, %lld]\n", (unsigned long long)seed,
				      (long long)begin, (long long)end, (long long)busy[k].begin,
				      (long long)busy[k].end);
			ok = false;
		}
	}
	totals_add(sum, d);
	return ok;
}

static int64_t cut_all(struct model *models, struct trace **traces, size_t n)
{
	static struct busy_list lists[PROCESSES][LISTS];
	static uint32_t streams[PROCESSES][LISTS * STREAMS];
	int64_t latest = 0;

	for (size_t k = 0; k < n; k++) {
		struct model *m = &models[k];
		int64_t from_ns = between(m, m->t.begin_ns, m->t.end_ns);

		traces[k] = &m->t;
		if (k && random32(m) % 3 == 0)
			continue; /* this one is whole */
		give_up(m, from_ns);
		list_busy(m, from_ns, lists[k], streams[k]);
		assert_true(front_cut(&m->t, from_ns));
		latest = max64(latest, from_ns);
	}
	assert_true(front_align(traces, n));
	return latest;
}

static bool one(uint64_t seed, size_t n_processes, uint32_t n_devices, bool legacy, struct totals *sum)
{
	static struct model models[PROCESSES];
	struct trace *traces[PROCESSES];
	struct run r = { .traces = traces, .n_traces = n_processes, .count = 1 };
	struct timeline tl;
	struct error e;
	bool ok = true;
	int64_t latest;

	for (size_t k = 0; k < n_processes; k++) {
		begin(&models[k], seed, (uint32_t)k, n_devices, legacy, false);
		play(&models[k], seed);
	}
	latest = cut_all(models, traces, n_processes);
	for (size_t k = 0; k < n_processes; k++) /* all of them have all devices */
		assert_int_equal(models[k].t.from_ns, latest);
	assert_int_equal(timeline_build(&tl, &r, &e), ERR_NONE);
	for (size_t i = 0; i < tl.n_devices; i++)
		ok &= check_device(&tl.devices[i], models, n_processes, seed, sum);
	timeline_free(&tl);
	for (size_t k = 0; k < n_processes; k++)
		free(models[k].t.carried);
	return ok;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MODEL_TESTS,
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
