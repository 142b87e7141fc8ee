/* SPDX-License-Identifier: BSD-2-Clause */
/* Timing events around what a stream waits for, against a driver made of a few lines: where there are none, and how many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <pthread.h>

#include "shim/edge.c" /* its numbers are looked up here */
#include "tests/unit/shim_driver.h"

#define A_MINUTE 60000000000ull

static void launch(CUstream handle)
{
	struct call c;

	call_enter(&c, HOOK_cuLaunchKernel, GST_FAMILY_LAUNCH);
	launch_kernel(&c, handle, NULL, 1, 1, 1, 1);
	fake_record(NULL, handle);
	call_exit(&c, CUDA_SUCCESS);
}

static void nothing(void)
{
}

static void capture_is_over(void)
{
	gate.captures = 0;
}

/* meanwhile: between the recorder's two halves of the call. */
static void await_value(CUstream handle, void (*meanwhile)(void))
{
	struct call c;

	call_enter(&c, HOOK_cuStreamWaitValue32_v2, GST_FAMILY_MEMOP);
	wait_memory(&c, handle, 0x7000, 1, 0, 32);
	fake_record(NULL, handle);
	meanwhile();
	call_exit(&c, CUDA_SUCCESS);
}

static void await_event(CUstream handle)
{
	struct call c;

	call_enter(&c, HOOK_cuStreamWaitEvent, GST_FAMILY_STREAM_WAIT);
	wait_event(&c, handle, (CUevent)0x77);
	wait_began(&c, CUDA_SUCCESS);
	call_exit(&c, CUDA_SUCCESS);
}

/* ---- the legacy default stream ----------------------------------------------------------------------------------------- */

static void *await_in_b(void *unused)
{
	(void)unused;
	thread_self();
	await_value(STREAM_B, nothing);
	return NULL;
}

static void *launch_in_b(void *unused)
{
	(void)unused;
	thread_self();
	launch(STREAM_B);
	return NULL;
}

static void in_another_thread(void *(*f)(void *))
{
	pthread_t other;

	assert_int_equal(pthread_create(&other, NULL, f, NULL), 0);
	pthread_join(other, NULL);
}

static void another_thread_waits(void)
{
	in_another_thread(await_in_b);
}

static void another_thread_launches(void)
{
	in_another_thread(launch_in_b);
}

static unsigned edges_of_wait_in_legacy(void)
{
	stream_get(me, NULL)->pairs_until = 0;
	launch(NULL);
	forget_recorded();
	await_value(NULL, nothing);
	return recorded_on(CU_STREAM_LEGACY);
}

static unsigned edges_of_host_function_in_legacy(void)
{
	stream_get(me, NULL)->pairs_until = 0;
	launch(NULL);
	forget_recorded();
	run_host_function(NULL);
	return recorded_on(CU_STREAM_LEGACY);
}

/* An event there waits for the wait in B, and what the other thread puts into a third stream to end that would wait for the event. */
static void none_in_the_legacy_stream_beside_another_threads_waits(void **state)
{
	(void)state;
	assert_int_equal(edges_of_wait_in_legacy(), 2);
	assert_int_equal(edges_of_host_function_in_legacy(), 2);
	another_thread_waits();
	assert_int_equal(edges_of_wait_in_legacy(), 0);
	assert_int_equal(edges_of_host_function_in_legacy(), 0);
	launch(STREAM_A);
	forget_recorded();
	await_value(STREAM_A, nothing); /* any other stream is as it was */
	assert_int_equal(recorded_on(STREAM_A), 2);
}

/* Between the driver's return and our event. */
static void not_even_where_that_wait_has_just_begun(void **state)
{
	(void)state;
	launch(NULL);
	forget_recorded();
	await_value(NULL, another_thread_waits);
	assert_int_equal(recorded_on(CU_STREAM_LEGACY), 1); /* before the wait */
}

/* What the recorder does of a copy from pageable memory. */
static void copy_in_legacy(void (*meanwhile)(void))
{
	struct call c;

	call_enter(&c, HOOK_cuMemcpyHtoD_v2, GST_FAMILY_COPY);
	launch_kernel(&c, NULL, NULL, 1, 1, 1, 1);
	c.edge_after = GST_EDGE_BLOCK;
	meanwhile();
	call_exit(&c, CUDA_SUCCESS);
}

