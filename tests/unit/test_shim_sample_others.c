/* SPDX-License-Identifier: BSD-2-Clause */
/* Which of a process's threads are looked at when one was found waiting for another: all of them in turn, those first that told something. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "apart.h"
#include "own_thread.h"
#include "sample_others.h"
#include "tests/unit/tsan_apart.h"
#include "thread.h"

#define THREADS 40

static long bytes_read; /* of the list of threads */

long __real_syscall(long nr, ...);
long __wrap_syscall(long nr, ...);

/* It takes six arguments, however few there are. */
__attribute__((no_sanitize("address", "undefined"))) long __wrap_syscall(long nr, ...)
{
	long a[6], rc;
	va_list ap;

	va_start(ap, nr);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	rc = __real_syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (nr == SYS_getdents64 && rc > 0)
		bytes_read += rc;
	return rc;
}

static pthread_t threads[THREADS];
static uint32_t ids[THREADS];
static int stop[2];

static void *wait_for_the_end(void *arg)
{
	char byte;

	__atomic_store_n((uint32_t *)arg, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	if (read(stop[0], &byte, 1) < 0) /* its end */
		return arg;
	return NULL;
}

static int begin(void **state)
{
	(void)state;
	if (pipe(stop) != 0)
		return -1;
	memset(ids, 0, sizeof(ids));
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, wait_for_the_end, &ids[i]) != 0)
			return -1;
	for (int i = 0; i < THREADS; i++)
		while (!__atomic_load_n(&ids[i], __ATOMIC_ACQUIRE))
			usleep(100);
	sample_others_forget();
	return 0;
}

static int end(void **state)
{
	(void)state;
	close(stop[1]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	close(stop[0]);
	return 0;
}

static bool has(const uint32_t *tids, unsigned n, uint32_t tid)
{
	for (unsigned i = 0; i < n; i++)
		if (tids[i] == tid)
			return true;
	return false;
}

static void test_each_has_its_turn(void **state)
{
	uint32_t self = (uint32_t)syscall(SYS_gettid), tids[SAMPLE_OTHERS_MAX], seen[THREADS] = { 0 };

	(void)state;
	for (int look = 0; look <= THREADS / SAMPLE_OTHERS_MAX; look++) {
		unsigned n = sample_others(self, tids);

		assert_int_equal(n, SAMPLE_OTHERS_MAX);
		assert_false(has(tids, n, self));
		for (unsigned i = 0; i < n; i++)
			assert_false(has(tids, i, tids[i]));
		for (int i = 0; i < THREADS; i++)
			seen[i] += has(tids, n, ids[i]);
	}
	for (int i = 0; i < THREADS; i++)
		assert_in_range(seen[i], 1, 2);
}

/* Each thread that the kernel names costs it something: a process may have thousands. */
static void test_no_more_are_read_than_there_is_room_for(void **state)
{
	uint32_t self = (uint32_t)syscall(SYS_gettid), tids[SAMPLE_OTHERS_MAX];

	(void)state;
	bytes_read = 0;
	for (int look = 0; look < 2 * THREADS; look++)
		assert_int_equal(sample_others(self, tids), SAMPLE_OTHERS_MAX);
	assert_in_range(bytes_read, 1,
			2 * THREADS * 700); /* the whole list: 1000 and more, twice where it begins again */
}

static void test_who_told_something_is_first(void **state)
{
	uint32_t tids[SAMPLE_OTHERS_MAX];

	(void)state;
	sample_others_note(ids[7], true);
	sample_others_note(ids[30], true);
	sample_others_note(ids[12], true);
	sample_others_note(ids[7], true); /* the newest again */
	for (int look = 0; look < 12; look++) {
		unsigned n = sample_others(ids[0], tids);

		assert_int_equal(tids[0], ids[7]);
		assert_int_equal(tids[1], ids[12]);
		assert_int_equal(tids[2], ids[30]);
		assert_false(has(tids + 3, n - 3, ids[7]));
		assert_false(has(tids, n, ids[0]));
	}
	assert_int_not_equal(sample_others(ids[7], tids), 0);
	assert_int_equal(tids[0], ids[12]);
}

/* More than there is room for: the oldest goes. */
static void test_the_newest_four_are_known(void **state)
{
	uint32_t tids[SAMPLE_OTHERS_MAX];

	(void)state;
	for (int i = 0; i < 5; i++)
		sample_others_note(ids[i], true);
	sample_others(1, tids);
	for (int i = 0; i < 4; i++)
		assert_int_equal(tids[i], ids[4 - i]);
}

static void test_who_tells_nothing_more_is_forgotten(void **state)
{
	uint32_t tids[SAMPLE_OTHERS_MAX], next[SAMPLE_OTHERS_MAX];

	(void)state;
	for (int i = 20; i < 24; i++)
		sample_others_note(ids[i], true);
	sample_others_note(ids[22], false);
	sample_others_note(ids[39], false); /* never was known */
	sample_others(1, tids);
	assert_int_equal(tids[0], ids[23]);
	assert_int_equal(tids[1], ids[21]);
	assert_int_equal(tids[2], ids[20]);
	sample_others_note(ids[23], false);
	sample_others_note(ids[21], false);
	sample_others_note(ids[20], false);
	sample_others(1, tids); /* none has a place of its own any more: the next eight are others */
	assert_int_equal(sample_others(1, next), SAMPLE_OTHERS_MAX);
	for (int i = 0; i < SAMPLE_OTHERS_MAX; i++)
		assert_false(has(tids, SAMPLE_OTHERS_MAX, next[i]));
}

/* It waits for its device, and may spin for that. */
static void test_who_is_in_a_driver_call_is_left_out(void **state)
{
	uint32_t self = (uint32_t)syscall(SYS_gettid), tids[SAMPLE_OTHERS_MAX];
	unsigned seen = 0;

	(void)state;
	thread_slots[0].tid = ids[5];
	thread_slots[1].tid = ids[6];
	thread_slots[0].in_call = 1;
	thread_slots_used = 2;
	sample_others_note(ids[5], true);
	for (int look = 0; look < THREADS; look++) {
		unsigned n = sample_others(self, tids);

		assert_false(has(tids, n, ids[5]));
		seen += has(tids, n, ids[6]);
	}
	assert_in_range(seen, 1, THREADS);
	memset(thread_slots, 0, 2 * sizeof(thread_slots[0]));
	thread_slots_used = 0;
}

/* ---- what has run -------------------------------------------------------------------------------------------------------- */

static uint64_t turns; /* of every thread, on a CPU; 0 what the kernel says */

bool __real_task_file_read(char *to, size_t room, uint32_t tid, const char *name);
bool __wrap_task_file_read(char *to, size_t room, uint32_t tid, const char *name);
bool __wrap_task_file_read(char *to, size_t room, uint32_t tid, const char *name)
{
	if (!turns)
		return __real_task_file_read(to, room, tid, name);
	assert_string_equal(name, "schedstat");
	snprintf(to, room, "123456 789 %llu\n", (unsigned long long)turns);
	return true;
}

/* Looks are 10 ticks apart, silences begin at multiples of 100. */
static void test_who_has_run_since_the_look_before(void **state)
{
	(void)state;
	sample_others_forget();
	turns = 5;
	assert_false(sample_others_ran(7, 0, 100, 110)); /* never seen before */
	assert_false(sample_others_ran(7, 0, 100, 120));
	turns = 6;
	assert_true(sample_others_ran(7, 0, 100, 130));
	assert_true(sample_others_ran(7, 0, 100, 140)); /* all through that silence */
	assert_false(sample_others_ran(7, 0, 200, 210));
	assert_false(sample_others_ran(7 + 64, 0, 200, 210)); /* another one in its place */
	turns = 7;
	assert_true(sample_others_ran(7 + 64, 0, 200, 220));
	turns = 0;
}

/* As NCCL's service thread does, every 500 ms: it goes on waiting. */
static void test_a_poll_that_comes_back_by_itself_has_taken_nothing(void **state)
{
	(void)state;
	sample_others_forget();
	turns = 5;
	assert_false(sample_others_ran(7, 50, 100, 110));
	turns = 6;
	assert_false(sample_others_ran(7, 50, 100, 120));
	turns = 9; /* at 170, 220 and, it may be, 120 */
	assert_false(sample_others_ran(7, 50, 200, 220));
	turns = 13; /* at 270 and 320, and it was woken as well */
	assert_true(sample_others_ran(7, 50, 300, 320));
	turns = 0;
}

/* ---- ours ---------------------------------------------------------------------------------------------------------------- */

static uint32_t own, own_was_known, may_end;

static void live(void)
{
	__atomic_store_n(&own_was_known, own_thread_is((uint32_t)syscall(SYS_gettid)), __ATOMIC_RELAXED);
	__atomic_store_n(&own, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&may_end, __ATOMIC_ACQUIRE))
		usleep(100);
}

