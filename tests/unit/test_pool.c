/* SPDX-License-Identifier: BSD-2-Clause */
/* Tasks side by side: each is done once, whatever the number of threads; the first failure is told; without threads it is done all the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fewer.h"
#include "tools/pool.h"

#define TASKS 1000

static atomic_int to_make = INT32_MAX, made; /* threads that can be made, those that were */

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	if (atomic_fetch_sub(&to_make, 1) <= 0)
		return EAGAIN;
	made++;
	return __real_pthread_create(thread, attr, start, arg);
}

static bool many_cpus; /* the kernel knows more than a cpu_set_t has places for */

int __real_sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *cpus);
int __wrap_sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *cpus);

int __wrap_sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *cpus)
{
	if (!many_cpus)
		return __real_sched_getaffinity(pid, bytes, cpus);
	errno = EINVAL;
	return -1;
}

long __real_sysconf(int name);
long __wrap_sysconf(int name);

long __wrap_sysconf(int name)
{
	return many_cpus && name == _SC_NPROCESSORS_ONLN ? 4096 : __real_sysconf(name);
}

static void use_threads(const char *n)
{
	setenv("GPUSHIM_THREADS", n, 1);
	to_make = INT32_MAX;
	made = 0;
}

static enum err_kind square(void *job, size_t task, struct error *e)
{
	uint64_t *squares = job;

	(void)e;
	squares[task] += task * task;
	return ERR_NONE;
}

static void assert_squares(void)
{
	uint64_t squares[TASKS] = { 0 };

	assert_int_equal(pool_run(TASKS, square, squares, NULL), ERR_NONE);
	for (size_t i = 0; i < TASKS; i++)
		assert_int_equal(squares[i], i * i);
}

static void each_task_is_done_once(void **state)
{
	static const char *const threads[] = { "1", "2", "3", "16", "100000" };
	static const int others[] = { 0, 1, 2, 15, 127 };

	(void)state;
	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		use_threads(threads[i]);
		assert_squares();
		assert_int_equal(made, others[i]);
	}
}

static void no_more_threads_than_tasks(void **state)
{
	uint64_t squares[3] = { 0 };

	(void)state;
	use_threads("16");
	assert_int_equal(pool_run(3, square, squares, NULL), ERR_NONE);
	assert_int_equal(made, 2);
	assert_int_equal(squares[2], 4);
	use_threads("16");
	assert_int_equal(pool_run(0, square, NULL, NULL), ERR_NONE);
	assert_int_equal(made, 0);
}

static void threads_that_cannot_be_made_are_not_missed(void **state)
{
	(void)state;
	for (int n = 0; n < 3; n++) {
		use_threads("8");
		to_make = n;
		assert_squares();
		assert_int_equal(made, n);
	}
}

static void a_machine_of_very_many_cpus_has_some_threads(void **state)
{
	(void)state;
	unsetenv("GPUSHIM_THREADS");
	many_cpus = true;
	assert_int_equal(pool_threads(), 16);
	many_cpus = false;
}

/* 700 and all multiples of 7 behind it. */
static enum err_kind fail_some(void *job, size_t task, struct error *e)
{
	atomic_int *done = job;

	atomic_fetch_add(done, 1);
	if (task < 700 || task % 7)
		return ERR_NONE;
	return err_set(e, ERR_FORMAT, "run.gst", task, "task %zu", task);
}

static void the_first_that_fails_is_told(void **state)
{
	(void)state;
	for (int round = 0; round < 50; round++) {
		struct error e = { .kind = ERR_NONE };
		atomic_int done = 0;

		use_threads(round % 2 ? "1" : "8");
		assert_int_equal(pool_run(TASKS, fail_some, &done, &e), ERR_FORMAT);
		assert_int_equal(e.kind, ERR_FORMAT);
		assert_int_equal(e.byte, 700);
		assert_string_equal(e.file, "run.gst");
		assert_string_equal(e.text, "task 700");
		assert_in_range(done, 701, TASKS);
	}
}

struct nest {
	uint64_t squares[8][TASKS];
};

static enum err_kind run_inner(void *job, size_t task, struct error *e)
{
	struct nest *nest = job;

	return pool_run(TASKS, square, nest->squares[task], e);
}

static void pools_within_pools_share_the_threads(void **state)
{
	static struct nest nest;

	(void)state;
	use_threads("4");
	assert_int_equal(pool_run(8, run_inner, &nest, NULL), ERR_NONE);
	for (size_t k = 0; k < 8; k++)
		for (size_t i = 0; i < TASKS; i++)
			assert_int_equal(nest.squares[k][i], i * i);
	made = 0;
	assert_squares(); /* they are given back */
	assert_int_equal(made, 3);
}

/* Two threads: that of the outer run's second task is busy when the inner run begins, and comes to it as soon as it has nothing else to do. */
struct late {
	atomic_bool inner_began, short_is_over, both_there;
};

static bool wait_for(atomic_bool *what)
{
	for (int ms = 0; ms < 20000 && !*what; ms++)
		usleep(1000);
	return *what;
}

static enum err_kind meet(void *job, size_t task, struct error *e)
{
	struct late *late = job;

	if (task == 1) {
		late->both_there = true;
		return ERR_NONE;
	}
	late->inner_began = true;
	return wait_for(&late->both_there) ? ERR_NONE : err_set(e, ERR_SYSTEM, NULL, 0, "nobody came");
}

static enum err_kind run_late(void *job, size_t task, struct error *e)
{
	struct late *late = job;

	if (task == 0)
		return pool_run(2, meet, late, e);
	late->short_is_over = wait_for(&late->inner_began);
	return ERR_NONE;
}

