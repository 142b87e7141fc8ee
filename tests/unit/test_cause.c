/* SPDX-License-Identifier: BSD-2-Clause */
/* The engine on hand-made and on random, contradictory records: every gap is tiled exactly, whatever the rules propose. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "cause/cause.h"

#define MS 1000000
#define TASKS 6
#define OP_NAMES 9
#define WAITS 48

static uint64_t seed;

static int64_t below(int64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)(seed >> 33) % n;
}

static const char *op_names[OP_NAMES] = {
	"",           "aten::add",    "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
	"dataloader", "read",         "fsync",
	"preempted",  "Buffer Flush", "Lazy Function Loading"
};

struct world { /* one process, one device */
	struct trace trace;
	struct trace *traces[1];
	struct run run;
	struct device_timeline device;
	struct call calls[64];
	struct sample samples[64];
	struct usage usages[32];
	struct host_op host_ops[64];
	struct range ranges[8];
	struct op ops[16];
	struct op_of of;
	struct gap gaps[16];
	struct dependency depends[16];
	const char *hooks[2], *kernels[3];
	struct threads threads;
	struct attribution got;
	struct host_trace host; /* where run.n_hosts says so */
	struct host_trace *hosts[1];
	struct host_task tasks[TASKS];
	struct host_wait waits[TASKS][WAITS];
	struct host_stalls stalls[TASKS];
	struct host_request requests[WAITS];
	uint32_t by_own[TASKS];
};

static void world_begin(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->hooks[0] = "cuThing";
	w->kernels[0] = "";
	w->kernels[1] = "one";
	w->kernels[2] = "two";
	w->trace = (struct trace){ .path = "x.gst",
				   .calls = w->calls,
				   .samples = w->samples,
				   .usages = w->usages,
				   .ranges = w->ranges,
				   .host_ops = { .at = w->host_ops, .names = op_names, .n_names = OP_NAMES },
				   .hooks = w->hooks,
				   .n_hooks = 2,
				   .kernels = w->kernels,
				   .n_kernels = 3,
				   .cut_ns = INT64_MAX,
				   .header.pid = 7,
				   .header.clock = GST_CLOCK_TSC };
	w->traces[0] = &w->trace;
	w->run = (struct run){ .traces = w->traces, .n_traces = 1, .count = 1 };
	w->device.gaps = w->gaps;
	w->device.ops = w->ops;
	w->of.trace = &w->trace;
}

static void explain(struct world *w)
{
	struct error e;

	assert_int_equal(threads_build(&w->threads, &w->run, &e), ERR_NONE);
	assert_int_equal(attribution_build(&w->got, &w->device, &w->threads, &e), ERR_NONE);
}

static void world_end(struct world *w)
{
	attribution_free(&w->got);
	threads_free(&w->threads);
}

static void assert_tiled(const struct world *w)
{
	int64_t sums[CAUSE_COUNT] = { 0 };

	assert_int_equal(w->got.n_gaps, w->device.n_gaps);
	for (size_t i = 0; i < w->got.n_gaps; i++) {
		const struct gap_story *g = &w->got.gaps[i];
		int64_t at = g->gap->begin_ns;

		for (size_t k = 0; k < g->n_causes; k++) {
			const struct gap_cause *c = &g->causes[k];

			assert_true(c->begin_ns == at && c->end_ns > at);
			at = c->end_ns;
			sums[c->cause] += c->end_ns - c->begin_ns;
			for (size_t n = 0; n < c->n_chain; n++)
				assert_true(c->chain[n].begin_ns >= c->begin_ns && c->chain[n].end_ns <= c->end_ns);
			if (c->cause == CAUSE_unexplained)
				assert_int_equal(c->confidence, CONFIDENCE_INFERRED);
		}
		assert_true(at == g->gap->end_ns);
	}
	assert_memory_equal(sums, w->got.causes_ns, sizeof(sums));
	for (int i = 0; i < CAUSE_COUNT; i++)
		assert_true(w->got.observed_ns[i] >= 0 && w->got.observed_ns[i] <= sums[i]);
}

