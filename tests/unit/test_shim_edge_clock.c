/* SPDX-License-Identifier: BSD-2-Clause */
/* What timing events are measured against, and whose they are: the device's clock, contexts and streams that come and go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/unit/shim_edge.h"

/* ---- the device's clock ------------------------------------------------------------------------------------------------ */

/* The record of the last edge that was read. */
static const struct gst_edge *read_edge(struct stream *s, float ms)
{
	uint32_t at;

	driver.ms = ms;
	edge_record(me, s, GST_EDGE_BLOCK, 1);
	at = me->ring.at;
	edges_harvest(&me->ring, edges_context_is_current);
	assert_int_equal(edges_pending(), 0);
	return (const struct gst_edge *)(me->ring.segment + at);
}

/* Each is measured against the base that was renewed last; the one beyond 2 s becomes the base, after a silence of an hour as well. */
static void a_base_too_far_is_not_used_again(void **state)
{
	static const struct {
		float ms;
		uint32_t base;
	} rows[] = {
		{ 1999, 1 }, { 2001, 1 }, { 5, 3 }, { -5, 3 }, { 3600000, 3 }, { 250, 6 }, { 2000.5f, 6 }, { 1, 8 }
	};
	struct stream *a = launch(STREAM_A); /* its start edge is the first base */

	(void)state;
	edges_harvest(&me->ring, edges_context_is_current);
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct gst_edge *e = read_edge(a, rows[i].ms);

		assert_int_equal(e->record.type, GST_EDGE);
		assert_int_equal(e->edge, i + 2);
		assert_int_equal(e->base, rows[i].base);
		assert_true(e->elapsed_ms == rows[i].ms);
	}
}

/* Work goes in, nothing waits for it: every two seconds it gets an edge, put there by the thread that brings the work. */
static void work_without_edges_gets_one(void **state)
{
	struct stream *a = launch(STREAM_A);

	(void)state;
	a = launch(STREAM_A);
	forget_recorded();
	edges_want();
	launch(STREAM_A);
	assert_int_equal(driver.n_recorded, 0);
	edge_pools[0].last_edge -= clock_ticks_in(2100000000);
	edges_want();
	assert_int_equal(driver.n_recorded, 0); /* the helper itself records none */
	launch(STREAM_A);
	assert_int_equal(recorded_on(STREAM_A), 1);
	assert_int_equal(a->marked, 3);
	edges_want();
	launch(STREAM_A);
	assert_int_equal(driver.n_recorded, 1);
	/* Another thread's, after the helper has read the clock. */
	edge_pools[0].last_edge = clock_ticks() + clock_ticks_in(90000000);
	edges_want();
	launch(STREAM_A);
	assert_int_equal(driver.n_recorded, 1);
}

static void launch_on_empty(struct stream *a)
{
	stream_finished(a, a->entered);
	launch(STREAM_A);
}

/* As many at once as at the begin: they hold the clock without what was known before. */
static void a_silence_is_followed_by_start_edges(void **state)
{
	struct stream *a = launch(STREAM_A);

	(void)state;
	for (int i = 0; i < 20; i++)
		launch_on_empty(a);
	assert_int_equal(driver.n_recorded, FIRST_ANCHORS);
	edge_pools[0].last_anchor -= clock_ticks_in(2100000000);
	for (int i = 0; i < 20; i++)
		launch_on_empty(a);
	assert_int_equal(driver.n_recorded, 2 * FIRST_ANCHORS);
	edge_pools[0].last_anchor -= clock_ticks_in(150000000);
	for (int i = 0; i < 20; i++)
		launch_on_empty(a);
	assert_int_equal(driver.n_recorded, 2 * FIRST_ANCHORS + 1);
	/* Another thread's, which read the clock later. */
	edge_pools[0].last_anchor = clock_ticks() + clock_ticks_in(90000000);
	for (int i = 0; i < 20; i++)
		launch_on_empty(a);
	assert_int_equal(driver.n_recorded, 2 * FIRST_ANCHORS + 1);
}