static void who_has_no_task_left_helps_another_run(void **state)
{
	struct late late = { false, false, false };
	struct error e = { .kind = ERR_NONE };

	(void)state;
	use_threads("2");
	assert_int_equal(pool_run(2, run_late, &late, &e), ERR_NONE);
	assert_true(late.short_is_over);
	assert_true(late.both_there);
	assert_int_equal(made, 1);
}

static enum err_kind fork_one(void *job, size_t task, struct error *e)
{
	uint64_t squares[TASKS] = { 0 };
	pid_t pid = fork();
	int status = -1;

	(void)job;
	if (pid == 0) {
		enum err_kind kind;

		alarm(60); /* a deadlock would be a signal */
		kind = pool_run(TASKS, square, squares, NULL);
		_exit(kind == ERR_NONE && squares[TASKS - 1] == (TASKS - 1) * (TASKS - 1) ? 0 : 1);
	}
	if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0)
		return ERR_NONE;
	return err_set(e, ERR_SYSTEM, NULL, 0, "child of task %zu: status %d", task, status);
}

/* qemu-user has no such call; and ends in an assertion of its own where a child of several threads makes one. */
static bool is_emulated(void)
{
	struct iovec none = { .iov_base = NULL };

	return syscall(SYS_process_vm_readv, getpid(), &none, 1ul, &none, 1ul, 0ul) < 0 && errno == ENOSYS;
}

/* Whatever the other threads were at when it was made. */
static void a_child_has_a_crew_of_its_own(void **state)
{
	struct error e = { .kind = ERR_NONE };

	(void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	/* AddressSanitizer's allocator may be locked for good in a child, by a thread that only the parent has; ThreadSanitizer ends a child that makes
	 * threads. */
	printf("skip: the sanitizers let no child of several threads make any\n");
	skip();
#endif
	if (is_emulated()) {
		printf("skip: the emulator lets no child make threads\n");
		skip();
	}
	use_threads("4");
	if (pool_run(FEWER(100), fork_one, NULL, &e))
		fail_msg("%s", e.text);
	assert_squares();
}

struct places {
	cpu_set_t cpus;
	atomic_int elsewhere; /* tasks that ran in a thread which may not be where the process may */
};

static enum err_kind see_cpus(void *job, size_t task, struct error *e)
{
	struct places *seen = job;
	cpu_set_t cpus;

	(void)e;
	(void)task;
	if (__real_sched_getaffinity(0, sizeof(cpus), &cpus) != 0 || !CPU_EQUAL(&cpus, &seen->cpus))
		atomic_fetch_add(&seen->elsewhere, 1);
	usleep(100); /* so that each thread has some */
	return ERR_NONE;
}

static void threads_may_be_where_the_process_may(void **state)
{
	struct places seen = { .elsewhere = 0 };

	(void)state;
	assert_int_equal(__real_sched_getaffinity(0, sizeof(seen.cpus), &seen.cpus), 0);
	use_threads("4");
	assert_int_equal(pool_run(200, see_cpus, &seen, NULL), ERR_NONE);
	assert_int_equal(seen.elsewhere, 0);
}

struct masks {
	pthread_t caller;
	atomic_int open_in_caller, open_in_others; /* tasks */
};

static enum err_kind see_mask(void *job, size_t task, struct error *e)
{
	struct masks *seen = job;
	sigset_t blocked;

	(void)e;
	(void)task;
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	if (!sigismember(&blocked, SIGTERM))
		atomic_fetch_add(
			pthread_equal(pthread_self(), seen->caller) ? &seen->open_in_caller : &seen->open_in_others, 1);
	return ERR_NONE;
}

/* A handler runs in the thread that has always been there. */
static void signals_are_the_callers(void **state)
{
	struct masks seen = { .caller = pthread_self() };

	(void)state;
	use_threads("1");
	assert_int_equal(pool_run(TASKS, see_mask, &seen, NULL), ERR_NONE);
	assert_int_equal(seen.open_in_caller, TASKS);
	use_threads("8");
	assert_int_equal(pool_run(TASKS, see_mask, &seen, NULL), ERR_NONE);
	assert_int_equal(seen.open_in_others, 0);
}

static void the_number_is_said_or_found(void **state)
{
	(void)state;
	setenv("GPUSHIM_THREADS", "5", 1);
	assert_int_equal(pool_threads(), 5);
	setenv("GPUSHIM_THREADS", "100000", 1);
	assert_int_equal(pool_threads(), 128);
	unsetenv("GPUSHIM_THREADS");
	assert_in_range(pool_threads(), 1, 16);
	for (size_t i = 0; i < 3; i++) {
		static const char *const none[] = { "0", "", "many" };
		unsigned found = pool_threads();

		setenv("GPUSHIM_THREADS", none[i], 1);
		assert_int_equal(pool_threads(), found);
		unsetenv("GPUSHIM_THREADS");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_task_is_done_once),
		cmocka_unit_test(no_more_threads_than_tasks),
		cmocka_unit_test(threads_that_cannot_be_made_are_not_missed),
		cmocka_unit_test(a_machine_of_very_many_cpus_has_some_threads),
		cmocka_unit_test(the_first_that_fails_is_told),
		cmocka_unit_test(pools_within_pools_share_the_threads),
		cmocka_unit_test(who_has_no_task_left_helps_another_run),
		cmocka_unit_test(a_child_has_a_crew_of_its_own),
		cmocka_unit_test(threads_may_be_where_the_process_may),
		cmocka_unit_test(signals_are_the_callers),
		cmocka_unit_test(the_number_is_said_or_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
