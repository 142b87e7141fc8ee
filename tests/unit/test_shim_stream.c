/* SPDX-License-Identifier: BSD-2-Clause */
/* stream.h: the first sight of a stream: threads that meet there, that never come out, and a table without room; against a driver made of a
 * few lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>

#include "shim/edge.h"
#include "shim/stream.c" /* its lock is held here for good */
#include "tests/unit/shim_driver.h"

static unsigned asked;
static bool jumping;
static jmp_buf back;

static CUresult ask_context(CUstream s, CUcontext *context)
{
	__atomic_fetch_add(&asked, 1, __ATOMIC_RELAXED);
	if (jumping)
		longjmp(back, 1);
	return fake_stream_context(s, context);
}

static int set_up_streams(void **state)
{
	set_up(state);
	real.cuStreamGetCtx = ask_context;
	forget_recorded();
	asked = 0;
	jumping = false;
	file_counters()->streams_untracked = 0;
	return 0;
}

static CUstream handle(uintptr_t i)
{
	return (CUstream)(0x100000 + i * 0x240);
}

static void *look_up(void *stream)
{
	return stream_get(thread_self(), stream);
}

static struct stream *look_up_elsewhere(CUstream stream)
{
	pthread_t other;
	void *found;

	assert_int_equal(pthread_create(&other, NULL, look_up, stream), 0);
	pthread_join(other, &found);
	return found;
}

static void who_leaves_the_driver_by_a_jump_keeps_nobody_out(void **state)
{
	(void)state;
	jumping = true;
	if (setjmp(back) == 0) {
		stream_get(me, STREAM_A);
		fail_msg("it came back");
	}
	jumping = false;
	assert_int_equal(asked, 1);
	assert_non_null(look_up_elsewhere(STREAM_B));
	assert_non_null(look_up_elsewhere(STREAM_A));
	assert_ptr_equal(stream_get(me, STREAM_A), look_up_elsewhere(STREAM_A));
	assert_int_equal(last_id, 2);
	assert_int_equal(recorded_on(STREAM_A), 0); /* no work, no edges */
	assert_int_equal(file_counters()->streams_untracked, 0);
}

static void who_is_stopped_while_others_wait_stops_them_for_a_while_only(void **state)
{
	sigset_t before, after;
	uint64_t begin_ns = clock_mono_ns();

	(void)state;
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	inserting = 1;
	assert_null(stream_get(me, STREAM_A));
	assert_in_range(clock_mono_ns() - begin_ns, 50000000, 30000000000);
	assert_int_equal(file_counters()->streams_untracked, 1);
	pthread_sigmask(SIG_SETMASK, NULL, &after); /* signals come again */
	for (int i = 1; i < NSIG; i++)
		assert_int_equal(sigismember(&before, i), sigismember(&after, i));
	inserting = 0;
	assert_non_null(stream_get(me, STREAM_A));
	assert_int_equal(inserting, 0);
}

static void where_there_is_no_room_the_driver_is_not_asked(void **state)
{
	uintptr_t n = 0;
	unsigned before;

	(void)state;
	while (stream_get(me, handle(n)))
		n++;
	assert_in_range(n, STREAM_TABLE / 2, STREAM_TABLE);
	before = asked;
	assert_int_equal(before, n);
	for (unsigned i = 1; i <= 10; i++) {
		assert_int_equal(file_counters()->streams_untracked, i);
		assert_null(stream_get(me, handle(n)));
	}
	assert_int_equal(asked, before);
	for (uintptr_t i = 0; i < n; i++) /* those that go make room */
		stream_retire((uintptr_t)handle(i));
	assert_non_null(stream_get(me, handle(n)));
	assert_int_equal(asked, before + 1);
}

static CUresult ask_of_none(CUstream s, CUcontext *context)
{
	(void)s;
	(void)context;
	return CUDA_ERROR_INVALID_HANDLE;
}

static void a_handle_that_the_driver_does_not_know_takes_no_place(void **state)
{
	(void)state;
	real.cuStreamGetCtx = ask_of_none;
	assert_null(stream_get(me, STREAM_A));
	assert_int_equal(file_counters()->streams_untracked, 0);
	real.cuStreamGetCtx = ask_context;
	assert_int_equal(stream_get(me, STREAM_A)->id, 1);
}

#define THREADS 4
#define STREAMS 500u

static struct {
	pthread_barrier_t together;
	struct stream *found[THREADS][STREAMS];
} meeting;

static void *meet(void *arg)
{
	struct stream **found = arg;
	struct thread *t = thread_self();

	pthread_barrier_wait(&meeting.together);
	for (unsigned i = 0; i < STREAMS; i++)
		found[i] = stream_get(t, handle(i));
	return NULL;
}

static void threads_that_meet_a_stream_at_once_agree(void **state)
{
	uint8_t given[STREAMS + 1] = { 0 };
	pthread_t threads[THREADS];

	(void)state;
	pthread_barrier_init(&meeting.together, NULL, THREADS);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, meet, meeting.found[i]), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&meeting.together);
	assert_int_equal(last_id, STREAMS);
	for (unsigned i = 0; i < STREAMS; i++) {
		struct stream *s = meeting.found[0][i];

		assert_non_null(s);
		assert_int_equal(s->handle, (uintptr_t)handle(i));
		assert_in_range(s->id, 1, STREAMS);
		assert_int_equal(given[s->id]++, 0);
		for (unsigned k = 1; k < THREADS; k++)
			assert_ptr_equal(meeting.found[k][i], s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(who_leaves_the_driver_by_a_jump_keeps_nobody_out, set_up_streams),
		cmocka_unit_test_setup(who_is_stopped_while_others_wait_stops_them_for_a_while_only, set_up_streams),
		cmocka_unit_test_setup(where_there_is_no_room_the_driver_is_not_asked, set_up_streams),
		cmocka_unit_test_setup(a_handle_that_the_driver_does_not_know_takes_no_place, set_up_streams),
		cmocka_unit_test_setup(threads_that_meet_a_stream_at_once_agree, set_up_streams),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
