/* SPDX-License-Identifier: BSD-2-Clause */
/* The timeline against a model (timeline_model.h). For every seed the three soundness statements and the sums must hold, on each device,
 * over all processes that use it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "timeline_runs.h"
#include "timeline_truth.h"

/* ---- what must hold ----------------------------------------------------------------------------------- */

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
		/* none there, but for what its errors cover: work that nothing waited for may have run until later, and the sums
		 * say so */
		if (k == d->n_gaps ||
		    max64(g->begin_ns + g->begin_error_ns, begin) >= min64(g->end_ns - g->end_error_ns, end))
			continue;
		/* one idle time told as two gaps, the first of which errors may undo */
		if (k > 0 && g[-1].end_ns + g[-1].end_error_ns >= g->begin_ns - 2 * g->begin_error_ns)
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
static void dump_process(const struct model *m)
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
}

static void dump_device(const struct device_timeline *d, const struct busy *busy, int64_t zero)
{
	print_message("device %u\n", d->device.uuid[0] - 1u);
	for (size_t i = 0; i < busy->n; i++)
		print_message("busy %lld..%lld\n", (long long)(busy->at[i].begin - zero),
			      (long long)(busy->at[i].end - zero));
	for (size_t i = 0; i < d->n_gaps; i++)
		print_message("gap %lld..%lld ± %lld, %lld\n", (long long)(d->gaps[i].begin_ns - zero),
			      (long long)(d->gaps[i].end_ns - zero), (long long)d->gaps[i].begin_error_ns,
			      (long long)d->gaps[i].end_error_ns);
	for (size_t i = 0; i < d->n_unresolved; i++)
		print_message("unresolved %lld..%lld\n", (long long)(d->unresolved[i].begin_ns - zero),
			      (long long)(d->unresolved[i].end_ns - zero));
	print_message("span %lld..%lld\n", (long long)(d->begin_ns - zero), (long long)(d->end_ns - zero));
}

static bool check_device(const struct device_timeline *d, const struct model *models, size_t n, uint64_t seed,
			 struct totals *sum)
{
	static struct busy busy;

	merge_truth(&busy, models, n, d->device.uuid[0] - 1u);
	if (!busy.n)
		return true;
	if (getenv("SEED"))
		dump_device(d, &busy, models[0].t.begin_ns);
	check_sums(d, seed);
	totals_add(sum, d);
	return check_truth(d, busy.at, busy.n, busy.held, seed);
}

/* How many devices have been given work. */
static size_t devices_used(const struct model *models, size_t n)
{
	bool used[DEVICES] = { false };
	size_t total = 0;

	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < models[k].n_ops; i++)
			used[models[k].ops[i].device] = true;
	for (size_t d = 0; d < DEVICES; d++)
		total += used[d];
	return total;
}

static bool one(uint64_t seed, size_t n_processes, uint32_t n_devices, bool legacy, struct totals *sum)
{
	static struct model models[PROCESSES];
	struct trace *traces[PROCESSES];
	struct run r = { .traces = traces, .n_traces = n_processes, .count = 1 };
	struct timeline tl;
	struct error e;
	bool ok = true;

	for (size_t k = 0; k < n_processes; k++) {
		begin(&models[k], seed, (uint32_t)k, n_devices, legacy, false);
		play(&models[k], seed);
		traces[k] = &models[k].t;
		if (getenv("SEED"))
			dump_process(&models[k]);
	}
	assert_int_equal(timeline_build(&tl, &r, &e), ERR_NONE);
	assert_int_equal(tl.n_devices, devices_used(models, n_processes));
	for (size_t i = 0; i < tl.n_devices; i++)
		ok &= check_device(&tl.devices[i], models, n_processes, seed, sum);
	timeline_free(&tl);
	return ok;
}

/* A legacy stream was asked whether it is done while a stream that blocks with it, done with its own work, waited for another device. */
static void a_legacy_stream_answers_for_what_others_wait_for(void **state)
{
	static const uint64_t seeds[] = { 5487, 9583, 12643, 24663, 36515, 43399 };
	struct totals sum = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++)
		assert_true(one(seeds[i], 1, 2, true, &sum));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MODEL_TESTS,
		cmocka_unit_test(a_legacy_stream_answers_for_what_others_wait_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