static void nor_behind_a_copy(void **state)
{
	(void)state;
	launch(NULL);
	forget_recorded();
	copy_in_legacy(another_thread_launches);
	assert_int_equal(recorded_on(CU_STREAM_LEGACY), 1);
	copy_in_legacy(another_thread_waits);
	assert_int_equal(recorded_on(CU_STREAM_LEGACY), 1);
}

static CUresult non_blocking(CUstream s, unsigned *f)
{
	*f = s == STREAM_B ? CU_STREAM_NON_BLOCKING : 0;
	return CUDA_SUCCESS;
}

static void waits_in_streams_that_the_legacy_one_ignores_are_no_matter(void **state)
{
	(void)state;
	real.cuStreamGetFlags = non_blocking;
	another_thread_waits();
	assert_int_equal(edges_of_wait_in_legacy(), 2);
	copy_in_legacy(nothing);
	assert_int_equal(recorded_on(CU_STREAM_LEGACY), 3);
}

/* Its streams and the legacy one's would have to wait for each other once more than they do. */
static void none_in_the_legacy_stream_beside_another_threads_work(void **state)
{
	(void)state;
	another_thread_launches();
	stream_find(me, STREAM_B)->last_submit += clock_ticks_in(A_MINUTE); /* however slow this machine is */
	assert_int_equal(edges_of_wait_in_legacy(), 0);
	assert_int_equal(edges_of_host_function_in_legacy(), 0);
	stream_find(me, STREAM_B)->last_submit -= clock_ticks_in(2 * A_MINUTE); /* and it is long ago */
	assert_int_equal(edges_of_wait_in_legacy(), 2);
	assert_int_equal(edges_of_host_function_in_legacy(), 2);
}

/* ---- how many ----------------------------------------------------------------------------------------------------------- */

/* No event of the program's is named in the call: ours may be made for it. */
static void a_contexts_first_wait_for_a_value_has_both(void **state)
{
	(void)state;
	launch(STREAM_A);
	forget_recorded();
	await_value(STREAM_A, nothing);
	assert_int_equal(driver.n_recorded, 3);
	assert_non_null(driver.recorded[0].event);
	assert_null(driver.recorded[1].event);
	assert_non_null(driver.recorded[2].event);
}

/* Both or neither. */
static void none_behind_a_wait_where_none_could_be_before_it(void **state)
{
	(void)state;
	launch(STREAM_A);
	forget_recorded();
	driver.capturing = STREAM_B;
	gate.captures = 1;
	await_value(STREAM_A, capture_is_over);
	assert_int_equal(recorded_on(STREAM_A), 0);
	assert_int_equal(gate.captures, 0);
}

static CUstream stream_in(uintptr_t context)
{
	driver.current = (CUcontext)context;
	me->context_known = false;
	me->last_stream = NULL;
	launch((CUstream)(context * 16));
	return (CUstream)(context * 16);
}

/* A program that works ahead puts some steps' waits in at once, and each may be what the device stands idle for. */
static void waits_for_another_devices_events_have_more(void **state)
{
	uint64_t begin_ns;
	struct stream *s;
	CUstream handle;

	(void)state;
	stream_in(0x10000);
	handle = stream_in(0x20000);
	s = stream_get(me, handle);
	edges_reserve(me, s, 200);
	s->pairs_until = clock_ticks() + clock_ticks_in(A_MINUTE); /* of what all kinds have it has had all */
	forget_recorded();
	begin_ns = clock_mono_ns();
	for (unsigned i = 0; i < 100; i++) {
		await_event(handle);
		launch(handle);
	}
	/* the clock's ticks are known to a few percent */
	assert_in_range(recorded_on(handle), 2 * WAITS_AT_ONCE,
			2 * (WAITS_AT_ONCE + (clock_mono_ns() - begin_ns) / 4500000 + 1));
	s->waits_until = clock_ticks() + clock_ticks_in(A_MINUTE);
	forget_recorded();
	await_event(handle);
	assert_int_equal(recorded_on(handle), 0);
	s->waits_until = 0;
	await_value(handle, nothing); /* these are for events */
	assert_int_equal(recorded_on(handle), 0);
}

