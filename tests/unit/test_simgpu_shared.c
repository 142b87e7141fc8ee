/* SPDX-License-Identifier: BSD-2-Clause */
/* SIMGPU_SHARED: several processes take turns, share copy engines and memory. */
#include "test_simgpu_shared.h"

/* ---- turns ----------------------------------------------------------------------------------------------- */

static void queue_of_kernels(void)
{
	CUstream s;

	start();
	s = stream(CU_STREAM_NON_BLOCKING);
	meet(2);
	launch("lead__200000us", s); /* while it runs all the rest is queued */
	for (int i = 0; i < QUEUED; i++)
		launch("k__100us", s);
	OK(cuStreamSynchronize(s));
}

/* The stretch of `merged` in which both processes have begun and neither has finished. */
static void find_both(unsigned each, unsigned *first, unsigned *last)
{
	unsigned begun[2] = { 0 };

	for (*first = 0; *first < merged_count && !(begun[0] && begun[1]); ++*first)
		begun[merged[*first].process]++;
	for (*last = *first; *last < merged_count && begun[0] < each && begun[1] < each; ++*last)
		begun[merged[*last].process]++;
}

static void two_long_queues_share_the_device_half_and_half(void **state)
{
	void (*const bodies[])(void) = { queue_of_kernels, queue_of_kernels };
	unsigned done[2] = { 0 }, first, last, turns = 0;
	long long turn_begin_ns = 0;

	(void)state;
	begin_case();
	run_together(2, bodies);
	merge(2, 0, is_queued);
	assert_int_equal(merged_count, 2 * QUEUED);
	assert_turns();
	find_both(QUEUED, &first, &last);
	assert_true(last - first > QUEUED / 2); /* they did meet */
	/* No time is lost but by the switches, and no turn is longer than it may be. */
	for (unsigned i = first; i < last; i++) {
		const struct merged *before = &merged[i - 1], *now = &merged[i];
		bool switched = before->process != now->process;

		done[now->process]++;
		assert_int_equal(now->op->start_ns - before->op->end_ns, switched ? SWITCH_NS : 0);
		if (switched) {
			if (turn_begin_ns)
				assert_true(before->op->end_ns - turn_begin_ns <= TURN_NS + 100000);
			turn_begin_ns = now->op->start_ns;
			turns++;
		}
	}
	assert_true(turns >= (last - first) / 40);
	assert_in_range(done[0], done[1] > 42 ? done[1] - 42 : 0, done[1] + 42); /* a turn is 20 kernels or 21 */
	end_case();
}

static void thousand_kernels(void)
{
	CUstream s;

	start();
	s = stream(CU_STREAM_NON_BLOCKING);
	for (int i = 0; i < 1000; i++)
		launch("many__500us", s);
	next_step();
	OK(cuStreamSynchronize(s));
}

static void one_now_and_then(void)
{
	CUstream s;

	start();
	s = stream(CU_STREAM_NON_BLOCKING);
	wait_for_step(1);
	for (int i = 0; i < 10; i++) {
		launch("few__50us", s);
		OK(cuStreamSynchronize(s));
	}
}

static void a_long_queue_does_not_starve_another_process(void **state)
{
	void (*const bodies[])(void) = { thousand_kernels, one_now_and_then };
	unsigned soon = 0;

	(void)state;
	begin_case();
	run_together(2, bodies);
	merge(2, 0, is_kernel);
	assert_int_equal(merged_count, 1010);
	assert_turns();
	/* At most the rest of the other's turn, its last kernel, a switch; from the call's entry, so that a host that is late now and
	 * then must be excused. */
	for (unsigned i = 0; i < 10; i++)
		soon += truths[1].ops[i].start_ns - truths[1].ops[i].submit_ns <= TURN_NS + 500000 + SWITCH_NS + 100000;
	assert_in_range(soon, 6, 10);
	assert_true(truths[1].ops[9].end_ns < truths[0].ops[999].start_ns);
	end_case();
}

/* Eight kernels that are ready at the same moment, the end of one before them. */
static void side_by_side(void)
{
	CUstream lead;
	CUevent led;

	start();
	lead = stream(CU_STREAM_NON_BLOCKING);
	OK(cuEventCreate(&led, CU_EVENT_DISABLE_TIMING));
	meet(2);
	launch("lead__400000us", lead);
	OK(cuEventRecord(led, lead));
	for (int i = 0; i < 8; i++) {
		CUstream s = stream(CU_STREAM_NON_BLOCKING);

		OK(cuStreamWaitEvent(s, led, 0));
		launch("wide__20000us", s);
	}
	OK(cuCtxSynchronize());
}

