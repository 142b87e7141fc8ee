/* SPDX-License-Identifier: BSD-2-Clause */
/* bias.h: whoever counts, and however ownership changes hands, no number is given twice and none is left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <pthread.h>
#include <string.h>

#include "thread.h"

enum { THREADS = 6, COUNTS = 20000, ROUNDS = 40 };

static struct bias bias;
static uint64_t counter;
static uint8_t given[THREADS * COUNTS + 1];
static pthread_barrier_t together;

struct counter_thread {
	struct thread_slot slot;
	pthread_t id;
	unsigned counts, lead; /* how many it counts before the others begin */
};

static void reset(void)
{
	bias = (struct bias){ 0 };
	counter = 0;
	memset(given, 0, sizeof(given));
}

static void count(struct counter_thread *t, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		__atomic_fetch_add(&given[bias_count(&bias, &t->slot, &counter)], 1, __ATOMIC_RELAXED);
}

static void *counting(void *arg)
{
	struct counter_thread *t = arg;

	count(t, t->lead);
	pthread_barrier_wait(&together);
	count(t, t->counts - t->lead);
	return NULL;
}

static void assert_each_once(uint64_t n)
{
	assert_int_equal(counter, n);
	for (uint64_t i = 1; i <= n; i++)
		assert_int_equal(given[i], 1);
}

static void one_thread_owns_what_it_counts(void **state)
{
	struct counter_thread me = { 0 }, other = { 0 };

	(void)state;
	reset();
	bias_start();
	count(&me, 1000);
	assert_each_once(1000);
	assert_false(bias_is_others(&bias, &me.slot));
	assert_true(bias_is_others(&bias, &other.slot));
	assert_null(me.slot.counting);
}

static void a_second_thread_ends_the_ownership_for_good(void **state)
{
	struct counter_thread first = { 0 }, second = { 0 };

	(void)state;
	reset();
	bias_start();
	count(&first, 10);
	count(&second, 1);
	count(&first, 10);
	assert_each_once(21);
	assert_false(bias_is_others(&bias, &first.slot));
	assert_false(bias_is_others(&bias, &second.slot));
}

/* One thread owns and counts on while the others come in, all at once. */
static void threads_that_come_in_while_the_owner_counts(void **state)
{
	struct counter_thread threads[THREADS];

	(void)state;
	bias_start();
	for (unsigned round = 0; round < ROUNDS; round++) {
		reset();
		memset(threads, 0, sizeof(threads));
		pthread_barrier_init(&together, NULL, THREADS);
		for (unsigned i = 0; i < THREADS; i++) {
			threads[i].counts = i ? COUNTS / ROUNDS : COUNTS;
			threads[i].lead = i ? 0 : 1;
			assert_int_equal(pthread_create(&threads[i].id, NULL, counting, &threads[i]), 0);
		}
		for (unsigned i = 0; i < THREADS; i++)
			pthread_join(threads[i].id, NULL);
		pthread_barrier_destroy(&together);
		assert_each_once(COUNTS + (THREADS - 1) * (COUNTS / ROUNDS));
	}
}

/* A fence in this thread orders the owner's additions before what the owner saw of this thread: if the owner did not see the flag, its
 * addition is seen here. */
static uint32_t flag, owner_saw;

static void *owner_that_looks(void *arg)
{
	struct counter_thread *t = arg;

	pthread_barrier_wait(&together);
	count(t, 1);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&owner_saw, __atomic_load_n(&flag, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
	return NULL;
}

static void a_fence_shows_what_the_owner_counted_before_it_saw_a_flag(void **state)
{
	(void)state;
	bias_start();
	for (unsigned round = 0; round < 300; round++) {
		struct counter_thread owner = { 0 };
		uint64_t seen;

		reset();
		count(&owner, 1);
		flag = 0;
		pthread_barrier_init(&together, NULL, 2);
		assert_int_equal(pthread_create(&owner.id, NULL, owner_that_looks, &owner), 0);
		pthread_barrier_wait(&together);
		__atomic_store_n(&flag, 1, __ATOMIC_SEQ_CST);
		bias_fence();
		seen = __atomic_load_n(&counter, __ATOMIC_ACQUIRE);
		pthread_join(owner.id, NULL);
		pthread_barrier_destroy(&together);
		assert_true(owner_saw || seen == 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_thread_owns_what_it_counts),
		cmocka_unit_test(a_second_thread_ends_the_ownership_for_good),
		cmocka_unit_test(threads_that_come_in_while_the_owner_counts),
		cmocka_unit_test(a_fence_shows_what_the_owner_counted_before_it_saw_a_flag),
	};

	return cmocka_run_group_tests_name("bias", tests, NULL, NULL);
}