/* Both budgets of a stream together, at 2 us an edge. */
static void pairs_are_below_half_a_percent_of_a_streams_time(void **state)
{
	const double pair_ns = 2 * 2000;

	(void)state;
	assert_true(pair_ns / PAIR_NS + pair_ns / WAIT_NS < 0.005);
}

/* ---- behind a wait that has no end yet ------------------------------------------------------------------------------------ */

static void mark_often(CUstream handle)
{
	for (unsigned i = 0; i < 100; i++) {
		launch(handle);
		edges_before_block(me, stream_get(me, STREAM_B));
	}
}

/* The driver's queue is full at some 1000 commands, and who is to end the wait must not be held up by ours. */
static void few_stand_in_a_stream_while_a_value_is_awaited(void **state)
{
	struct stream *a;
	unsigned before;

	(void)state;
	launch(STREAM_A);
	a = stream_get(me, STREAM_A);
	forget_recorded();
	driver.query_answer = CUDA_ERROR_NOT_READY;
	before = edges_pending();
	mark_often(STREAM_A);
	assert_in_range(recorded_on(STREAM_A), 100, 110); /* nothing is awaited */
	await_value(STREAM_A, nothing);
	assert_int_equal(edges_stalling, 1);
	forget_recorded();
	mark_often(STREAM_A);
	assert_int_equal(recorded_on(STREAM_A), 0); /* so many are there already */
	mark_often(STREAM_B);
	assert_int_equal(recorded_on(STREAM_B), STALLED_EDGES); /* each stream has its own */
	driver.query_answer = CUDA_SUCCESS;
	edges_harvest(&me->ring, edges_context_is_current);
	assert_int_equal(edges_stalling, 0);
	assert_int_equal(edges_pending(), 0);
	assert_true(before > 0);
	forget_recorded();
	driver.query_answer = CUDA_ERROR_NOT_READY;
	mark_often(STREAM_A);
	assert_in_range(recorded_on(STREAM_A), 100, 110);
	assert_true(stream_covers(a) == a->marked);
}

/* What is known to have fired does not count, whoever has to read it yet. */
static void a_stream_that_goes_on_has_all_its_edges_meanwhile(void **state)
{
	(void)state;
	launch(STREAM_A);
	driver.query_answer = CUDA_ERROR_NOT_READY;
	await_value(STREAM_A, nothing);
	forget_recorded();
	for (unsigned i = 0; i < 100; i++) {
		struct stream *b;

		launch(STREAM_B);
		b = stream_get(me, STREAM_B);
		edges_before_block(me, b);
		stream_finished(b, b->entered);
	}
	assert_in_range(recorded_on(STREAM_B), 100, 110);
}

static void a_context_goes_with_such_a_wait(void **state)
{
	(void)state;
	launch(STREAM_A);
	driver.query_answer = CUDA_ERROR_NOT_READY;
	await_value(STREAM_A, nothing);
	assert_int_equal(edges_stalling, 1);
	edges_context_gone((uintptr_t)CONTEXT);
	assert_int_equal(edges_stalling, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(none_in_the_legacy_stream_beside_another_threads_waits, set_up),
		cmocka_unit_test_setup(not_even_where_that_wait_has_just_begun, set_up),
		cmocka_unit_test_setup(nor_behind_a_copy, set_up),
		cmocka_unit_test_setup(waits_in_streams_that_the_legacy_one_ignores_are_no_matter, set_up),
		cmocka_unit_test_setup(none_in_the_legacy_stream_beside_another_threads_work, set_up),
		cmocka_unit_test_setup(a_contexts_first_wait_for_a_value_has_both, set_up),
		cmocka_unit_test_setup(none_behind_a_wait_where_none_could_be_before_it, set_up),
		cmocka_unit_test_setup(waits_for_another_devices_events_have_more, set_up),
		cmocka_unit_test(pairs_are_below_half_a_percent_of_a_streams_time),
		cmocka_unit_test_setup(few_stand_in_a_stream_while_a_value_is_awaited, set_up),
		cmocka_unit_test_setup(a_stream_that_goes_on_has_all_its_edges_meanwhile, set_up),
		cmocka_unit_test_setup(a_context_goes_with_such_a_wait, set_up),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
