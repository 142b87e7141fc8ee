/* SPDX-License-Identifier: BSD-2-Clause */
/* Bursts, against a driver made of a few lines: what is in one, which submissions they take, and how many events they may cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <pthread.h>

#include "shim/nccl_copy.h"
#include "tests/unit/bursts.h"

#define NO_WAIT ((CUevent)0x77)

static void wait_for_event(CUstream handle)
{
	struct call c;

	call_enter(&c, HOOK_cuStreamWaitEvent, GST_FAMILY_STREAM_WAIT);
	wait_event(&c, handle, NO_WAIT);
	call_exit(&c, CUDA_SUCCESS);
}

/* ---- what is in one --------------------------------------------------------------------------------------------------- */

static void every_submission_stands_between_two_edges(void **state)
{
	struct gst_burst b;
	unsigned created;

	(void)state;
	launch_until_burst(STREAM_A, SUBMISSIONS - 1);
	created = driver.created;
	for (unsigned i = 1; i < SUBMISSIONS; i++) {
		assert_true(is_on());
		launch_whole(STREAM_A, CUDA_SUCCESS);
	}
	assert_false(is_on());
	assert_int_equal(driver.created, created);                    /* its events were there before it began */
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
		if (i % 50 == 49) { /* two edges each, where they are a millisecond apart */
			stream_get(me, STREAM_A)->pairs_until = 0;
			call_enter(&c, HOOK_cuLaunchHostFunc, GST_FAMILY_HOSTFN);
			launch_host_function(&c, STREAM_A, NULL);
			call_exit(&c, CUDA_SUCCESS);
		}
	}
	assert_int_equal(number_of(window), 0);
}

/* True: as part of a burst. */
static bool launch_by_nccl(void)
{
	uint64_t before = window;

	nccl_inside = nccl_copies;
	launch_whole(STREAM_A, CUDA_SUCCESS);
	nccl_inside = NULL;
	return window != before;
}

/* Which has edges around it anyway: there are no others between them. */
static void what_nccl_launches_in_a_burst_has_the_bursts_edges_alone(void **state)
{
	(void)state;
	launch_until_burst(STREAM_A, SUBMISSIONS - 1);
	driver.query_answer = CUDA_ERROR_NOT_READY;
	launch_whole(STREAM_A, CUDA_SUCCESS);
	stream_get(me, STREAM_A)->pairs_until = 0;
	assert_true(launch_by_nccl());
	assert_string_equal(log_text(), "ELE"
					"LE"
					"LE");
	assert_int_equal(edges_of_nccl(), 0);
	driver.query_answer = CUDA_SUCCESS;
	while (is_on())
		launch_whole(STREAM_A, CUDA_SUCCESS);
	count_down(me, 1000); /* none begins meanwhile */
	stream_get(me, STREAM_A)->pairs_until = 0;
	forget_recorded();
	assert_false(launch_by_nccl());
	assert_string_equal(log_text(), "ELE");
	assert_int_equal(edges_of_nccl(), 2);
}

/* Of fifty submissions one is NCCL's: its two edges are more than the share of all, and there are bursts all the same. */
static void what_nccl_launches_takes_nothing_from_bursts(void **state)
{
	unsigned pairs = 0;

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		driver.query_answer = CUDA_SUCCESS;
		if (i % 1000 == 0)
			edges_harvest(&me->ring, edges_context_is_current);
		forget_recorded();
		if (i % 50 == 49) {
			stream_get(me, STREAM_A)->pairs_until = 0;
			pairs += !launch_by_nccl();
		} else {
			launch_whole(STREAM_A, CUDA_SUCCESS);
		}
	}
	assert_int_equal(edges_of_nccl(), 2 * pairs);
	assert_in_range(pairs, 350, 400);
	assert_in_range(number_of(window), 10, 20000 / (WHOLE * SHARE) + 2);
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

/* Of many other streams with work so many are marked, and it is no longer than it may be. */
static void many_streams_do_not_make_it_endless(void **state)
{
	(void)state;
	launch_until_burst(STREAM_A, SUBMISSIONS - 1);
	while (is_on())
		launch_whole(STREAM_A, CUDA_SUCCESS);
	count_down(me, 1000); /* none begins meanwhile */
	for (uintptr_t i = 1; i <= 40; i++)
		launch_whole((CUstream)(0x100000 + i * 0x1000), CUDA_SUCCESS);
	for (unsigned tries = 0; !is_on(); tries++) {
		assert_true(tries < 100000);
		forget_recorded();
		launch_whole(STREAM_A, CUDA_SUCCESS);
	}
	assert_int_equal(left_of(window), 24 - 1);
	assert_int_equal(driver.n_recorded, 32 + 3); /* the marks, and what every launch has */
	assert_int_equal(recorded_on(STREAM_A), 2);
	while (is_on())
		launch_whole(STREAM_A, CUDA_SUCCESS);
	assert_int_equal(last_burst().submissions, 24);
	assert_int_equal(last_burst().edges, 32 + 2 * 24 + 1);
}

/* … and README's. */
static void the_numbers_are_those_of_the_format(void **state)
{
	(void)state;
	assert_int_equal(SUBMISSIONS, 8);
	assert_int_equal(SUBMISSIONS_FIRST, 2);
	assert_int_equal(SHARE, 64);
	assert_int_equal(SHARE_OF_ALL, 50);
	assert_int_equal(SLOW_NS, 1000000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(every_submission_stands_between_two_edges, set_up_bursts),
		cmocka_unit_test_setup(first_ones_come_soon_and_are_short, set_up_bursts),
		cmocka_unit_test_setup(an_edge_that_has_not_fired_serves_both_sides, set_up_bursts),
		cmocka_unit_test_setup(other_streams_with_work_are_marked_but_never_the_legacy_one, set_up_bursts),
		cmocka_unit_test_setup(many_streams_do_not_make_it_endless, set_up_bursts),
		cmocka_unit_test_setup(the_numbers_are_those_of_the_format, set_up_bursts),
		cmocka_unit_test_setup(bursts_are_an_even_sample_within_the_budget, set_up_bursts),
		cmocka_unit_test_setup(a_thread_that_submits_little_has_its_share, set_up_bursts),
		cmocka_unit_test_setup(edges_of_other_kinds_come_first, set_up_bursts),
		cmocka_unit_test_setup(what_nccl_launches_takes_nothing_from_bursts, set_up_bursts),
		cmocka_unit_test_setup(what_nccl_launches_in_a_burst_has_the_bursts_edges_alone, set_up_bursts),
		cmocka_unit_test_setup(each_stream_that_a_wait_meets_pays_for_two, set_up_bursts),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
