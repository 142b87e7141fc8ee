/* SPDX-License-Identifier: BSD-2-Clause */
/* Who has a mutex: it says so itself, whatever kind it is of. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "futex_owner.h"

static void *wait_for(void *mutex)
{
	pthread_mutex_lock(mutex);
	pthread_mutex_unlock(mutex);
	return NULL;
}

/* A mutex of ours that another thread waits for. */
static uint32_t owner_of(int protocol, int robust)
{
	pthread_mutexattr_t of;
	pthread_mutex_t mutex;
	pthread_t waiting;
	uint32_t owner = 0;

	assert_int_equal(pthread_mutexattr_init(&of), 0);
	assert_int_equal(pthread_mutexattr_setprotocol(&of, protocol), 0);
	assert_int_equal(pthread_mutexattr_setrobust(&of, robust), 0);
	assert_int_equal(pthread_mutex_init(&mutex, &of), 0);
	assert_int_equal(pthread_mutex_lock(&mutex), 0);
	assert_int_equal(pthread_create(&waiting, NULL, wait_for, &mutex), 0);
	for (int i = 0; i < 50000 && !owner; i++) {
		usleep(100);
		owner = futex_owner((uintptr_t)&mutex);
	}
	pthread_mutex_unlock(&mutex);
	pthread_join(waiting, NULL);
	pthread_mutex_destroy(&mutex);
	return owner;
}

static void test_a_mutex(void **state)
{
	uint32_t self = (uint32_t)syscall(SYS_gettid);

	(void)state;
	assert_int_equal(owner_of(PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED), self);
	assert_int_equal(owner_of(PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST), self);
	assert_int_equal(owner_of(PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED), self);
}

static void test_what_is_none(void **state)
{
	uint32_t words[3] = { 1, 0, 77 }; /* a semaphore's count, and what lies behind it */
	void *gone = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_int_equal(futex_owner((uintptr_t)words), 0);
	words[0] = 0;
	words[2] = 0;
	assert_int_equal(futex_owner((uintptr_t)words), 0); /* free */
	assert_int_equal(munmap(gone, 4096), 0);
	assert_int_equal(futex_owner((uintptr_t)gone), 0);
	assert_int_equal(futex_owner(0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_mutex),
		cmocka_unit_test(test_what_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
