/* SPDX-License-Identifier: BSD-2-Clause */
/* Bursts, against a driver made of a few lines: where there are none, what ends them, and several threads in one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <pthread.h>

#include "tests/unit/bursts.h"

static void launch_programmatic(CUstream handle)
{
	CUlaunchAttribute a = { .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION };
	CUlaunchConfig config = { 1, 1, 1, 1, 1, 1, 0, handle, &a, 1 };
	struct call c;

	a.value.programmaticStreamSerializationAllowed = 1;
	call_enter(&c, HOOK_cuLaunchKernelEx, GST_FAMILY_LAUNCH);
	launch_config(&c, &config, NULL, false);
	fake_record(NULL, handle);
	call_exit(&c, CUDA_SUCCESS);
}

/* ---- which not --------------------------------------------------------------------------------------------------------- */

static void none_at_other_levels(void **state)
{
	(void)state;
	settings.level = GST_LEVEL_EDGES;
	for (unsigned i = 0; i < 5000; i++)
		launch_whole(STREAM_A, CUDA_SUCCESS);
	assert_int_equal(number_of(window), 0);
	assert_true(driver.n_recorded - 5000 <= 8 /* start edges */);
	assert_int_equal(submissions, 1);  /* what is submitted there pays for nothing later */
	settings.level = GST_LEVEL_BURSTS; /* as when CUPTI is given up; found out after a while */
	for (unsigned i = 0; i < OTHER_LEVEL && !is_on(); i++) {
		forget_recorded();
		launch_whole(STREAM_A, CUDA_SUCCESS);
	}
	assert_true(is_on());
	assert_in_range(submissions, 5 * SHARE, 5000);
	launch_until_burst(STREAM_A, SUBMISSIONS - 1);
	settings.level = GST_LEVEL_HOST; /* in the middle of one */
	forget_recorded();
	for (unsigned i = 0; i < 100; i++)
		launch_whole(STREAM_A, CUDA_SUCCESS);
	assert_int_equal(driver.n_recorded, 100);
	assert_int_equal(burst_floor, 0);
	assert_int_equal(last_burst().burst, number_of(window)); /* written down */
	assert_int_equal(now.edges, 0);
}

static void none_during_a_capture(void **state)
{
	(void)state;
	launch_until_burst(STREAM_A, SUBMISSIONS - 1);
	forget_recorded();
	gate.captures = 1;
	driver.capturing = STREAM_B;
	launch_whole(STREAM_A, CUDA_SUCCESS);
	launch_whole(STREAM_A, CUDA_SUCCESS);
	assert_string_equal(log_text(), "LL");
	gate.captures = 0;
	while (is_on())
		launch_whole(STREAM_A, CUDA_SUCCESS);
	assert_int_equal(last_burst().submissions, SUBMISSIONS - 2);
	assert_int_equal(last_burst().passed, 2);
	gate.captures = 1; /* nor does one begin */
	forget_recorded();
	for (unsigned i = 0; i < 3 * WHOLE * SHARE; i++)
		launch_whole(STREAM_A, CUDA_SUCCESS);
	assert_int_equal(recorded_on(STREAM_A), 0);
	gate.captures = 0;
}

static void none_around_programmatic_launches_nor_beside_them(void **state)
{
	struct stream *a;

	(void)state;
	launch_until_burst(STREAM_A, SUBMISSIONS - 1);
	forget_recorded();
	launch_programmatic(STREAM_A);
	launch_programmatic(STREAM_A);
	launch_whole(STREAM_A, CUDA_SUCCESS);
	launch_programmatic(STREAM_A);
	assert_string_equal(log_text(), "LLLL");
	a = stream_get(me, STREAM_A);
	edges_before_block(me, stream_get(me, STREAM_B)); /* it goes on while another is waited for */
	assert_int_equal(recorded_on(STREAM_A), 0);
	edges_before_block(me, a);
	assert_int_equal(recorded_on(STREAM_A), 1);
	stream_finished(a, a->entered);
	forget_recorded();
	launch_programmatic(STREAM_A); /* no start edge before it either */
	assert_string_equal(log_text(), "L");
}

