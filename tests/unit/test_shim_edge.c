/* SPDX-License-Identifier: BSD-2-Clause */
/* Which timing events are put where, against a driver made of a few lines: every rule of edge.h that keeps the traced program's
 * streams as they were. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "shim/names.h"
#include "shim/nccl_copy.h"
#include "tests/unit/shim_edge.h"

static void blocking_marks_every_stream_with_unmarked_work(void **state)
{
	struct stream *a, *b;

	(void)state;
	a = launch(STREAM_A);
	b = launch(STREAM_B);
	forget_recorded();
	edges_before_block(me, a);
	assert_int_equal(recorded_on(STREAM_A), 1);
	assert_int_equal(recorded_on(STREAM_B), 1);
	edges_before_block(me, a); /* nothing new in them */
	assert_int_equal(driver.n_recorded, 2);
	launch(STREAM_B);
	forget_recorded();
	edges_before_block(me, a);
	assert_int_equal(recorded_on(STREAM_A), 0);
	assert_int_equal(recorded_on(STREAM_B), 1);
	assert_int_equal(b->marked, 2);
}

static void legacy_stream_is_marked_only_when_awaited(void **state)
{
	struct stream *a, *legacy;

	(void)state;
	a = launch(STREAM_A);
	legacy = launch(NULL);
	assert_int_equal(legacy->kind, GST_STREAM_LEGACY);
	forget_recorded();
	edges_before_block(me, a);
	assert_int_equal(recorded_on(CU_STREAM_LEGACY), 0);
	edges_before_block(me, legacy);
	assert_int_equal(recorded_on(CU_STREAM_LEGACY), 1);
	launch(NULL);
	forget_recorded();
	edges_before_block(me, NULL); /* a context synchronise awaits it too */
	assert_int_equal(recorded_on(CU_STREAM_LEGACY), 1);
}

static void nothing_is_recorded_during_a_capture(void **state)
{
	struct stream *a = launch(STREAM_A);

	(void)state;
	forget_recorded();
	driver.capturing = STREAM_B;
	gate.captures = 1;
	edges_before_block(me, a);
	edge_record(me, a, GST_EDGE_START, 1);
	assert_int_equal(driver.n_recorded, 0);
	gate.captures = 0;
	edges_before_block(me, a);
	assert_int_equal(driver.n_recorded, 1);
}

static void nothing_is_recorded_at_level_host(void **state)
{
	struct stream *a;

	(void)state;
	settings.level = GST_LEVEL_HOST;
	a = launch(STREAM_A);
	edges_before_block(me, a);
	assert_int_equal(driver.n_recorded, 0);
}

static void submission_in_flight_means_no_claim(void **state)
{
	struct stream *a = launch(STREAM_A);

	(void)state;
	forget_recorded();
	a->entered++; /* another thread is between its number and the driver's return */
	assert_int_equal(stream_covers(a), 0);
	edges_before_block(me, a);
	assert_int_equal(driver.n_recorded, 0);
	a->returned++;
	edges_before_block(me, a);
	assert_int_equal(driver.n_recorded, 1);
	assert_int_equal(a->marked, 2);
}

/* A launch whose driver call nobody returns from. */
static __attribute__((noinline)) void launch_and_jump_out(CUstream handle)
{
	struct call c;

	call_enter(&c, HOOK_cuLaunchKernel, GST_FAMILY_LAUNCH);
	launch_kernel(&c, handle, NULL, 1, 1, 1, 1);
}

static void a_submission_nobody_returned_from_is_on_record_and_counted(void **state)
{
	struct stream *a = stream_get(me, STREAM_A);
	uint8_t room[4096];
	const struct gst_call *r;
	struct call c;
	uint32_t at;

	(void)state;
	__asm__ volatile("" : : "r"(room) : "memory"); /* the frame that is left lies below this one */
	launch_and_jump_out(STREAM_A);
	assert_int_equal(stream_covers(a), 0);
	at = me->ring.at;
	call_enter(&c, HOOK_cuCtxSynchronize, GST_FAMILY_OTHER);
	assert_ptr_equal(c.thread, me);
	assert_int_equal(stream_covers(a), 1);
	r = (const struct gst_call *)(me->ring.segment + at);
	assert_int_equal(r->record.type, GST_CALL);
	assert_int_equal(r->hook, HOOK_cuLaunchKernel);
	assert_int_equal(r->seq, 1);
	assert_int_equal(r->stream, a->id);
	assert_int_equal(r->flags, GST_SUBMISSION);
	call_exit(&c, CUDA_SUCCESS);
	call_abandon(me); /* once */
	assert_int_equal(stream_covers(a), 1);
	assert_int_equal(a->returned, 1);
}