/* Its number may come again, as that of a thread of the program's. */
static void test_ours_are_known_as_long_as_they_live(void **state)
{
	static const struct own_thread thread = { "gpushim-test", live };

	(void)state;
	for (int i = 0; i < OWN_THREADS_KNOWN + 4; i++) {
		__atomic_store_n(&own, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&may_end, 0, __ATOMIC_RELAXED);
		assert_true(own_thread_start(&thread));
		while (!__atomic_load_n(&own, __ATOMIC_ACQUIRE))
			usleep(100);
		assert_true(own_was_known);
		__atomic_store_n(&may_end, 1, __ATOMIC_RELEASE);
		for (int wait = 0; own_thread_is(own); wait++) {
			assert_true(wait < 100000);
			usleep(100);
		}
	}
}

static void note_myself(void *arg)
{
	uint32_t *seen = arg;

	seen[0] = (uint32_t)syscall(SYS_gettid);
	seen[1] = own_thread_is(seen[0]);
}

static void test_what_is_done_apart_is_ours(void **state)
{
	uint32_t seen[2] = { 0, 0 };

	(void)state;
	apart_run(note_myself, seen);
	assert_int_not_equal(seen[0], 0);
	if (seen[0] == (uint32_t)syscall(SYS_gettid))
		skip(); /* no such thread is to be had here */
	assert_int_equal(seen[1], 1);
	assert_false(own_thread_is(seen[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_each_has_its_turn, begin, end),
		cmocka_unit_test_setup_teardown(test_no_more_are_read_than_there_is_room_for, begin, end),
		cmocka_unit_test_setup_teardown(test_who_told_something_is_first, begin, end),
		cmocka_unit_test_setup_teardown(test_the_newest_four_are_known, begin, end),
		cmocka_unit_test_setup_teardown(test_who_tells_nothing_more_is_forgotten, begin, end),
		cmocka_unit_test_setup_teardown(test_who_is_in_a_driver_call_is_left_out, begin, end),
		cmocka_unit_test(test_who_has_run_since_the_look_before),
		cmocka_unit_test(test_a_poll_that_comes_back_by_itself_has_taken_nothing),
		cmocka_unit_test(test_ours_are_known_as_long_as_they_live),
		cmocka_unit_test(test_what_is_done_apart_is_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