/* ---- contexts ---------------------------------------------------------------------------------------------------------- */

static struct stream *launch_in(uintptr_t context)
{
	driver.current = (CUcontext)context;
	me->context_known = false;
	me->last_stream = NULL;
	return launch((CUstream)(context * 16));
}

/* Each has events of its own; beyond the table of pools there are no edges, and that is counted. */
static void contexts_have_pools_of_their_own(void **state)
{
	uint64_t skipped = file_counters()->edges_skipped;

	(void)state;
	assert_false(edges_several_contexts());
	for (uintptr_t i = 1; i <= EDGE_POOLS; i++)
		launch_in(0x10000 * i);
	assert_true(edges_several_contexts());
	assert_int_equal(driver.created, EDGE_POOLS);
	assert_int_equal(file_counters()->edges_skipped, skipped);
	for (unsigned i = 0; i < EDGE_POOLS; i++)
		assert_int_equal(edge_pools[i].pending, 1);
	forget_recorded();
	edges_before_block(me, launch_in(0x10000 * (EDGE_POOLS + 1)));
	assert_int_equal(driver.n_recorded, 0);
	assert_int_equal(file_counters()->edges_skipped - skipped,
			 1); /* where the host blocks; a start edge was not even tried */
}

/* What it holds is gone with it; the next one gets its place, and new events. */
static void a_context_goes_with_edges_that_have_not_fired(void **state)
{
	uint64_t skipped = file_counters()->edges_skipped;
	struct stream *b;

	(void)state;
	launch_in(0x10000);
	b = launch_in(0x20000);
	edge_record(me, b, GST_EDGE_BLOCK, 1);
	driver.query_answer = CUDA_ERROR_NOT_READY;
	edges_harvest(&me->ring, edges_context_is_current);
	assert_int_equal(edge_pools[1].pending, 2);
	edges_context_gone(0x20000);
	assert_int_equal(file_counters()->edges_skipped - skipped, 2);
	assert_int_equal(edges_pending(), 1); /* the other context's */
	assert_false(edges_several_contexts());
	driver.created = 0x100;
	launch_in(0x30000);
	assert_int_equal(edge_pools[1].context, 0x30000);
	assert_int_equal(edge_pools[1].pending, 1);
	assert_int_equal((uintptr_t)edge_pools[1].slots[0].event, 0xe101);
}

/* A per-thread default stream gets edges from its own thread alone: in another the handle is another stream. */
static void per_thread_streams_are_marked_by_their_thread(void **state)
{
	struct stream *s = launch(CU_STREAM_PER_THREAD);

	(void)state;
	assert_int_equal(s->kind, GST_STREAM_PER_THREAD);
	assert_int_equal(recorded_on(CU_STREAM_PER_THREAD), 1);
	forget_recorded();
	s->tid++;
	edges_before_block(me, NULL);
	edge_record(me, s, GST_EDGE_BLOCK, 1);
	assert_int_equal(driver.n_recorded, 0);
	s->tid--;
	edges_before_block(me, NULL);
	assert_int_equal(recorded_on(CU_STREAM_PER_THREAD), 1);
}

