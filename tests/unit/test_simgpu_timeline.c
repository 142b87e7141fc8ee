/* SPDX-License-Identifier: BSD-2-Clause */
/* When operations start and end: streams, default streams, events, engines, latency, queue depth. */
#include "test_simgpu.h"

static struct truth truth;

#define LATENCY_NS 5000

/* cuda.h declares the per-thread variants only under the plain name. */
CUresult cuLaunchKernel_ptsz(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
			     unsigned shared, CUstream s, void **params, void **extra);

static long long max(long long a, long long b)
{
	return a > b ? a : b;
}

static void ten_kernels(void)
{
	CUstream s;

	start();
	s = stream(0);
	gate_close(s);
	for (int i = 0; i < 10; i++)
		launch("kernel__5000us", s);
	launch("default", s);
	gate_open();
	OK(cuStreamSynchronize(s));
	launch("after", s);
}

static void stream_is_a_queue(void **state)
{
	long long end_ns;

	(void)state;
	setenv("SIMGPU_KERNEL_US", "30", 1);
	run_in_child(ten_kernels, &truth);
	assert_int_equal(truth.count, 13);
	assert_string_equal(truth.ops[0].op, "hostfn"); /* the gate */
	end_ns = truth.ops[0].end_ns;
	for (unsigned i = 1; i < 13; i++) {
		const struct truth_op *op = &truth.ops[i];

		assert_string_equal(op->op, "kernel");
		assert_true(op->start_ns >= max(op->submit_ns + LATENCY_NS, end_ns));
		assert_int_equal(op->end_ns - op->start_ns, i < 11 ? 5000000 : 30000);
		if (i > 1 && i < 12) /* they were there when the gate opened */
			assert_int_equal(op->start_ns, end_ns);
		end_ns = op->end_ns;
	}
	/* The synchronise returned no earlier than the end of what it waited for. */
	assert_true(truth.ops[12].submit_ns >= truth.ops[11].end_ns);
	assert_int_equal(truth_calls(&truth, "cuLaunchKernel"), 12);
	assert_int_equal(truth_calls(&truth, "cuStreamSynchronize"), 1);
	assert_int_equal(truth_calls(&truth, "cuMemAlloc_v2"), 0);
}

static void two_streams(void)
{
	start();
	launch("a__400000us", stream(0));
	launch("b__400000us", stream(0));
}

static void streams_run_side_by_side(void **state)
{
	const struct truth_op *a, *b;

	(void)state;
	run_in_child(two_streams, &truth);
	a = truth_find(&truth, "a__400000us");
	b = truth_find(&truth, "b__400000us");
	assert_int_not_equal(a->stream, b->stream);
	assert_true(b->start_ns < a->end_ns);
	/* Both were pending at exit and are in the truth all the same. */
	assert_int_equal(a->end_ns - a->start_ns, 400000000);
}

static void many_streams(void)
{
	start();
	for (int i = 0; i < 129; i++)
		launch("wide__500000us", stream(CU_STREAM_NON_BLOCKING));
}

static void only_128_kernels_at_once(void **state)
{
	(void)state;
	run_in_child(many_streams, &truth);
	assert_int_equal(truth.count, 129);
	assert_true(truth.ops[127].start_ns < truth.ops[0].end_ns);
	assert_int_equal(truth.ops[128].start_ns, truth.ops[0].end_ns);
}