static int by_place(const void *a, const void *b)
{
	const struct host_op *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->begin_ns != y->begin_ns ? (x->begin_ns < y->begin_ns ? -1 : 1)
					  : (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

/* Of any kind and name, nested or not; another tool's trace has them. */
static void random_ops(struct world *w)
{
	int64_t at = 0;

	w->trace.host_ops.n = below(2) ? 0 : (size_t)below(64);
	for (size_t i = 0; i < w->trace.host_ops.n; i++) {
		int64_t begin = below(90 * MS);

		w->host_ops[i] = (struct host_op){ .begin_ns = begin,
						   .end_ns = begin + 1 + below(below(3) ? MS : 50 * MS),
						   .byte = (uint64_t)below(INT64_MAX),
						   .tid = (uint32_t)below(3),
						   .name = (uint32_t)below(OP_NAMES),
						   .kind = (uint8_t)(1 + below(5)) };
	}
	qsort(w->host_ops, w->trace.host_ops.n, sizeof(w->host_ops[0]), by_place);
	w->trace.n_ranges = (size_t)below(8);
	for (size_t i = 0; i < w->trace.n_ranges; i++) {
		at += below(20 * MS);
		w->ranges[i] = (struct range){ .begin_ns = at,
					       .end_ns = at + 1 + below(9 * MS),
					       .name = op_names[below(OP_NAMES)],
					       .tid = (uint32_t)below(3),
					       .kind = GST_RANGE_PUSHED };
	}
}

/* Calls overlap, end before they begin or last for years; samples and accounts contradict them. */
static void random_world(struct world *w)
{
	static const int32_t syscalls[] = { -1, -2, -3, 0, 1, 7, 35, 74, 202, 230, 9999 };
	int64_t at = 0;

	world_begin(w);
	w->trace.n_calls = (size_t)below(64) + 1;
	for (size_t i = 0; i < w->trace.n_calls; i++) {
		at += below(3 * MS);
		w->calls[i] = (struct call){ .begin_ns = at,
					     .end_ns = below(20) ? at + below(4 * MS) : at + ((int64_t)1 << 57),
					     .tid = (uint32_t)below(3),
					     .hook = (uint16_t)below(2),
					     .name = (uint32_t)below(3),
					     .family = (uint8_t)below(GST_FAMILY_COUNT),
					     .flags = (uint8_t)below(8),
					     .detail = (uint16_t)below(9),
					     .args = { 1, 4096 } };
	}
	w->trace.n_samples = (size_t)below(64);
	at = 0;
	for (size_t i = 0; i < w->trace.n_samples; i++) {
		at += below(3 * MS);
		w->samples[i] = (struct sample){ .time_ns = at,
						 .tid = (uint32_t)below(3),
						 .syscall = syscalls[below(11)],
						 .fd_kind = (uint16_t)below(5),
						 .file = below(2) ? "pipe:[1]" : NULL };
	}
	w->trace.n_usages = (size_t)below(32);
	random_ops(w);
	at = 0;
	for (size_t i = 0; i < w->trace.n_usages; i++) {
		at += below(6 * MS);
		w->usages[i] = (struct usage){ .time_ns = at,
					       .tid = (uint32_t)below(3),
					       .cpu_ns = (uint64_t)below(200 * MS),
					       .voluntary = (uint32_t)below(5) };
	}
	w->device.n_gaps = (size_t)below(16);
	w->device.operations_unlinked = below(8) == 0;
	at = 0;
	for (size_t i = 0; i < w->device.n_gaps; i++) {
		const struct call *before = &w->calls[below((int64_t)w->trace.n_calls)],
				  *after = &w->calls[below((int64_t)w->trace.n_calls)];

		w->gaps[i].begin_ns = at += below(5 * MS);
		w->gaps[i].end_ns = at += 1 + below(10 * MS);
		w->gaps[i].begin_error_ns = below(MS);
		w->ops[i] = (struct op){ .call = after, .of = &w->of, .begin_ns = at, .end_ns = at + 1 };
		w->gaps[i].after = below(5) ? &w->ops[i] : NULL;
		w->gaps[i].before = i && below(5) ? &w->ops[i - 1] : NULL;
		w->depends[i] = (struct dependency){ .kind = DEPEND_HOSTFN,
						     .producer = before,
						     .trace = &w->trace,
						     .placed = below(2) == 0,
						     .end_ns = at - below(5 * MS),
						     .latest_end_ns = at };
		w->gaps[i].depends = below(16) == 0 ? &w->depends[i] : NULL;
	}
	w->device.n_ops = w->device.n_gaps;
}

static struct host_what random_what(void)
{
	static const char *const files[] = {
		NULL, "/data/a", "/x/libx.so", "pipe:[3]", "tcp:1.2.3.4:5", "unix:[4]:[5]"
	};
	static const int32_t syscalls[] = { -2, 202, 0, 1, 7, 17, 35, 45, 61, 74, 202, 202, 9999 };
	static const uint32_t systems[] = { 0, 0xef53, 0x6969, 0x01021994, 0x9fa0 };

	return (struct host_what){ .file = files[below(6)],
				   .arg = (uint64_t)below(3),
				   .offset = below(2) ? UINT64_MAX : (uint64_t)below(1 << 20),
				   .bytes = (uint64_t)below(1 << 21),
				   .inode = (uint64_t)below(3),
				   .fs = systems[below(5)],
				   .syscall = syscalls[below(13)],
				   .flags = below(3) ? 0 : (uint16_t)below(512),
				   .fd_kind = (uint8_t)below(5) };
}

static void random_task(struct world *w, uint32_t i)
{
	struct host_task *t = &w->tasks[i];
	int64_t at = below(20 * MS), off = 0;

	*t = (struct host_task){ .tid = i,
				 .pid = i < 4 ? 7 : 100 + i,
				 .creator = below(2) ? HOST_NOBODY : (uint32_t)below(TASKS),
				 .leader = HOST_NOBODY,
				 .begin_ns = below(2) ? 0 : at,
				 .end_ns = 500 * MS,
				 .flags = below(3) ? 0 : (uint16_t)below(16),
				 .name = "task",
				 .waits = w->waits[i],
				 .n_waits = (size_t)below(WAITS) };
	for (size_t k = 0; k < t->n_waits; k++) {
		struct host_wait *wait = &w->waits[i][k];
		int64_t out = at + below(2 * MS), wake = out + below(3 * MS), in = wake + below(MS);

		*wait = (struct host_wait){ .out_ns = out,
					    .wake_ns = wake,
					    .in_ns = in,
					    .throttled_ns = below(in - wake + 1),
					    .off_before_ns = off,
					    .task = i,
					    .waker = below(3) ? (uint32_t)below(TASKS) : HOST_NOBODY,
					    .by = below(3) ? GST_WOKEN_TASK : (uint8_t)below(4),
					    .wake_known = true,
					    .what = random_what() };
		off += in - out;
		at = in;
	}
	if (below(2)) {
		w->stalls[i] = (struct host_stalls){ .begin_ns = 5 * MS,
						     .end_ns = 90 * MS,
						     .blocked_ns = below(40 * MS),
						     .queued_ns = below(40 * MS),
						     .last_offset = UINT64_MAX,
						     .count = 3,
						     .task = i,
						     .what = random_what() };
		t->stalls = &w->stalls[i];
		t->n_stalls = 1;
	}
}

/* Somebody watched all of that, and tells yet another story. */
static void random_host(struct world *w)
{
	w->host = (struct host_trace){ .end_ns = 400 * MS,
				       .cut_ns = INT64_MAX,
				       .probes = { .how = (uint32_t)below(3) + 1,
						   .watched = (uint32_t)below(1 << 14),
						   .events_lost = below(4) == 0 },
				       .tasks = w->tasks,
				       .n_tasks = TASKS,
				       .by_own = w->by_own,
				       .requests = w->requests,
				       .n_requests = (size_t)below(WAITS) };
	for (uint32_t i = 0; i < TASKS; i++) {
		random_task(w, i);
		w->by_own[i] = i;
	}
	for (size_t i = 0; i < w->host.n_requests; i++)
		w->requests[i] = (struct host_request){ .queued_ns = (int64_t)i * MS,
							.issued_ns = (int64_t)i * MS + below(MS),
							.done_ns = (int64_t)i * MS + MS,
							.queued_known = below(2),
							.issued_known = below(2),
							.inode = (uint64_t)below(3),
							.task = below(2) ? HOST_NOBODY : (uint32_t)below(TASKS),
							.bytes = 512 };
	w->hosts[0] = &w->host;
	w->run.hosts = w->hosts;
	w->run.n_hosts = 1;
}

static void test_random_host_records_are_tiled_exactly(void **state)
{
	static struct world w;
	size_t deep = 0, by_cause[CAUSE_COUNT] = { 0 };

	(void)state;
	for (seed = 5; seed < 3000 * 7919; seed += 7919) {
		uint64_t start = seed;

		random_world(&w);
		random_host(&w);
		explain(&w);
		assert_tiled(&w);
		for (size_t i = 0; i < w.got.n_gaps; i++) {
			for (size_t k = 0; k < w.got.gaps[i].n_causes; k++) {
				deep += w.got.gaps[i].causes[k].n_chain > 2;
				by_cause[w.got.gaps[i].causes[k].cause]++;
			}
		}
		world_end(&w);
		seed = start;
	}
	assert_true(deep > 100); /* or there was nothing to it */
	for (int i = 0; i < CAUSE_COUNT; i++)
		assert_true(by_cause[i] || i == CAUSE_comm_host || i == CAUSE_launch_bound ||
			    i == CAUSE_device_contention);
}

static void test_random_records_are_tiled_exactly(void **state)
{
	static struct world w;

	(void)state;
	for (seed = 1; seed < 3000 * 7919; seed += 7919) {
		uint64_t start = seed;

		random_world(&w);
		explain(&w);
		assert_tiled(&w);
		world_end(&w);
		seed = start;
	}
}

/* One gap from 10 to 20 ms between a synchronise that ends at 10 ms and a launch at 20 ms. */
static void one_gap(struct world *w)
{
	world_begin(w);
	w->calls[0] =
		(struct call){ .begin_ns = 1 * MS, .end_ns = 10 * MS, .tid = 1, .family = GST_FAMILY_SYNC_STREAM };
	w->trace.n_calls = 1;
	w->gaps[0] = (struct gap){
		.begin_ns = 10 * MS - 1000, .end_ns = 20 * MS, .begin_error_ns = 1000, .after = &w->ops[0]
	};
	w->device.n_gaps = 1;
	w->ops[0] = (struct op){ .begin_ns = 20 * MS, .end_ns = 21 * MS, .of = &w->of };
}

static void add_call(struct world *w, int64_t begin_ns, int64_t end_ns, uint32_t tid, uint8_t family)
{
	w->calls[w->trace.n_calls++] =
		(struct call){ .begin_ns = begin_ns, .end_ns = end_ns, .tid = tid, .family = family };
}

static void submit(struct world *w)
{
	add_call(w, 20 * MS - 2000, 20 * MS - 1000, 1, GST_FAMILY_LAUNCH);
	w->ops[0].call = &w->calls[w->trace.n_calls - 1];
	explain(w);
	assert_tiled(w);
}

static void test_observed_goes_before_inferred(void **state)
{
	static struct world w;

	(void)state;
	one_gap(&w);
	w.samples[0] = (struct sample){ .time_ns = 15 * MS, .tid = 1, .syscall = 230 };
	w.trace.n_samples = 1;
	w.usages[0] = (struct usage){ .time_ns = 10 * MS, .tid = 1, .cpu_ns = 5 };
	w.usages[1] = (struct usage){ .time_ns = 20 * MS - 2000, .tid = 1, .cpu_ns = 10 * MS };
	w.trace.n_usages = 2;
	submit(&w);
	assert_int_equal(w.got.causes_ns[CAUSE_host_compute], 10 * MS - 2000);
	assert_int_equal(w.got.observed_ns[CAUSE_host_compute], 10 * MS - 2000);
	assert_int_equal(w.got.causes_ns[CAUSE_host_sleep], 0);
	world_end(&w);
}

static void test_order_of_causes_def_decides_among_equals(void **state)
{
	static struct world w;

	(void)state;
	one_gap(&w);
	add_call(&w, 11 * MS, 14 * MS, 1, GST_FAMILY_ALLOC);
	add_call(&w, 12 * MS, 13 * MS, 1, GST_FAMILY_MODULE); /* inside it */
	submit(&w);
	assert_int_equal(w.got.causes_ns[CAUSE_allocator], 2 * MS);
	assert_int_equal(w.got.causes_ns[CAUSE_module_load], 1 * MS);
	world_end(&w);
}

static void test_samples_reach_no_further_than_their_period(void **state)
{
	static struct world w;

	(void)state;
	one_gap(&w);
	w.gaps[0].end_ns = 200 * MS;
	w.ops[0].begin_ns = 200 * MS;
	w.samples[0] = (struct sample){ .time_ns = 100 * MS, .tid = 1, .syscall = 230 };
	w.trace.n_samples = 1;
	add_call(&w, 199 * MS, 199 * MS + 1, 1, GST_FAMILY_LAUNCH);
	w.ops[0].call = &w.calls[1];
	explain(&w);
	assert_tiled(&w);
	assert_int_equal(w.got.causes_ns[CAUSE_host_sleep], 50 * MS);
	world_end(&w);
}

static void test_submitted_before_the_gap_means_the_host_is_innocent(void **state)
{
	static struct world w;

	(void)state;
	one_gap(&w);
	w.calls[0].end_ns = 30 * MS; /* the synchronise lasts over the whole gap */
	w.calls[1] = w.calls[0];
	w.calls[0] = (struct call){ .begin_ns = 0, .end_ns = 1000, .tid = 1, .family = GST_FAMILY_LAUNCH };
	w.trace.n_calls = 2;
	w.ops[0].call = &w.calls[0];
	explain(&w);
	assert_tiled(&w);
	assert_int_equal(w.got.causes_ns[CAUSE_unexplained], 10 * MS + 1000);
	assert_non_null(strstr(w.got.gaps[0].causes[0].evidence[0], "had been submitted"));
	world_end(&w);
}

static void test_dropped_records_leave_nothing_observed(void **state)
{
	static struct world w;

	(void)state;
	one_gap(&w);
	w.trace.counters.records_dropped = 1;
	add_call(&w, 11 * MS, 14 * MS, 1, GST_FAMILY_ALLOC);
	submit(&w);
	assert_int_equal(w.got.causes_ns[CAUSE_allocator], 3 * MS);
	for (int i = 0; i < CAUSE_COUNT; i++)
		assert_int_equal(w.got.observed_ns[i], 0);
	world_end(&w);
}

static void test_ids_are_those_of_the_contract(void **state)
{
	static const char *const ids[] = {
		"input-storage", "input-network", "input-preprocess",  "input-wait",     "sync-bubble",
		"launch-bound",  "host-compute",  "host-lock",         "host-sleep",     "cpu-contention",
		"cpu-throttled", "memory-stall",  "allocator",         "module-load",    "checkpoint",
		"output-io",     "comm-host",     "device-dependency", "device-latency", "device-contention",
		"profiler",      "unexplained",
	};

	(void)state;
	assert_int_equal(CAUSE_COUNT, sizeof(ids) / sizeof(ids[0]));
	for (size_t i = 0; i < CAUSE_COUNT; i++) {
		bool found = false;

		for (int k = 0; k < CAUSE_COUNT; k++)
			found |= strcmp(ids[i], cause_name(k)) == 0;
		assert_true(found);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_records_are_tiled_exactly),
		cmocka_unit_test(test_random_host_records_are_tiled_exactly),
		cmocka_unit_test(test_observed_goes_before_inferred),
		cmocka_unit_test(test_order_of_causes_def_decides_among_equals),
		cmocka_unit_test(test_samples_reach_no_further_than_their_period),
		cmocka_unit_test(test_submitted_before_the_gap_means_the_host_is_innocent),
		cmocka_unit_test(test_dropped_records_leave_nothing_observed),
		cmocka_unit_test(test_ids_are_those_of_the_contract),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