/* Nor is one begun there and paid for; and the stream is as any other again when there have been no more of them for a while. */
static void programmatic_launches_cost_no_burst_and_are_forgotten(void **state)
{
	struct stream *a;
	uint64_t paid;
	uint32_t begun;

	(void)state;
	launch_until_burst(STREAM_A, SUBMISSIONS - 1);
	while (is_on())
		launch_whole(STREAM_A, CUDA_SUCCESS);
	a = stream_get(me, STREAM_A);
	begun = number_of(window);
	paid = edges;
	forget_recorded();
	for (unsigned i = 0; i < 4 * WHOLE * SHARE; i++) {
		if (i % 3 != 2)
			launch_programmatic(STREAM_A);
		else
			launch_whole(STREAM_A, CUDA_SUCCESS);
	}
	assert_int_equal(recorded_on(STREAM_A), 0);
	assert_int_equal(number_of(window), begun);
	assert_int_equal(edges, paid);
	launch_programmatic(STREAM_A);
	for (unsigned i = 0; i < EDGE_PLAIN_AGAIN; i++) {
		assert_true(edge_parts(a));
		launch_whole(STREAM_A, CUDA_SUCCESS);
	}
	assert_false(edge_parts(a));
	launch_until_burst(STREAM_A, SUBMISSIONS - 1);
	launch_whole(STREAM_A, CUDA_SUCCESS);
	assert_int_equal(now.submissions, 2);
}

static void *launch_in_b(void *unused)
{
	(void)unused;
	thread_self();
	launch_whole(STREAM_B, CUDA_SUCCESS);
	return NULL;
}

static void another_thread_launches_in_b(void)
{
	pthread_t other;

	assert_int_equal(pthread_create(&other, NULL, launch_in_b, NULL), 0);
	pthread_join(other, NULL);
	stream_find(me, STREAM_B)->last_submit += clock_ticks_in(60 * IN_USE_NS); /* however slow this machine is */
}

static void launch_in_legacy_beside(bool another)
{
	struct call c;

	call_enter(&c, HOOK_cuLaunchKernel, GST_FAMILY_LAUNCH);
	launch_kernel(&c, NULL, NULL, 1, 1, 1, 1);
	fake_record(NULL, NULL);
	if (another)
		another_thread_launches_in_b();
	call_exit(&c, CUDA_SUCCESS);
}

static void wait_until_b_is_out_of_use(void)
{
	stream_find(me, STREAM_B)->last_submit -= clock_ticks_in(61 * IN_USE_NS);
}

/* What is put into B behind an event there would wait for what is in A, if that thread is faster than the event. */
static void none_in_the_legacy_stream_beside_another_thread(void **state)
{
	uint32_t begun;
	uint64_t paid;

	(void)state;
	launch_until_burst(STREAM_A, SUBMISSIONS - 1);
	forget_recorded();
	launch_whole(STREAM_A, CUDA_SUCCESS); /* this thread's own, of which the next waits anyway */
	launch_in_legacy_beside(false);
	launch_in_legacy_beside(true); /* … and just then */
	launch_in_legacy_beside(false);
	launch_whole(STREAM_A, CUDA_SUCCESS);
	assert_string_equal(log_text(), "ELE"
					"ELE"
					"EL"
					"ELE" /* in B */
					"L"
					"ELE");
	assert_int_equal(recorded_on(CU_STREAM_LEGACY), 3);
	assert_int_equal(now.passed, 2);
	while (is_on())
		launch_whole(STREAM_A, CUDA_SUCCESS);
	begun = number_of(window);
	paid = edges;
	forget_recorded();
	for (unsigned i = 0; i < 4 * WHOLE * SHARE; i++)
		launch_in_legacy_beside(false);
	assert_int_equal(recorded_on(CU_STREAM_LEGACY), 0);
	assert_int_equal(number_of(window), begun);
	assert_int_equal(edges, paid);
	wait_until_b_is_out_of_use();
	launch_until_burst(NULL, SUBMISSIONS - 1);
	launch_whole(NULL, CUDA_SUCCESS);
	assert_int_equal(now.submissions, 2);
}

static CUresult non_blocking(CUstream s, unsigned *f)
{
	*f = s == STREAM_B ? CU_STREAM_NON_BLOCKING : 0;
	return CUDA_SUCCESS;
}

