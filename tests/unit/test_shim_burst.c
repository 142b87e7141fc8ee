/* SPDX-License-Identifier: BSD-2-Clause */
/* Bursts, against a driver made of a few lines: which submissions they take, how many events they may cost, and what ends them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <pthread.h>

#include "shim/burst.c" /* whether one is on is looked up and set here */
#include "shim/segment.h"
#include "tests/unit/shim_driver.h"

#define WHOLE (2u * SUBMISSIONS + 1) /* edges of a burst in a program of one stream */
#define NO_WAIT ((CUevent)0x77)

static int set_up_bursts(void **state)
{
	set_up(state);
	bursts_forget();
	memset(&me->burst, 0, sizeof(me->burst));
	me->until_burst = 0;
	file_counters()->injected[HOOK_cuEventRecord] = 0;
	settings.level = GST_LEVEL_BURSTS;
	return 0;
}

static bool is_on(void)
{
	return left_of(window) || inside_of(window);
}

/* What hooks.def makes of cuLaunchKernel. */
static CUresult launch_whole(CUstream handle, CUresult rc)
{
	struct call c;

	call_enter(&c, HOOK_cuLaunchKernel, GST_FAMILY_LAUNCH);
	launch_kernel(&c, handle, NULL, 1, 1, 1, 1);
	fake_record(NULL, handle);
	call_exit(&c, rc);
	return rc;
}

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

static void wait_for_event(CUstream handle)
{
	struct call c;

	call_enter(&c, HOOK_cuStreamWaitEvent, GST_FAMILY_STREAM_WAIT);
	wait_event(&c, handle, NO_WAIT);
	call_exit(&c, CUDA_SUCCESS);
}

/* Launches until one is on that takes so many submissions (0 any). The launch that begins it is the last in the log. */
static void launch_until_burst(CUstream handle, uint32_t left)
{
	for (unsigned i = 0; i < 100000; i++) {
		forget_recorded();
		launch_whole(handle, CUDA_SUCCESS);
		if (left_of(window) >= (left ? left : 1))
			return;
	}
	fail_msg("no burst in 100000 launches");
}

/* The log since then: E an event, L a launch. */
static const char *log_text(void)
{
	static char text[256];
	unsigned n = driver.n_recorded < sizeof(text) - 1 ? driver.n_recorded : sizeof(text) - 1;

	for (unsigned i = 0; i < n; i++)
		text[i] = driver.recorded[i].event ? 'E' : 'L';
	text[n] = 0;
	return text;
}

/* The last one of a segment; .burst 0: it has none. */
static struct gst_burst last_burst_of(const uint8_t *segment, uint32_t end)
{
	struct gst_burst found = { 0 };

	for (uint32_t at = sizeof(struct gst_segment_header); at + sizeof(struct gst_record) <= end;) {
		const struct gst_record *r = (const void *)(segment + at);

		if (r->size == 0)
			break;
		if (r->type == GST_BURST)
			memcpy(&found, r, sizeof(found));
		at += r->size;
	}
	return found;
}

/* The last one written down by this thread: wherever it began, a segment may have been full since. */
static struct gst_burst last_burst(void)
{
	struct gst_burst found = last_burst_of(me->ring.segment, me->ring.at);
	struct gst_segment_header header;

	memcpy(&header, me->ring.segment, sizeof(header));
	while (!found.burst && header.previous != GST_NONE) {
		struct segment before = { .index = header.previous };

		assert_int_equal(segment_map(&before, false), 0);
		found = last_burst_of(before.base, GST_SEGMENT_BYTES);
		memcpy(&header, before.base, sizeof(header));
		segment_release(before.base);
	}
	return found;
}

/* ---- what is in one --------------------------------------------------------------------------------------------------- */

static void every_submission_stands_between_two_edges(void **state)
{
	struct gst_burst b;

	(void)state;
	launch_until_burst(STREAM_A, SUBMISSIONS - 1);
	for (unsigned i = 1; i < SUBMISSIONS; i++) {
		assert_true(is_on());
		launch_whole(STREAM_A, CUDA_SUCCESS);
	}
	assert_false(is_on());
	assert_string_equal(log_text(), "ELEELEELEELEELEELEELEELEE"); /* the last: an edge right behind another */
	b = last_burst();
	assert_int_equal(b.burst, number_of(window));
	assert_int_equal(b.submissions, SUBMISSIONS);
	assert_int_equal(b.edges, WHOLE);
	assert_int_equal(b.passed, 0);
	assert_true(b.begin < b.end && b.cost_ticks > 0 && b.cost_ticks < b.end - b.begin);
	for (unsigned i = 0; i < 20; i++)
		launch_whole(STREAM_A, CUDA_SUCCESS);
	assert_int_equal(driver.n_recorded, WHOLE + SUBMISSIONS + 20);
}

