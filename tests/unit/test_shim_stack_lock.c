/* SPDX-License-Identifier: BSD-2-Clause */
/* Who may be without its stack tries for a moment; who has something long to tell of waits for a look that is under way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "shim/clock.h"
#include "shim/stack_lock.h"

static void one_at_a_time(void **state)
{
	uint64_t begin;

	(void)state;
	assert_true(stack_lock_take(0));
	assert_false(stack_lock_take(0));
	begin = clock_ticks();
	assert_false(stack_lock_take(clock_ticks_in(2000000)));
	assert_true(clock_ticks() - begin >= clock_ticks_in(2000000));
	stack_lock_give();
	assert_true(stack_lock_take(0));
	stack_lock_forget();
	assert_true(stack_lock_take(clock_ticks_in(2000000)));
	stack_lock_give();
}

static void *give_in_a_while(void *arg)
{
	struct timespec while_ = { 0, 5000000 };

	(void)arg;
	nanosleep(&while_, NULL);
	stack_lock_give();
	return NULL;
}

static void the_patient_get_it(void **state)
{
	pthread_t other;

	(void)state;
	assert_true(stack_lock_take(0));
	assert_int_equal(pthread_create(&other, NULL, give_in_a_while, NULL), 0);
	assert_true(stack_lock_take(clock_ticks_in(60000000000)));
	pthread_join(other, NULL);
	stack_lock_give();
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(one_at_a_time), cmocka_unit_test(the_patient_get_it) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