static void default_streams(void)
{
	start();
	launch("first__20000us", stream(0));
	launch("apart__20000us", stream(CU_STREAM_NON_BLOCKING));
	launch("legacy__20000us", NULL);
	launch("later__20000us", stream(0));
	OK(cuLaunchKernel_ptsz(function("thread__20000us"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	launch("again__20000us", CU_STREAM_PER_THREAD);
	OK(cuStreamSynchronize(NULL));
	launch("end", NULL);
}

static void legacy_stream_waits_for_blocking_streams_and_they_for_it(void **state)
{
	const struct truth_op *legacy, *apart;

	(void)state;
	run_in_child(default_streams, &truth);
	legacy = truth_find(&truth, "legacy__20000us");
	apart = truth_find(&truth, "apart__20000us");
	assert_int_equal(legacy->stream, 0);
	assert_int_equal(legacy->start_ns,
			 max(truth_find(&truth, "first__20000us")->end_ns, legacy->submit_ns + LATENCY_NS));
	assert_true(truth_find(&truth, "later__20000us")->start_ns >= legacy->end_ns);
	assert_true(truth_find(&truth, "thread__20000us")->start_ns >= legacy->end_ns);
	assert_int_not_equal(truth_find(&truth, "thread__20000us")->stream, 0);
	assert_int_equal(truth_find(&truth, "thread__20000us")->stream, truth_find(&truth, "again__20000us")->stream);
	assert_true(apart->start_ns < truth_find(&truth, "first__20000us")->end_ns ||
		    apart->start_ns == apart->submit_ns + LATENCY_NS);
	/* A synchronise of the default stream waits for the blocking streams' work. */
	assert_true(truth_find(&truth, "end")->submit_ns >= truth_find(&truth, "again__20000us")->end_ns);
}

static void orphan(void)
{
	CUstream blocking, apart;

	start();
	blocking = stream(0);
	apart = stream(CU_STREAM_NON_BLOCKING);
	launch("orphan__20000us", blocking);
	launch("apart__90000us", apart);
	OK(cuStreamDestroy(blocking));
	OK(cuStreamDestroy(apart));
	launch("legacy", NULL);
	OK(cuCtxSynchronize());
	launch("end", NULL);
}

static void destroyed_stream_finishes_its_work(void **state)
{
	(void)state;
	run_in_child(orphan, &truth);
	assert_true(truth_find(&truth, "legacy")->start_ns >= truth_find(&truth, "orphan__20000us")->end_ns);
	assert_true(truth_find(&truth, "end")->submit_ns >= truth_find(&truth, "apart__90000us")->end_ns);
}

static void cross_stream(void)
{
	CUstream a, b;
	CUevent event;

	start();
	a = stream(CU_STREAM_NON_BLOCKING);
	b = stream(CU_STREAM_NON_BLOCKING);
	OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	OK(cuStreamWaitEvent(b, event, 0)); /* never recorded: no wait */
	launch("free__10us", b);
	launch("before__30000us", a);
	OK(cuEventRecord(event, a));
	OK(cuStreamWaitEvent(b, event, 0));
	launch("long__500000us", a);
	OK(cuEventRecord(event, a)); /* the wait keeps to the record it saw */
	launch("waits__10us", b);
	OK(cuEventDestroy(event));
	OK(cuStreamSynchronize(b));
}

static void wait_event_keeps_the_record_it_saw(void **state)
{
	const struct truth_op *before, *waits;

	(void)state;
	run_in_child(cross_stream, &truth);
	before = truth_find(&truth, "before__30000us");
	waits = truth_find(&truth, "waits__10us");
	assert_int_equal(waits->start_ns, max(before->end_ns, waits->submit_ns + LATENCY_NS));
	assert_true(waits->start_ns < truth_find(&truth, "long__500000us")->end_ns);
	assert_true(truth_find(&truth, "free__10us")->start_ns < before->end_ns);
}

static void queue(void)
{
	CUstream s;

	start();
	s = stream(0);
	for (int i = 0; i < 12; i++)
		launch("queued__2000us", s);
}

static void launch_blocks_when_the_queue_is_full(void **state)
{
	(void)state;
	setenv("SIMGPU_QUEUE", "4", 1);
	run_in_child(queue, &truth);
	assert_int_equal(truth.count, 12);
	/* Launch i returned, and i + 1 was called, only when launch i - 4 was done. */
	for (unsigned i = 4; i + 1 < 12; i++)
		assert_true(truth.ops[i + 1].submit_ns >= truth.ops[i - 4].end_ns);
}

static float elapsed_ms[3];

static void timed(void)
{
	CUevent a, b, untimed;
	CUstream s;

	start();
	s = stream(0);
	OK(cuEventCreate(&a, CU_EVENT_DEFAULT));
	OK(cuEventCreate(&b, CU_EVENT_BLOCKING_SYNC));
	OK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(elapsed_ms, a, b));
	OK(cuEventQuery(a));
	gate_close(s);
	launch("one__1000us", s);
	OK(cuEventRecord(a, s));
	launch("two__900000us", s);
	OK(cuEventRecord(b, s));
	OK(cuEventRecord(untimed, s));
	EXPECT(CUDA_ERROR_NOT_READY, cuEventQuery(b));
	EXPECT(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
	EXPECT(CUDA_ERROR_NOT_READY, cuEventElapsedTime(elapsed_ms, a, b));
	gate_open();
	OK(cuEventSynchronize(b));
	OK(cuEventQuery(b));
	OK(cuStreamQuery(s));
	OK(cuEventElapsedTime(elapsed_ms, a, b));
	OK(cuEventElapsedTime(elapsed_ms + 1, b, a));
	OK(cuEventElapsedTime(elapsed_ms + 2, b, b));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(elapsed_ms, a, untimed));
	/* 900 ms on a clock that runs 1000 ppm fast, in steps of 0.5 us, as a float. */
	EXPECT(1, elapsed_ms[0] > 900.899f && elapsed_ms[0] < 900.901f);
	EXPECT(1, elapsed_ms[1] < -900.899f && elapsed_ms[1] > -900.901f);
	EXPECT(1, elapsed_ms[2] == 0.0f);
}

static void events_read_the_device_clock(void **state)
{
	(void)state;
	setenv("SIMGPU_DRIFT_PPM", "1000", 1);
	run_in_child(timed, &truth);
	assert_int_equal(truth_calls(&truth, "cuEventElapsedTime_v2"), 6);
}

static void sleep_ms(void *argument)
{
	struct timespec time = { .tv_nsec = 3000000 };

	nanosleep(&time, NULL);
	*(int *)argument = 7;
}

static void host_function(void)
{
	CUstream s;
	int *data;
	CUdeviceptr memory;

	start();
	s = stream(0);
	data = pinned_memory(4096);
	memory = device_memory(4096);
	launch("before__1000us", s);
	OK(cuLaunchHostFunc(s, sleep_ms, data));
	OK(cuMemcpyHtoDAsync(memory, data, 4, s));
	OK(cuMemcpyDtoHAsync(data + 1, memory, 4, s));
	launch("after", s);
	OK(cuStreamSynchronize(s));
	EXPECT(7, data[1]);
}

static void host_function_runs_in_stream_order_and_its_data_is_seen(void **state)
{
	const struct truth_op *host, *copy;

	(void)state;
	run_in_child(host_function, &truth);
	host = truth_nth(&truth, "hostfn", 0);
	copy = truth_nth(&truth, "memcpy", 0);
	assert_true(host->start_ns >= truth_find(&truth, "before__1000us")->end_ns);
	assert_true(host->end_ns - host->start_ns >= 3000000);
	assert_true(copy->start_ns >= host->end_ns);
	assert_true(truth_find(&truth, "after")->start_ns >= truth_nth(&truth, "memcpy", 1)->end_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stream_is_a_queue),
		cmocka_unit_test(streams_run_side_by_side),
		cmocka_unit_test(only_128_kernels_at_once),
		cmocka_unit_test(legacy_stream_waits_for_blocking_streams_and_they_for_it),
		cmocka_unit_test(destroyed_stream_finishes_its_work),
		cmocka_unit_test(wait_event_keeps_the_record_it_saw),
		cmocka_unit_test(launch_blocks_when_the_queue_is_full),
		cmocka_unit_test(events_read_the_device_clock),
		cmocka_unit_test(host_function_runs_in_stream_order_and_its_data_is_seen),
	};

	settings_clear();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