static void first_ones_come_soon_and_are_short(void **state)
{
	unsigned n = 1;

	(void)state;
	launch_whole(STREAM_A, CUDA_SUCCESS);
	while (!is_on() && n++ < 100000)
		launch_whole(STREAM_A, CUDA_SUCCESS);
	/* Later than the first stretch by what edges of other kinds have used: eight, when a stream is first seen empty. */
	assert_in_range(n, 5 * SHARE, 5 * SHARE + (5 + 8 + RESERVE + 1) * SHARE_OF_ALL);
	launch_whole(STREAM_A, CUDA_SUCCESS);
	assert_false(is_on());
	assert_int_equal(last_burst().submissions, 2);
	launch_until_burst(STREAM_A, 0);
	assert_int_equal(left_of(window), 3);
}

static void an_edge_that_has_not_fired_serves_both_sides(void **state)
{
	(void)state;
	launch_until_burst(STREAM_A, SUBMISSIONS - 1);
	driver.query_answer = CUDA_ERROR_NOT_READY;
	launch_whole(STREAM_A, CUDA_SUCCESS);
	launch_whole(STREAM_A, CUDA_SUCCESS);
	wait_for_event(STREAM_A); /* something came between */
	launch_whole(STREAM_A, CUDA_SUCCESS);
	launch_whole(STREAM_B, CUDA_SUCCESS); /* another stream */
	launch_whole(STREAM_A, CUDA_SUCCESS);
	assert_string_equal(log_text(), "ELE"
					"LE"
					"LE"
					"ELE"
					"ELE"
					"ELE");
	driver.query_answer = CUDA_SUCCESS;
	launch_whole(STREAM_A, CUDA_SUCCESS);
	launch_whole(STREAM_A, CUDA_SUCCESS);
	assert_string_equal(log_text(), "ELE"
					"LE"
					"LE"
					"ELE"
					"ELE"
					"ELE"
					"ELE"
					"ELEE");
	assert_int_equal(last_burst().submissions, SUBMISSIONS);
	assert_int_equal(last_burst().edges, WHOLE - 2);
}

static void other_streams_with_work_are_marked_but_never_the_legacy_one(void **state)
{
	uint32_t begun, in_legacy;

	(void)state;
	launch_until_burst(STREAM_A, SUBMISSIONS - 1);
	while (is_on())
		launch_whole(STREAM_A, CUDA_SUCCESS);
	begun = number_of(window);
	while (number_of(window) == begun) {
		forget_recorded();
		launch_whole(STREAM_B, CUDA_SUCCESS);
		if (number_of(window) == begun)
			launch_whole(NULL, CUDA_SUCCESS);
		if (number_of(window) != begun)
			break;
		launch_whole(STREAM_A, CUDA_SUCCESS);
	}
	while (is_on()) /* whichever of the three it began in, this one is bracketed */
		launch_whole(STREAM_A, CUDA_SUCCESS);
	assert_int_equal(last_burst().burst, begun + 1);
	assert_int_equal(last_burst().passed, 0);
	assert_int_equal(last_burst().submissions, SUBMISSIONS + 2); /* one more for each of the other two */
	in_legacy = recorded_on(CU_STREAM_LEGACY) /
		    2; /* it began there, and that launch has its bracket; or it has nothing there */
	assert_int_equal(recorded_on(CU_STREAM_LEGACY), 2 * in_legacy);
	assert_int_equal(last_burst().edges, 2 * last_burst().submissions + 1 + (in_legacy ? 2 : 1));
}

/* ---- which submissions ------------------------------------------------------------------------------------------------ */

#define MANY 330000u
#define PHASE 10000u

/* One in each stretch of as many submissions as its edges pay for, anywhere in it, no matter how many edges those before it took: where work
 * piles up it is fewer. And the budget holds at any moment. */
static void bursts_are_an_even_sample_within_the_budget(void **state)
{
	unsigned quarters[4] = { 0 }, phases[2] = { 0 }, n = 0, all = 0;
	int64_t stretch = WHOLE * SHARE;

	(void)state;
	for (unsigned i = 1; i <= MANY; i++) {
		uint32_t begun = number_of(window), piles_up = i / PHASE % 2;

		driver.query_answer = CUDA_SUCCESS;
		if (i % 1000 == 0)
			edges_harvest(&me->ring, edges_context_is_current);
		driver.query_answer = piles_up ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
		forget_recorded();
		launch_whole(STREAM_A, CUDA_SUCCESS);
		all += driver.n_recorded - 1;
		if (i > 1000)
			assert_true(all * SHARE_OF_ALL <= i);
		if (number_of(window) == begun || begun < 2)
			continue;
		assert_in_range(me->burst.stretch, 0, stretch - 1);
		quarters[4 * me->burst.stretch / stretch]++;
		phases[piles_up]++;
		n++;
	}
	assert_in_range(n, MANY / (stretch + SUBMISSIONS) - 3, MANY / stretch);
	for (unsigned q = 0; q < 4; q++) /* five standard deviations */
		assert_in_range(quarters[q], n / 4 - 37, n / 4 + 37);
	assert_in_range(phases[1], n / 2 - 15, n / 2 + 15);
}

#define TURNS 600u

static struct {
	pthread_barrier_t next;
	unsigned begun[2];
} turns;