static void kernels_of_one_process_still_run_together(void **state)
{
	void (*const bodies[])(void) = { side_by_side, side_by_side };

	(void)state;
	begin_case();
	run_together(2, bodies);
	merge(2, 0, is_kernel);
	assert_int_equal(merged_count, 18);
	assert_turns();
	/* A long kernel is not interrupted, but then it is the other's turn: one, the other, eight of the one at once, eight of the
	 * other. */
	assert_true(merged[0].process != merged[1].process);
	assert_int_equal(merged[1].op->start_ns, merged[0].op->end_ns + SWITCH_NS);
	for (unsigned i = 2; i < 18; i++) {
		assert_true(merged[i].process == merged[i < 10 ? 0 : 1].process);
		assert_int_equal(merged[i].op->start_ns, merged[i < 10 ? 1 : 2].op->end_ns + SWITCH_NS);
	}
	end_case();
}

static void holds_the_device(void)
{
	start();
	meet(2);
	launch("long__500000us", NULL);
	next_step();
	OK(cuCtxSynchronize());
}

static void times_a_kernel(void)
{
	CUevent before, after, copied;
	CUdeviceptr to;
	void *from;
	CUstream s;
	float ms;

	start();
	s = stream(CU_STREAM_NON_BLOCKING);
	OK(cuEventCreate(&before, 0));
	OK(cuEventCreate(&after, 0));
	OK(cuEventCreate(&copied, 0));
	to = device_memory(4096);
	from = pinned_memory(4096);
	meet(2);
	wait_for_step(1);
	OK(cuEventRecord(before, NULL));
	launch("short__1000us", NULL);
	OK(cuEventRecord(after, NULL));
	EXPECT(CUDA_ERROR_NOT_READY, cuEventQuery(before));
	OK(cuMemcpyHtoDAsync(to, from, 4096, s));
	OK(cuEventRecord(copied, s));
	OK(cuEventSynchronize(copied));
	EXPECT(CUDA_ERROR_NOT_READY, cuEventQuery(before));
	OK(cuEventSynchronize(after));
	OK(cuEventElapsedTime(&ms, before, after));
	EXPECT(1, ms > 0.998f && ms < 1.002f);
}

/* A context that is switched out does not even take the time: an event before a kernel fires when the turn comes, one behind it
 * when it ends. A copy has its own way, and so has the event behind it. */
static void events_wait_for_the_turn(void **state)
{
	void (*const bodies[])(void) = { holds_the_device, times_a_kernel };

	(void)state;
	begin_case();
	run_together(2, bodies);
	assert_true(truth_find(&truths[1], "short__1000us")->start_ns >= truths[0].ops[0].end_ns + SWITCH_NS);
	end_case();
}

static void on_device(int device)
{
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, device));
	OK(cuCtxSetCurrent(context));
	OK(cuModuleLoadData(&module, "any image"));
	meet(2);
	launch("k__300000us", NULL);
}

static void on_device_0(void)
{
	on_device(0);
}

static void on_device_1(void)
{
	on_device(1);
}

static void each_device_has_turns_of_its_own(void **state)
{
	void (*const bodies[])(void) = { on_device_0, on_device_1 };

	(void)state;
	begin_case();
	setenv("SIMGPU_DEVICES", "2", 1);
	run_together(2, bodies);
	assert_true(truths[0].ops[0].start_ns < truths[1].ops[0].end_ns &&
		    truths[1].ops[0].start_ns < truths[0].ops[0].end_ns);
	end_case();
}

/* ---- copies ---------------------------------------------------------------------------------------------- */

static void many_copies(void)
{
	enum { SMALL = 32 << 10, LARGE = 300 << 10 };
	CUdeviceptr to;
	void *from;
	CUstream s;

	start();
	s = stream(CU_STREAM_NON_BLOCKING);
	to = device_memory(LARGE);
	from = pinned_memory(LARGE);
	meet(PROCESSES);
	for (int i = 0; i < 60; i++)
		OK(cuMemcpyHtoDAsync(to, from, i % 5 ? SMALL : LARGE, s));
	OK(cuStreamSynchronize(s));
}