static void a_stream_that_the_legacy_one_ignores_is_none_beside_it(void **state)
{
	(void)state;
	real.cuStreamGetFlags = non_blocking;
	another_thread_launches_in_b();
	launch_until_burst(NULL, SUBMISSIONS - 1);
	launch_in_legacy_beside(true);
	assert_int_equal(now.submissions, 3); /* two of these, and the one in B */
	assert_int_equal(now.passed, 0);
}

/* Nothing is known to stand right behind the bracket before it any more, neither for the burst's end nor for the next one. */
static void a_host_function_takes_a_place_and_no_bracket(void **state)
{
	(void)state;
	launch_until_burst(STREAM_A, SUBMISSIONS - 1);
	driver.query_answer = CUDA_ERROR_NOT_READY; /* as if the edge behind it would do */
	run_host_function(STREAM_B);
	forget_recorded();
	launch_whole(STREAM_A, CUDA_SUCCESS);
	assert_string_equal(log_text(), "ELE");
	while (left_of(window) > 1)
		launch_whole(STREAM_A, CUDA_SUCCESS);
	run_host_function(STREAM_B);
	assert_false(is_on());
	assert_int_equal(last_burst().submissions, SUBMISSIONS - 2);
	assert_int_equal(last_burst().passed, 0);
	assert_int_equal(last_burst().edges, 2 + 2 + SUBMISSIONS - 4); /* no BURST_NULL */
}

static void none_in_a_stream_that_others_submit_to(void **state)
{
	struct stream *a;

	(void)state;
	launch_until_burst(STREAM_A, SUBMISSIONS - 1);
	a = stream_get(me, STREAM_A);
	forget_recorded();
	a->entered++;
	launch_whole(STREAM_A, CUDA_SUCCESS);
	assert_string_equal(log_text(), "L");
	a->returned++;
	launch_whole(STREAM_A, CUDA_SUCCESS);
	assert_string_equal(log_text(), "LELE");
	while (is_on())
		launch_whole(STREAM_A, CUDA_SUCCESS);
	assert_int_equal(last_burst().passed, 1);
}

static void none_behind_a_launch_that_failed(void **state)
{
	(void)state;
	launch_until_burst(STREAM_A, SUBMISSIONS - 1);
	launch_whole(STREAM_A, CUDA_ERROR_INVALID_VALUE);
	launch_whole(STREAM_A, CUDA_SUCCESS);
	assert_string_equal(log_text(), "ELE"
					"EL"
					"ELE");
	while (is_on())
		launch_whole(STREAM_A, CUDA_SUCCESS);
	assert_int_equal(last_burst().passed, 1);
	assert_int_equal(last_burst().submissions, SUBMISSIONS - 1);
}

/* ---- its end ----------------------------------------------------------------------------------------------------------- */

static __attribute__((noinline)) void launch_and_jump_out(CUstream handle)
{
	struct call c;

	call_enter(&c, HOOK_cuLaunchKernel, GST_FAMILY_LAUNCH);
	launch_kernel(&c, handle, NULL, 1, 1, 1, 1);
}

static void nobody_returned_from_a_launch_in_it(void **state)
{
	(void)state;
	launch_until_burst(STREAM_A, SUBMISSIONS - 1);
	launch_and_jump_out(STREAM_A);
	assert_int_equal(inside_of(window), 1);
	call_abandon(me);
	me->depth = 0;
	assert_int_equal(inside_of(window), 0);
	while (is_on())
		launch_whole(STREAM_A, CUDA_SUCCESS);
	assert_int_equal(last_burst().submissions, SUBMISSIONS - 1);
	assert_int_equal(last_burst().passed, 1);
}

static void the_process_ends_in_it(void **state)
{
	(void)state;
	launch_until_burst(STREAM_A, SUBMISSIONS - 1);
	launch_whole(STREAM_A, CUDA_SUCCESS);
	burst_end(me);
	assert_false(is_on());
	assert_int_equal(last_burst().burst, number_of(window));
	assert_int_equal(last_burst().submissions, 2);
	assert_int_equal(last_burst().edges, 4);
	burst_end(me); /* once */
	forget_recorded();
	launch_whole(STREAM_A, CUDA_SUCCESS);
	assert_string_equal(log_text(), "L");
}