/* The program records, asks for and waits for an event that another process made: no call of ours is about it. */
static void events_of_other_processes_are_left_alone(void **state)
{
	CUevent theirs = (CUevent)0xf00d;
	struct call c;

	(void)state;
	launch(STREAM_A);
	call_enter(&c, HOOK_cuIpcOpenEventHandle, GST_FAMILY_IPC);
	call_exit(&c, CUDA_SUCCESS);
	call_enter(&c, HOOK_cuEventRecord, GST_FAMILY_EVENT_RECORD);
	record_event(&c, STREAM_A, theirs);
	call_exit(&c, CUDA_SUCCESS);
	call_enter(&c, HOOK_cuStreamWaitEvent, GST_FAMILY_STREAM_WAIT);
	wait_event(&c, STREAM_A, theirs);
	wait_began(&c, CUDA_SUCCESS);
	call_exit(&c, CUDA_SUCCESS);
	call_enter(&c, HOOK_cuEventQuery, GST_FAMILY_QUERY_EVENT);
	name_event(&c, theirs);
	call_exit(&c, CUDA_SUCCESS);
	forget_recorded();
	call_enter(&c, HOOK_cuEventSynchronize, GST_FAMILY_SYNC_EVENT);
	sync_event(&c, theirs);
	assert_int_equal(recorded_on(STREAM_A), 1); /* where the work ended that the host may wait for */
	call_exit(&c, CUDA_SUCCESS);
	edges_harvest(&me->ring, edges_context_is_current);
	assert_int_equal(driver.queried, 2); /* our two, see assert_ours */
}

static void a_destroyed_stream_is_another_when_it_comes_back(void **state)
{
	struct stream *a = launch(STREAM_A), *again;
	uint32_t id = a->id;

	(void)state;
	stream_retire((uintptr_t)STREAM_A);
	me->last_stream = NULL;
	again = launch(STREAM_A);
	assert_int_not_equal(again->id, id);
	assert_int_equal(again->entered, 1);
}

/* What hooks.def makes of cuGreenCtxDestroy. */
static uint64_t destroy_green(CUgreenCtx green, CUresult rc)
{
	struct call c;

	call_enter(&c, HOOK_cuGreenCtxDestroy, GST_FAMILY_CONTEXT);
	green_context_destroy(&c, green);
	assert_int_equal(gate.closed, 1);
	context_destroyed(&c, rc);
	assert_int_equal(gate.closed, 0);
	call_exit(&c, rc);
	return c.record.args[0];
}

static void a_green_contexts_streams_are_of_its_device_and_go_with_it(void **state)
{
	struct stream *green, *a;

	(void)state;
	a = launch(STREAM_A);
	green = launch(STREAM_GREEN); /* while another context is current */
	assert_int_equal(a->device, 3);
	assert_int_equal(green->device, 5);
	assert_int_equal(green->context, (uintptr_t)GREEN_CONTEXT);
	forget_recorded();
	edges_before_block(me, NULL); /* our events are of the current context: none of them fits */
	assert_int_equal(recorded_on(STREAM_GREEN), 0);
	assert_int_equal(recorded_on(STREAM_A), 1);
	assert_int_equal(destroy_green(GREEN, CUDA_ERROR_INVALID_CONTEXT), (uintptr_t)GREEN_CONTEXT);
	assert_ptr_equal(stream_find(me, STREAM_GREEN), green);
	assert_int_equal(destroy_green((CUgreenCtx)0x3000, CUDA_SUCCESS), 0); /* the driver does not know it either */
	assert_ptr_equal(stream_find(me, STREAM_GREEN), green);
	destroy_green(GREEN, CUDA_SUCCESS);
	assert_null(stream_find(me, STREAM_GREEN));
	assert_ptr_equal(stream_find(me, STREAM_A), a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_destroyed_stream_is_another_when_it_comes_back, set_up),
		cmocka_unit_test_setup(a_green_contexts_streams_are_of_its_device_and_go_with_it, set_up),
		cmocka_unit_test_setup(a_base_too_far_is_not_used_again, set_up),
		cmocka_unit_test_setup(work_without_edges_gets_one, set_up),
		cmocka_unit_test_setup(a_silence_is_followed_by_start_edges, set_up),
		cmocka_unit_test_setup(contexts_have_pools_of_their_own, set_up),
		cmocka_unit_test_setup(a_context_goes_with_edges_that_have_not_fired, set_up),
		cmocka_unit_test_setup(per_thread_streams_are_marked_by_their_thread, set_up),
		cmocka_unit_test_setup(events_of_other_processes_are_left_alone, set_up),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