static void a_copy_engine_does_one_copy_at_a_time(void **state)
{
	void (*const bodies[])(void) = { many_copies, many_copies, many_copies };
	unsigned switches = 0;

	(void)state;
	begin_case();
	setenv("SIMGPU_H2D_GBPS", "0.05", 1); /* 655 us and 6 ms a copy: 100 ms a process */
	run_together(3, bodies);
	merge(3, 0, is_to_device);
	assert_int_equal(merged_count, 180);
	for (unsigned i = 1; i < merged_count; i++) {
		assert_true(merged[i].op->start_ns >= merged[i - 1].op->end_ns);
		switches += merged[i].process != merged[i - 1].process;
	}
	assert_true(switches >= 6);
	end_case();
}

static void copies_between_devices(void)
{
	CUdeviceptr from, to;
	CUcontext sender;

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&sender, 0));
	OK(cuCtxSetCurrent(sender));
	from = device_memory(32 << 10);
	OK(cuDevicePrimaryCtxRetain(&context, 1));
	OK(cuCtxSetCurrent(context));
	to = device_memory(32 << 10);
	meet(2);
	for (int i = 0; i < 20; i++)
		OK(cuMemcpyPeerAsync(to, context, from, sender, 32 << 10, NULL));
	OK(cuCtxSynchronize());
}

static void copies_back(void)
{
	CUdeviceptr from;
	void *to;

	start();
	from = device_memory(32 << 10);
	to = pinned_memory(32 << 10);
	meet(2);
	for (int i = 0; i < 20; i++)
		OK(cuMemcpyDtoHAsync(to, from, 32 << 10, NULL));
	OK(cuCtxSynchronize());
}

static void a_copy_to_another_device_needs_the_senders_engine(void **state)
{
	void (*const bodies[])(void) = { copies_between_devices, copies_back };
	long long end_ns = 0;
	unsigned at[2] = { 0 };

	(void)state;
	begin_case();
	setenv("SIMGPU_DEVICES", "2", 1);
	setenv("SIMGPU_H2D_GBPS", "0.1", 1); /* 328 us a copy */
	run_together(2, bodies);
	assert_int_equal(truths[0].count, 20);
	assert_int_equal(truths[1].count, 20);
	while (at[0] < 20 || at[1] < 20) {
		unsigned next =
			at[1] == 20 || (at[0] < 20 && truths[0].ops[at[0]].start_ns < truths[1].ops[at[1]].start_ns)
				? 0
				: 1;
		const struct truth_op *op = &truths[next].ops[at[next]++];

		assert_true(op->start_ns >= end_ns);
		end_ns = op->end_ns;
	}
	end_case();
}

/* ---- memory ---------------------------------------------------------------------------------------------- */

static long long free_bytes(void)
{
	size_t left, total;

	OK(cuMemGetInfo(&left, &total));
	EXPECT(1024ll << 20, total);
	return (long long)left;
}

static void takes_most(void)
{
	start();
	(void)device_memory(600 << 20);
	next_step();
	wait_for_step(2);
	if (meeting->number[0] == KILLED)
		kill(getpid(), SIGKILL);
}

static void wants_the_rest(void)
{
	CUdeviceptr memory;

	start();
	wait_for_step(1);
	EXPECT(424ll << 20, free_bytes());
	EXPECT(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&memory, 500 << 20));
	OK(cuMemAlloc(&memory, 400 << 20));
	EXPECT(24ll << 20, free_bytes());
	OK(cuMemFree(memory));
	next_step();
	for (int i = 0; free_bytes() != 1024ll << 20; i++) {
		EXPECT(1, i < 20000);
		sleep_ns(MS);
	}
	OK(cuMemAlloc(&memory, 1000 << 20));
}

static void share_memory(int how)
{
	void (*const bodies[])(void) = { takes_most, wants_the_rest };

	begin_case();
	setenv("SIMGPU_MEM_BYTES", "1G", 1);
	meeting->number[0] = how;
	run_together(2, bodies);
	end_case();
}

static void memory_is_one_and_comes_back_at_exit(void **state)
{
	(void)state;
	share_memory(0);
}

static void memory_of_a_killed_process_comes_back(void **state)
{
	(void)state;
	share_memory(KILLED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_long_queues_share_the_device_half_and_half),
		cmocka_unit_test(a_long_queue_does_not_starve_another_process),
		cmocka_unit_test(kernels_of_one_process_still_run_together),
		cmocka_unit_test(events_wait_for_the_turn),
		cmocka_unit_test(each_device_has_turns_of_its_own),
		cmocka_unit_test(a_copy_engine_does_one_copy_at_a_time),
		cmocka_unit_test(a_copy_to_another_device_needs_the_senders_engine),
		cmocka_unit_test(memory_is_one_and_comes_back_at_exit),
		cmocka_unit_test(memory_of_a_killed_process_comes_back),
	};

	cases_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
