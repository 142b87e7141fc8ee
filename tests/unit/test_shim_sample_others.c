/* SPDX-License-Identifier: BSD-2-Clause */
/* Which of a process's threads are looked at when one was found waiting for another: all of them in turn, those first that told something. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "sample_others.h"

#define THREADS 40

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

static void test_who_told_something_is_first(void **state)
{
	uint32_t tids[SAMPLE_OTHERS_MAX];

	(void)state;
	sample_others_note(ids[7]);
	sample_others_note(ids[30]);
	sample_others_note(ids[7]);
	for (int look = 0; look < 12; look++) {
		unsigned n = sample_others(ids[0], tids);

		assert_int_equal(tids[0], ids[30]);
		assert_int_equal(tids[1], ids[7]);
		assert_false(has(tids + 2, n - 2, ids[7]));
		assert_false(has(tids, n, ids[0]));
	}
	assert_int_not_equal(sample_others(ids[30], tids), 0);
	assert_int_equal(tids[0], ids[7]);
}

/* More than there is room for: the oldest goes. */
static void test_the_newest_four_are_known(void **state)
{
	uint32_t tids[SAMPLE_OTHERS_MAX];

	(void)state;
	for (int i = 0; i < 5; i++)
		sample_others_note(ids[i]);
	sample_others(1, tids);
	for (int i = 0; i < 4; i++)
		assert_int_equal(tids[i], ids[4 - i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_each_has_its_turn, begin, end),
		cmocka_unit_test_setup_teardown(test_who_told_something_is_first, begin, end),
		cmocka_unit_test_setup_teardown(test_the_newest_four_are_known, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