static void *launch_in_turns(void *second)
{
	static const unsigned each[2] = { 100, 900 };
	bool own = second != NULL;

	thread_self();
	for (unsigned turn = 0; turn < 2 * TURNS; turn++) {
		pthread_barrier_wait(&turns.next);
		for (unsigned i = 0; turn % 2 == own && i < each[own]; i++) {
			uint32_t begun = number_of(window);

			forget_recorded();
			launch_whole(STREAM_A, CUDA_SUCCESS);
			turns.begun[own] += number_of(window) != begun;
		}
	}
	return NULL;
}

/* As forward and backward passes do. */
static void a_thread_that_submits_little_has_its_share(void **state)
{
	unsigned share = TURNS * 100 / (WHOLE * SHARE);
	pthread_t other;

	(void)state;
	memset(&turns, 0, sizeof(turns));
	pthread_barrier_init(&turns.next, NULL, 2);
	assert_int_equal(pthread_create(&other, NULL, launch_in_turns, &turns), 0);
	launch_in_turns(NULL);
	pthread_join(other, NULL);
	pthread_barrier_destroy(&turns.next);
	assert_in_range(turns.begun[0], share - 5, share + 1);
	assert_in_range(turns.begun[1], 9 * share - 10, 9 * share + 10);
}

static void edges_of_other_kinds_come_first(void **state)
{
	struct call c;

	(void)state;
	for (unsigned i = 0; i < 4000; i++) {
		forget_recorded();
		launch_whole(STREAM_A, CUDA_SUCCESS);
		if (i % 50 == 49) { /* two edges each */
			call_enter(&c, HOOK_cuLaunchHostFunc, GST_FAMILY_HOSTFN);
			launch_host_function(&c, STREAM_A, NULL);
			call_exit(&c, CUDA_SUCCESS);
		}
	}
	assert_int_equal(number_of(window), 0);
}

static void each_stream_that_a_wait_meets_pays_for_two(void **state)
{
	struct stream *a = stream_get(me, STREAM_A);
	unsigned all = 0, waits = 0;

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		forget_recorded();
		launch_whole(STREAM_A, CUDA_SUCCESS);
		if (i % 10 == 9) {
			edges_before_block(me, a);
			waits++;
		}
		all += driver.n_recorded - 1;
		if (i > 1000)
			assert_true(all <= 2 * waits);
	}
	assert_in_range(edges_blocks(), waits - 50, waits); /* behind a burst there is nothing to mark */
	assert_in_range(number_of(window), 20000 / (WHOLE * SHARE) - 2, 20000 / (WHOLE * SHARE) + 2);
	assert_true(edges <= 20000 / SHARE);
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
	/* A window is up to SUBMISSIONS + 3 long here; where two threads meet in a stream it costs less. */
	assert_in_range(number_of(window), THREADS * EACH / SHARE / (3 * SUBMISSIONS + 10) - 3,
			2 * THREADS * EACH / SHARE / WHOLE);
	assert_in_range(edges, THREADS * EACH / SHARE / 2, THREADS * EACH / SHARE + 2 * SUBMISSIONS_MAX);
	assert_int_equal(now.edges + now.submissions + now.passed, 0); /* all of them were written down */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(every_submission_stands_between_two_edges, set_up_bursts),
		cmocka_unit_test_setup(first_ones_come_soon_and_are_short, set_up_bursts),
		cmocka_unit_test_setup(an_edge_that_has_not_fired_serves_both_sides, set_up_bursts),
		cmocka_unit_test_setup(other_streams_with_work_are_marked_but_never_the_legacy_one, set_up_bursts),
		cmocka_unit_test_setup(bursts_are_an_even_sample_within_the_budget, set_up_bursts),
		cmocka_unit_test_setup(a_thread_that_submits_little_has_its_share, set_up_bursts),
		cmocka_unit_test_setup(edges_of_other_kinds_come_first, set_up_bursts),
		cmocka_unit_test_setup(each_stream_that_a_wait_meets_pays_for_two, set_up_bursts),
		cmocka_unit_test_setup(none_at_other_levels, set_up_bursts),
		cmocka_unit_test_setup(none_during_a_capture, set_up_bursts),
		cmocka_unit_test_setup(none_around_programmatic_launches_nor_beside_them, set_up_bursts),
		cmocka_unit_test_setup(none_in_a_stream_that_others_submit_to, set_up_bursts),
		cmocka_unit_test_setup(none_behind_a_launch_that_failed, set_up_bursts),
		cmocka_unit_test_setup(nobody_returned_from_a_launch_in_it, set_up_bursts),
		cmocka_unit_test_setup(the_process_ends_in_it, set_up_bursts),
		cmocka_unit_test_setup(a_child_begins_with_none, set_up_bursts),
		cmocka_unit_test_setup(a_slow_program_does_not_keep_it_open, set_up_bursts),
		cmocka_unit_test_setup(a_place_that_nobody_gives_back, set_up_bursts),
		cmocka_unit_test_setup(a_burst_that_goes_on_is_not_given_up, set_up_bursts),
		cmocka_unit_test_setup(threads_share_one, set_up_bursts),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