static void large_copies_get_edges_of_their_own(void **state)
{
	struct stream *a = launch(STREAM_A);

	(void)state;
	forget_recorded();
	edge_before_submit(me, a, 0); /* kernel after kernel */
	assert_int_equal(driver.n_recorded, 0);
	edge_before_submit(me, a, GST_COPY_H2D_PINNED);
	assert_int_equal(driver.n_recorded, 1);
	a->entered++, a->returned++;
	edge_before_submit(me, a, GST_COPY_H2D_PINNED); /* the same kind goes on */
	assert_int_equal(driver.n_recorded, 1);
	a->entered++, a->returned++;
	edge_before_submit(me, a, 0);
	assert_int_equal(driver.n_recorded, 2);
}

/* They come as often as launches do, and the stream is never empty: two edges for one of them in a millisecond, four at once. */
static void copies_that_alternate_with_kernels_have_few_edges(void **state)
{
	struct stream *a = launch(STREAM_A);
	uint64_t begin_ns = clock_mono_ns(), pairs;

	(void)state;
	forget_recorded();
	for (unsigned i = 0; i < 20000; i++) {
		edge_before_submit(me, a, i % 2 ? 0 : GST_COPY_H2D_PINNED);
		a->entered++, a->returned++;
	}
	pairs = (clock_mono_ns() - begin_ns) / 900000 + PAIRS_AT_ONCE +
		1; /* the clock's ticks are known to a few percent */
	assert_in_range(driver.n_recorded, 2 * PAIRS_AT_ONCE, 2 * pairs);
	a->pairs_until = clock_ticks() + clock_ticks_in(60000000000); /* it has had all it may for a minute */
	edge_before_submit(me, a, 0); /* where a run ends whose begin was marked, that may yet be */
	forget_recorded();
	for (unsigned i = 0; i < 1000; i++) {
		a->entered++, a->returned++;
		edge_before_submit(me, a, i % 2 ? 0 : i % 4 ? GST_COPY_H2D_PINNED : GST_COPY_D2H_PINNED);
	}
	assert_int_equal(driver.n_recorded, 0);
	a->pairs_until = clock_ticks() - clock_ticks_in(1000000); /* and time passes */
	for (unsigned i = 0; i < 3; i++) {
		a->entered++, a->returned++;
		edge_before_submit(me, a, i % 2 ? 0 : GST_COPY_H2D_PINNED);
	}
	assert_int_equal(driver.n_recorded, 3);
}

/* Both edges or none, out of the same two in a millisecond. */
static void host_functions_have_few_edges(void **state)
{
	struct stream *a = launch(STREAM_A);

	(void)state;
	launch(STREAM_B);
	forget_recorded();
	run_host_function(STREAM_A);
	assert_int_equal(driver.n_recorded, 2);
	a->pairs_until = clock_ticks() + clock_ticks_in(60000000000);
	for (unsigned i = 0; i < 50; i++)
		run_host_function(STREAM_A);
	assert_int_equal(driver.n_recorded, 2);
	run_host_function(STREAM_B); /* each stream has its own */
	assert_int_equal(recorded_on(STREAM_B), 2);
}

/* What happens between the recorder's two halves of the call. */
static void nothing(void)
{
}

static void capture_ends(void)
{
	gate.captures = 0;
}

static void nccl_launches(CUstream handle, bool programmatic, void (*meanwhile)(void), CUresult rc)
{
	CUlaunchAttribute serial = { .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
				     .value.programmaticStreamSerializationAllowed = 1 };
	CUlaunchConfig config = { .hStream = handle, .attrs = &serial, .numAttrs = programmatic };
	struct call c;

	nccl_inside = nccl_copies;
	call_enter(&c, HOOK_cuLaunchKernelEx, GST_FAMILY_LAUNCH);
	launch_config(&c, &config, NULL, false);
	fake_record(NULL, handle);
	meanwhile();
	call_exit(&c, rc);
	nccl_inside = NULL;
}