/* The helper keeps awake for it: not for one whose program does something else. */
static void it_goes_on_while_it_has_edges(void **state)
{
	(void)state;
	assert_false(burst_goes_on());
	launch_until_burst(STREAM_A, SUBMISSIONS - 1);
	now.end = clock_ticks() + clock_ticks_in(1000000000); /* however slow this machine is */
	assert_true(burst_goes_on());
	now.end = clock_ticks() - clock_ticks_in(5000000);
	assert_true(is_on());
	assert_false(burst_goes_on());
	burst_end(me);
	now.end = clock_ticks() + clock_ticks_in(1000000000);
	assert_false(burst_goes_on());
}

static void a_child_begins_with_none(void **state)
{
	(void)state;
	launch_until_burst(STREAM_A, SUBMISSIONS - 1);
	bursts_forget();
	assert_false(is_on());
	assert_int_equal(burst_floor, 0);
	assert_int_equal(now.edges, 0);
}

static void a_slow_program_does_not_keep_it_open(void **state)
{
	uint64_t end;

	(void)state;
	launch_until_burst(STREAM_A, SUBMISSIONS - 1);
	launch_whole(STREAM_A, CUDA_SUCCESS);
	end = now.end;
	now.begin -= clock_ticks_in(SLOW_NS);
	forget_recorded();
	launch_whole(STREAM_A, CUDA_SUCCESS);
	assert_string_equal(log_text(), "L");
	assert_false(is_on());
	assert_int_equal(last_burst().submissions, 2);
	assert_int_equal(last_burst().end, end); /* of its last edge, not of the pause */
}

/* Launches until it holds, in vain so many times at most. */
#define LAUNCH_UNTIL(what)                            \
	for (unsigned tries = 0; !(what); tries++) {  \
		forget_recorded();                    \
		launch_whole(STREAM_A, CUDA_SUCCESS); \
		assert_true(tries < 100000);          \
	}

/* A signal handler jumps out of the few instructions between taking a place and saying so: a place that nobody gives back. Others go on
 * without it after a second. */
static void a_place_that_nobody_gives_back(void **state)
{
	struct call late = { .thread = me };
	uint32_t stuck;
	uint64_t as_it_was;

	(void)state;
	launch_until_burst(STREAM_A, SUBMISSIONS - 1);
	stuck = number_of(window);
	window++;
	LAUNCH_UNTIL(!left_of(window));
	as_it_was = window;
	assert_int_equal(inside_of(window), 1);
	assert_int_equal(burst_floor, 0);
	assert_int_not_equal(last_burst().burst, stuck);
	LAUNCH_UNTIL(met.window == as_it_was); /* one would begin */
	assert_true(window == as_it_was);
	met.ticks -= clock_ticks_in(SLOW_NS);
	LAUNCH_UNTIL(window != as_it_was);
	assert_false(is_on());
	assert_int_equal(number_of(window), stuck + 1); /* nobody's */
	assert_int_equal(last_burst().burst, stuck);
	assert_int_equal(last_burst().submissions, SUBMISSIONS);
	assert_int_equal(last_burst().edges, 2 * SUBMISSIONS); /* nothing is known to stand behind the last */
	launch_until_burst(STREAM_A, SUBMISSIONS - 1);
	assert_int_equal(number_of(window), stuck + 2);
	assert_int_equal(now.edges, 2);
	/* Somebody who was in it comes back after all. */
	late.stream = stream_get(me, STREAM_A);
	as_it_was = window;
	forget_recorded();
	me->burst.inside = stuck;
	burst_after_submit(&late, true);
	assert_int_equal(me->burst.inside, 0);
	me->burst.inside = stuck;
	burst_abandon(me);
	assert_int_equal(me->burst.inside, 0);
	assert_true(window == as_it_was);
	assert_int_equal(now.edges, 2);
	assert_int_equal(now.passed, 0);
	assert_int_equal(driver.n_recorded, 0);
}

