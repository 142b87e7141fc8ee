/* SPDX-License-Identifier: BSD-2-Clause */
/* A nap changes nothing for the program: no errno, and a cancelled thread does not end in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include "nap.h"

static void nothing(int signal)
{
	(void)signal;
}

static void errno_stays(void **state)
{
	struct sigaction action = { .sa_handler = nothing };
	struct itimerval often = { { 0, 30 }, { 0, 30 } }, never = { { 0, 0 }, { 0, 0 } };

	(void)state;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	errno = 4242;
	for (int i = 0; i < 1000; i++)
		nap(NAP_AFTER);
	setitimer(ITIMER_REAL, &never, NULL);
	assert_int_equal(errno, 4242);
}

/* By itself: AddressSanitizer is not told that a cancelled thread leaves its functions, and takes what they had for still there. */
static __attribute__((noinline)) void take_naps(int *passed)
{
	nap(0);
	nap(NAP_AFTER);
	*passed = 1;
}

static void *is_cancelled(void *arg)
{
	pthread_cancel(pthread_self());
	take_naps(arg);
	pthread_testcancel();
	return NULL;
}

static void no_place_to_be_cancelled(void **state)
{
	int passed = 0;
	pthread_t thread;
	void *end;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, is_cancelled, &passed), 0);
	pthread_join(thread, &end);
	assert_ptr_equal(end, PTHREAD_CANCELED);
	assert_int_equal(passed, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errno_stays),
		cmocka_unit_test(no_place_to_be_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