static void launch_by_nccl(CUstream handle, bool programmatic)
{
	nccl_launches(handle, programmatic, nothing, CUDA_SUCCESS);
}

/* A collective's kernel: an edge before it and one behind it, or none; like host functions, and never in the legacy default stream. */
static void what_nccl_launches_has_edges_of_its_own(void **state)
{
	struct stream *a = launch(STREAM_A);

	(void)state;
	launch(STREAM_B);
	launch(NULL);
	forget_recorded();
	launch_by_nccl(STREAM_A, false);
	assert_int_equal(driver.n_recorded, 3);
	assert_non_null(driver.recorded[0].event);
	assert_null(driver.recorded[1].event); /* the kernel is between them */
	assert_non_null(driver.recorded[2].event);
	assert_int_equal(a->marked, 2);
	a->pairs_until = clock_ticks() + clock_ticks_in(60000000000);
	forget_recorded();
	launch_by_nccl(STREAM_A, false);
	launch_by_nccl(STREAM_B, true);
	launch_by_nccl(NULL, false);
	assert_int_equal(driver.n_recorded, 3); /* the kernels */
	settings.level = GST_LEVEL_HOST;
	launch_by_nccl(STREAM_B, false);
	assert_int_equal(driver.n_recorded, 4);
}

/* Bursts have less than the rest of what all edges may be: by those that were made. */
static void edges_that_nccl_did_not_get_are_not_counted(void **state)
{
	struct stream *a = launch(STREAM_A);

	(void)state;
	forget_recorded();
	driver.capturing = STREAM_B;
	gate.captures = 1;
	launch_by_nccl(STREAM_A, false);
	a->pairs_until = 0;
	nccl_launches(STREAM_A, false, capture_ends, CUDA_SUCCESS); /* none before it, so none behind it */
	assert_int_equal(recorded_on(STREAM_A), 0);
	assert_int_equal(edges_of_nccl(), 0);
	a->pairs_until = 0;
	nccl_launches(STREAM_A, false, nothing, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
	assert_int_equal(recorded_on(STREAM_A), 1);
	assert_int_equal(edges_of_nccl(), 1);
	launch_by_nccl(STREAM_A, false);
	assert_int_equal(edges_of_nccl(), 3);
}

/* An edge behind the collective's kernel would be in front of the next one, and that may be programmatic again. */
static void what_nccl_launches_among_programmatic_ones_has_none(void **state)
{
	struct stream *a = launch(STREAM_A);

	(void)state;
	launch_by_nccl(STREAM_A, true);
	for (unsigned i = 0; i < 2 * EDGE_PLAIN_AGAIN; i++)
		launch(STREAM_A);
	assert_false(edge_parts(a));
	launch(STREAM_B);
	forget_recorded();
	launch_by_nccl(STREAM_A, false);
	assert_int_equal(recorded_on(STREAM_A), 0);
	launch_by_nccl(STREAM_B, false);
	assert_int_equal(recorded_on(STREAM_B), 2);
}

/* Nobody sees that its thread went: the wait has an end, edges stop and are counted, and go on when it comes back after all. */
static void a_call_of_ours_that_does_not_return(void **state)
{
	struct stream *a = launch(STREAM_A);
	uint64_t skipped = file_counters()->edges_skipped, begin_ns = clock_mono_ns();

	(void)state;
	forget_recorded();
	gate.inside = 1;
	gate_close();
	gate_open();
	for (unsigned i = 0; i < 100; i++) { /* but once */
		gate_close();
		gate_open();
	}
	/* a tenth of a second as the clock counts that the shim has calibrated, and less than a hundred and one of them */
	assert_in_range(clock_mono_ns() - begin_ns, 90000000, 5000000000);
	edge_record(me, a, GST_EDGE_BLOCK, 1);
	assert_int_equal(driver.n_recorded, 0);
	assert_int_equal(file_counters()->edges_skipped - skipped, 1);
	gate.inside = 0;
	edge_record(me, a, GST_EDGE_BLOCK, 1);
	assert_int_equal(driver.n_recorded, 1);
	assert_int_equal(gate.inside, 0);
}

static void pool_is_bounded_and_skips_are_counted(void **state)
{
	struct stream *a = launch(STREAM_A);
	uint64_t skipped = file_counters()->edges_skipped;

	(void)state;
	driver.query_answer = CUDA_ERROR_NOT_READY;
	for (unsigned i = 0; i < 300; i++)
		edge_record(me, a, GST_EDGE_BLOCK, 1);
	assert_int_equal(driver.created, 256);
	assert_int_equal(file_counters()->edges_skipped - skipped,
			 300 + 1 - 256); /* one start edge came with the launch */
	driver.queried = 0;
	edges_harvest(&me->ring, edges_context_is_current);
	assert_int_equal(driver.queried, 1); /* one has not fired, so none behind it has */
	assert_int_equal(edges_pending(), 256);
	driver.query_answer = CUDA_SUCCESS;
	edges_harvest(&me->ring, edges_context_is_current);
	assert_int_equal(edges_pending(), 0);
	assert_int_equal(driver.elapsed, 255); /* all but the base against the base */
	assert_true(stream_is_empty(a));       /* what they covered has finished */
	edge_record(me, a, GST_EDGE_BLOCK, 1);
	assert_int_equal(driver.created, 256); /* events are used again */
}

static CUstream stream_number(unsigned i)
{
	return (CUstream)(uintptr_t)(0x100000 + 0x100 * i);
}

/* Each stream's first, however many streams there are; what is behind it is not asked for. */
static void one_query_for_each_stream_that_is_busy(void **state)
{
	(void)state;
	driver.query_answer = CUDA_ERROR_NOT_READY;
	for (unsigned i = 0; i < 40; i++) {
		struct stream *s = launch(stream_number(i));

		for (unsigned k = 0; k < 5; k++)
			edge_record(me, s, GST_EDGE_BLOCK, 1);
	}
	assert_int_equal(edges_pending(), 40 * 5 + FIRST_ANCHORS);
	driver.queried = 0;
	edges_harvest(&me->ring, edges_context_is_current);
	assert_int_equal(driver.queried, 40);
	edges_harvest(&me->ring, edges_context_is_current);
	assert_int_equal(driver.queried, 80);
	driver.query_answer = CUDA_SUCCESS;
	edges_harvest(&me->ring, edges_context_is_current);
	assert_int_equal(driver.queried, 80 + 40 * 5 + FIRST_ANCHORS);
	assert_int_equal(edges_pending(), 0);
}

/* Where no event is free the program's own thread asks for a few, and not again at once where that was in vain. */
static void a_full_pool_costs_the_program_little(void **state)
{
	uint64_t skipped = file_counters()->edges_skipped;
	struct stream *s = NULL;

	(void)state;
	driver.query_answer = CUDA_ERROR_NOT_READY;
	for (unsigned i = 0; edges_pending() < EDGE_POOL_EVENTS; i++) {
		s = launch(stream_number(i % 50));
		edge_record(me, s, GST_EDGE_BLOCK, 1);
	}
	assert_int_equal(driver.queried, 0);
	edge_record(me, s, GST_EDGE_BLOCK, 1);
	assert_int_equal(driver.queried, 8);
	edge_pools[0].full_until = clock_ticks() + clock_ticks_in(60000000000);
	for (unsigned i = 0; i < 1000; i++)
		edge_record(me, s, GST_EDGE_BLOCK, 1);
	assert_int_equal(driver.queried, 8);
	assert_int_equal(file_counters()->edges_skipped - skipped, 1001);
	edge_pools[0].full_until = clock_ticks();
	edge_record(me, s, GST_EDGE_BLOCK, 1);
	assert_int_equal(driver.queried, 16);
	driver.query_answer = CUDA_SUCCESS;
	edge_pools[0].full_until = clock_ticks();
	edge_record(me, s, GST_EDGE_BLOCK, 1);
	assert_int_equal(driver.queried, 16 + 32);
	assert_int_equal(edges_pending(), EDGE_POOL_EVENTS - 32 + 1);
	assert_int_equal(file_counters()->edges_skipped - skipped, 1002);
}

/* Slots are used again in any order; their edges are read as they were recorded. */
static void edges_are_read_in_their_order(void **state)
{
	struct stream *a = launch(STREAM_A);
	const struct gst_edge *read;
	uint32_t at, n;

	(void)state;
	for (unsigned i = 0; i < 60; i++)
		edge_record(me, a, GST_EDGE_BLOCK, 1);
	n = edges_pending();
	for (unsigned i = 0; i < n; i++) { /* some order or other, each of them once */
		struct edge_slot *x = &edge_pools[0].slots[i], *y = &edge_pools[0].slots[i * 37 % n], other = *x;

		*x = *y;
		*y = other;
	}
	at = me->ring.at;
	edges_harvest(&me->ring, edges_context_is_current);
	read = (const struct gst_edge *)(me->ring.segment + at);
	assert_int_equal(me->ring.at - at, n * sizeof(*read));
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(read[i].edge, i + 1);
}

/* In the order they were recorded, each against the base that is the first of them. */
static void edges_beyond_32_bits_are_read(void **state)
{
	struct stream *a = launch(STREAM_A);

	(void)state;
	last_edge = UINT32_MAX - 8;
	for (unsigned i = 0; i < 16; i++)
		edge_record(me, a, GST_EDGE_BLOCK, 1);
	edges_harvest(&me->ring, edges_context_is_current);
	assert_int_equal(edges_pending(), 0);
	assert_int_equal(driver.elapsed, 16); /* and the one that came with the launch, which is the base */
	for (unsigned i = 0; i < 16; i++)
		edge_record(me, a, GST_EDGE_BLOCK, 1);
	edges_harvest(&me->ring, edges_context_is_current);
	assert_int_equal(edges_pending(), 0);
	assert_int_equal(driver.elapsed, 32);
}

static void names_beyond_the_table_are_counted(void **state)
{
	const uint64_t kernels = NAMES_KERNELS + 1000, before = file_counters()->names_untracked;
	uint64_t unnamed = 0;

	(void)state;
	for (uint64_t i = 1; i <= kernels; i++)
		unnamed += names_kernel_set(me, (void *)(uintptr_t)(i * 64), "kernel") == 0;
	assert_in_range(unnamed, 1000, 4000);
	assert_int_equal(file_counters()->names_untracked - before, unnamed);
	assert_int_equal(names_kernel_set(me, NULL, "none"), 0); /* no kernel is no loss */
	assert_int_equal(file_counters()->names_untracked - before, unnamed);
	names_forget();
}

/* A thread that goes on putting work in makes no system call for a helper that looks by itself. */
static void work_does_not_wake_a_helper_that_rests(void **state)
{
	(void)state;
	helper_bell = HELPER_RESTS;
	helper_watch();
	assert_int_equal(helper_bell, HELPER_RESTS);
	helper_wake();
	assert_int_equal(helper_bell, HELPER_AWAKE);
	helper_bell = HELPER_ASLEEP;
	helper_wake();
	assert_int_equal(helper_bell, HELPER_AWAKE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(blocking_marks_every_stream_with_unmarked_work, set_up),
		cmocka_unit_test_setup(legacy_stream_is_marked_only_when_awaited, set_up),
		cmocka_unit_test_setup(nothing_is_recorded_during_a_capture, set_up),
		cmocka_unit_test_setup(nothing_is_recorded_at_level_host, set_up),
		cmocka_unit_test_setup(submission_in_flight_means_no_claim, set_up),
		cmocka_unit_test_setup(a_submission_nobody_returned_from_is_on_record_and_counted, set_up),
		cmocka_unit_test_setup(large_copies_get_edges_of_their_own, set_up),
		cmocka_unit_test_setup(copies_that_alternate_with_kernels_have_few_edges, set_up),
		cmocka_unit_test_setup(host_functions_have_few_edges, set_up),
		cmocka_unit_test_setup(what_nccl_launches_has_edges_of_its_own, set_up),
		cmocka_unit_test_setup(edges_that_nccl_did_not_get_are_not_counted, set_up),
		cmocka_unit_test_setup(what_nccl_launches_among_programmatic_ones_has_none, set_up),
		cmocka_unit_test_setup(a_call_of_ours_that_does_not_return, set_up),
		cmocka_unit_test_setup(pool_is_bounded_and_skips_are_counted, set_up),
		cmocka_unit_test_setup(one_query_for_each_stream_that_is_busy, set_up),
		cmocka_unit_test_setup(a_full_pool_costs_the_program_little, set_up),
		cmocka_unit_test_setup(edges_are_read_in_their_order, set_up),
		cmocka_unit_test_setup(edges_beyond_32_bits_are_read, set_up),
		cmocka_unit_test_setup(names_beyond_the_table_are_counted, set_up),
		cmocka_unit_test_setup(work_does_not_wake_a_helper_that_rests, set_up),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