/* A handful of launches later is no second. */
static void a_burst_that_goes_on_is_not_given_up(void **state)
{
	uint64_t as_it_was;

	(void)state;
	launch_until_burst(STREAM_A, SUBMISSIONS - 1);
	window++;
	LAUNCH_UNTIL(!left_of(window));
	as_it_was = window;
	LAUNCH_UNTIL(met.window == as_it_was);
	window++; /* another one, meanwhile */
	met.ticks -= clock_ticks_in(SLOW_NS);
	LAUNCH_UNTIL(met.window == as_it_was + 1);
	assert_true(window == as_it_was + 1);
	assert_true(clock_ticks() - met.ticks < clock_ticks_in(SLOW_NS));
}

/* Another thread takes the last place before the one that begins it has said that there are any. */
static void the_last_place_is_taken_at_once(void **state)
{
	(void)state;
	window = 1ull << 32 | 2;
	floor_raise();
	assert_int_equal(burst_floor, 0);
	window = 1ull << 32 | LEFT_ONE | 1;
	floor_raise();
	assert_true(burst_floor == INT64_MAX);
	assert_true(enter(me));
	assert_int_equal(burst_floor, 0);
}

/* ---- several threads --------------------------------------------------------------------------------------------------- */

#define THREADS 4
#define EACH 20000

static void *launch_often(void *stream)
{
	thread_self();
	for (unsigned i = 0; i < EACH; i++) {
		struct call c;

		call_enter(&c, HOOK_cuLaunchKernel, GST_FAMILY_LAUNCH);
		launch_kernel(&c, stream, NULL, 1, 1, 1, 1);
		call_exit(&c, CUDA_SUCCESS);
	}
	return NULL;
}

static void threads_share_one(void **state)
{
	static const uintptr_t streams[THREADS] = { 0xa000, 0xb000, 0xb000, 0xd000 };
	pthread_t threads[THREADS];

	(void)state;
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, launch_often, (void *)streams[i]), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	burst_end(me);
	assert_false(is_on());
	assert_int_equal(burst_floor, 0);
	assert_int_equal(submissions, THREADS * EACH); /* all counted, by the threads' ends */
	/* No more than the budget; fewer, as none begins while a thread without a processor has a place in the one before. */
	assert_in_range(number_of(window), 4, 2 * THREADS * EACH / SHARE / WHOLE);
	assert_in_range(edges, 4 * SUBMISSIONS, THREADS * EACH / SHARE + 2 * SUBMISSIONS_MAX);
	assert_int_equal(now.edges + now.submissions + now.passed, 0); /* all of them were written down */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(none_at_other_levels, set_up_bursts),
		cmocka_unit_test_setup(none_during_a_capture, set_up_bursts),
		cmocka_unit_test_setup(none_around_programmatic_launches_nor_beside_them, set_up_bursts),
		cmocka_unit_test_setup(programmatic_launches_cost_no_burst_and_are_forgotten, set_up_bursts),
		cmocka_unit_test_setup(none_in_the_legacy_stream_beside_another_thread, set_up_bursts),
		cmocka_unit_test_setup(a_stream_that_the_legacy_one_ignores_is_none_beside_it, set_up_bursts),
		cmocka_unit_test_setup(a_host_function_takes_a_place_and_no_bracket, set_up_bursts),
		cmocka_unit_test_setup(none_in_a_stream_that_others_submit_to, set_up_bursts),
		cmocka_unit_test_setup(none_behind_a_launch_that_failed, set_up_bursts),
		cmocka_unit_test_setup(nobody_returned_from_a_launch_in_it, set_up_bursts),
		cmocka_unit_test_setup(the_process_ends_in_it, set_up_bursts),
		cmocka_unit_test_setup(it_goes_on_while_it_has_edges, set_up_bursts),
		cmocka_unit_test_setup(a_child_begins_with_none, set_up_bursts),
		cmocka_unit_test_setup(a_slow_program_does_not_keep_it_open, set_up_bursts),
		cmocka_unit_test_setup(a_place_that_nobody_gives_back, set_up_bursts),
		cmocka_unit_test_setup(a_burst_that_goes_on_is_not_given_up, set_up_bursts),
		cmocka_unit_test_setup(the_last_place_is_taken_at_once, set_up_bursts),
		cmocka_unit_test_setup(threads_share_one, set_up_bursts),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
