/* SPDX-License-Identifier: BSD-2-Clause */
/* The walk back from a stretch of time, rule by rule. Times are small numbers; "1 pipe-read < 2 on-cpu" is task 1 in a pipe's read, woken by
 * task 2, which was on a CPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <time.h>

#include "chain_walked.h"

static void test_on_a_cpu_all_the_time(void **state)
{
	struct host_task *t = built_task(&b, 1, 1);

	(void)state;
	assert_string_equal(walked(t, 10, 90), "10-90 1 on-cpu\n");
	assert_string_equal(walked(t, 10, 10), "");
	assert_null(chain.at[0].steps[0].wait);
}

static void test_a_disk_and_then_the_queue(void **state)
{
	struct host_task *t = built_task(&b, 1, 1);
	struct host_wait *w =
		of_file(built_wait(&b, t, 20, 70, 80, SYS_pread64, GST_WOKEN_INTERRUPT, NULL), GST_FD_FILE, "/data/x");

	(void)state;
	assert_string_equal(walked(t, 10, 90), "10-20 1 on-cpu\n20-70 1 file-read\n70-80 1 queued\n80-90 1 on-cpu\n");
	assert_ptr_equal(chain.at[1].steps[0].wait, w);
	assert_int_equal(chain.at[1].steps[0].by, GST_WOKEN_INTERRUPT);
	assert_ptr_equal(chain.at[2].steps[0].wait, w);
	assert_string_equal(walked(t, 30, 75), "30-70 1 file-read\n70-75 1 queued\n");
	assert_int_equal(chain.at[0].steps[0].begin_ns, 30);
	assert_int_equal(chain.at[0].steps[0].end_ns, 70);
	assert_string_equal(walked(t, 40, 50), "40-50 1 file-read\n");
}

static void test_quota_is_not_the_queue(void **state)
{
	struct host_task *t = built_task(&b, 1, 1);

	(void)state;
	preempted(t, 20, 80)->throttled_ns = 50;
	built_wait(&b, t, 100, 120, 150, SYS_read, GST_WOKEN_INTERRUPT, NULL)->throttled_ns = 30;
	assert_string_equal(walked(t, 10, 90), "10-20 1 on-cpu\n20-70 1 throttled\n70-80 1 queued\n80-90 1 on-cpu\n");
	assert_string_equal(walked(t, 60, 75), "60-70 1 throttled\n70-75 1 queued\n");
	assert_string_equal(walked(t, 110, 151), "110-120 1 other\n120-150 1 throttled\n150-151 1 on-cpu\n");
}

/* What the waker did is asked only until the wake, and only back to the sleep's begin. */
static void test_into_the_waker(void **state)
{
	struct host_task *t = built_task(&b, 1, 1), *other = built_task(&b, 2, 1);

	(void)state;
	built_wait(&b, t, 20, 60, 65, SYS_futex, GST_WOKEN_TASK, other);
	of_file(built_wait(&b, other, 10, 30, 34, SYS_read, GST_WOKEN_INTERRUPT, NULL), GST_FD_FILE, "/f");
	of_file(built_wait(&b, other, 50, 80, 80, SYS_fsync, GST_WOKEN_INTERRUPT, NULL), GST_FD_FILE, "/f");
	assert_string_equal(walked(t, 0, 70),
			    "0-20 1 on-cpu\n20-30 1 lock < 2 file-read\n30-34 1 lock < 2 queued\n"
			    "34-50 1 lock < 2 on-cpu\n50-60 1 lock < 2 flush\n60-65 1 queued\n65-70 1 on-cpu\n");
	assert_int_equal(chain.at[1].steps[0].begin_ns, 20);
	assert_int_equal(chain.at[1].steps[0].end_ns, 60);
	assert_int_equal(chain.at[1].steps[0].by, GST_WOKEN_TASK);
	assert_int_equal(chain.at[1].steps[1].begin_ns, 20);
	assert_int_equal(chain.at[1].steps[1].end_ns, 30);
	assert_string_equal(walked(t, 32, 40), "32-34 1 lock < 2 queued\n34-40 1 lock < 2 on-cpu\n");
	assert_int_equal(chain.at[0].steps[0].begin_ns, 32);
}

/* HOST.md's example: the trainer, its pin thread, a worker's feeder, the worker, a file. */
static void test_three_processes_deep(void **state)
{
	struct host_task *trainer = built_task(&b, 29556, 29556), *worker = built_task(&b, 29597, 29597);
	struct host_task *pin = built_task(&b, 29599, 29556), *feeder = built_task(&b, 29601, 29597);
	struct chain_segment *s;
	char words[48];

	(void)state;
	strcpy(worker->name, "python3");
	strcpy(feeder->name, "python3");
	strcpy(pin->name, "python3");
	built_wait(&b, trainer, 100, 300, 302, SYS_futex, GST_WOKEN_TASK, pin);
	of_file(built_wait(&b, pin, 90, 290, 291, SYS_read, GST_WOKEN_TASK, feeder), GST_FD_PIPE, "pipe:[7]");
	built_wait(&b, feeder, 80, 280, 283, SYS_futex, GST_WOKEN_TASK, worker);
	of_file(built_wait(&b, worker, 120, 226, 230, SYS_pread64, GST_WOKEN_INTERRUPT, NULL), GST_FD_FILE,
		"/data/train-000.tar")
		->what.offset = 104857600;
	assert_string_equal(walked(trainer, 100, 310),
			    "100-120 29556 lock < 29599 pipe-read < 29601 lock < 29597 on-cpu\n"
			    "120-226 29556 lock < 29599 pipe-read < 29601 lock < 29597 file-read\n"
			    "226-230 29556 lock < 29599 pipe-read < 29601 lock < 29597 queued\n"
			    "230-280 29556 lock < 29599 pipe-read < 29601 lock < 29597 on-cpu\n"
			    "280-283 29556 lock < 29599 pipe-read < 29601 queued\n"
			    "283-290 29556 lock < 29599 pipe-read < 29601 on-cpu\n"
			    "290-291 29556 lock < 29599 queued\n"
			    "291-300 29556 lock < 29599 on-cpu\n"
			    "300-302 29556 queued\n302-310 29556 on-cpu\n");
	s = &chain.at[1];
	assert_string_equal(chain_state_words(words, sizeof(words), &b.trace, &s->steps[0]), "futex");
	assert_string_equal(chain_state_words(words, sizeof(words), &b.trace, &s->steps[1]), "read pipe:[7]");
	assert_string_equal(chain_state_words(words, sizeof(words), &b.trace, &s->steps[3]),
			    "pread64 /data/train-000.tar");
	assert_string_equal(chain_state_words(words, 20, &b.trace, &s->steps[3]), "pread64 ...-000.tar");
	assert_string_equal(chain_state_words(words, 8, &b.trace, &s->steps[3]), "pread64");
}

/* Whoever ended it: a file's wait is about the file. */
static void test_io_is_an_answer_whoever_ends_it(void **state)
{
	struct host_task *t = built_task(&b, 1, 1), *other = built_task(&b, 2, 2);

	(void)state;
	of_file(built_wait(&b, t, 10, 20, 20, SYS_read, GST_WOKEN_TASK, other), GST_FD_FILE, "/fuse/x");
	built_wait(&b, t, 30, 40, 40, -1, GST_WOKEN_TASK, other)->what.flags = GST_WAIT_FAULT | GST_WAIT_DISK;
	built_wait(&b, t, 50, 60, 60, SYS_fsync, GST_WOKEN_TASK, other);
	built_wait(&b, t, 70, 80, 80, SYS_nanosleep, GST_WOKEN_TASK, other);
	built_wait(&b, t, 90, 95, 95, -1, GST_WOKEN_TASK, other)->what.flags = GST_WAIT_FAULT | GST_WAIT_ANONYMOUS;
	assert_string_equal(walked(t, 10, 95),
			    "10-20 1 file-read\n20-30 1 on-cpu\n30-40 1 fault\n40-50 1 on-cpu\n50-60 1 flush\n"
			    "60-70 1 on-cpu\n70-80 1 sleep\n80-90 1 on-cpu\n90-95 1 swap\n");
}

static void test_time_limits(void **state)
{
	struct host_task *t = built_task(&b, 1, 1);

	(void)state;
	built_wait(&b, t, 10, 20, 20, SYS_clock_nanosleep, GST_WOKEN_TIMER, NULL);
	built_wait(&b, t, 30, 40, 40, SYS_poll, GST_WOKEN_TIMER, NULL); /* of nothing */
	built_wait(&b, t, 50, 60, 60, SYS_poll, GST_WOKEN_TIMER, NULL)->what.arg = 4096;
	built_wait(&b, t, 70, 80, 80, SYS_select, GST_WOKEN_TIMER, NULL); /* of nothing */
	built_wait(&b, t, 90, 95, 95, SYS_futex, GST_WOKEN_TIMER, NULL);
	assert_string_equal(
		walked(t, 10, 95),
		"10-20 1 sleep\n20-30 1 on-cpu\n30-40 1 sleep\n40-50 1 on-cpu\n50-60 1 poll\n60-70 1 on-cpu\n"
		"70-80 1 sleep\n80-90 1 on-cpu\n90-95 1 lock\n");
}

/* A waiter of the GIL wakes every 5 ms; the holder is asked about all of it. */
static void test_one_wait_in_many_parts(void **state)
{
	struct host_task *t = built_task(&b, 1, 1), *holder = built_task(&b, 2, 1);

	(void)state;
	for (int i = 0; i < 3; i++)
		built_wait(&b, t, 100 + 10 * i, 108 + 10 * i, 109 + 10 * i, SYS_futex, GST_WOKEN_TIMER, NULL)
			->what.arg = 4096 + 4 * (i % 2);
	built_wait(&b, t, 130, 138, 139, SYS_futex, GST_WOKEN_TASK, holder)->what.arg = 4100;
	preempted(holder, 105, 125);
	assert_string_equal(walked(t, 95, 140),
			    "95-100 1 on-cpu\n100-105 1 lock < 2 on-cpu\n105-125 1 lock < 2 queued\n"
			    "125-138 1 lock < 2 on-cpu\n138-139 1 queued\n139-140 1 on-cpu\n");
	assert_ptr_equal(chain.at[1].steps[0].wait, &t->waits[3]);
	assert_int_equal(chain.at[1].steps[0].begin_ns, 100);
	assert_int_equal(chain.at[1].steps[0].end_ns, 138);
	/* however little of it is asked about */
	assert_string_equal(walked(t, 119, 120), "119-120 1 lock < 2 queued\n");
	assert_string_equal(walked(t, 128, 129), "128-129 1 lock < 2 on-cpu\n");
	/* another lock: another wait, and who held that is guessed */
	t->waits[2].what.arg = 8192;
	assert_string_equal(walked(t, 110, 120), "110-118 1 lock < 2 queued ?\n118-119 1 queued\n119-120 1 on-cpu\n");
	assert_string_equal(walked(t, 120, 128), "120-125 1 lock < 2 queued ?\n125-128 1 lock < 2 on-cpu ?\n");
}

/* One long wait that nobody ended is no lock that somebody held. */
static void test_one_long_wait_for_nothing(void **state)
{
	struct host_task *t = built_task(&b, 1, 1), *other = built_task(&b, 2, 1);

	(void)state;
	b.trace.end_ns = t->end_ns = other->end_ns = 100000000;
	built_wait(&b, t, 100, 50000100, 50000100, SYS_futex, GST_WOKEN_TIMER, NULL);
	assert_string_equal(walked(t, 100, 50000100), "100-50000100 1 lock\n");
	assert_int_equal(chain.at[0].steps[0].by, GST_WOKEN_TIMER);
	/* … the same again, but not at once */
	built_wait(&b, t, 60000000, 60000100, 60000100, SYS_futex, GST_WOKEN_TASK, other);
	assert_string_equal(walked(t, 100, 50000100), "100-50000100 1 lock\n");
	/* at once */
	t->waits[1].out_ns = 50001000;
	assert_string_equal(walked(t, 100, 50000100), "100-50000100 1 lock < 2 on-cpu\n");
}

static void test_who_was_born_meanwhile(void **state)
{
	struct host_task *t = built_task(&b, 1, 1), *boss = built_task(&b, 2, 2), *worker = built_task(&b, 3, 3);

	(void)state;
	worker->begin_ns = 150;
	worker->flags = 0;
	worker->creator = 1;
	of_file(built_wait(&b, t, 100, 200, 200, SYS_read, GST_WOKEN_TASK, worker), GST_FD_PIPE, NULL);
	built_wait(&b, boss, 110, 120, 120, SYS_execve, GST_WOKEN_INTERRUPT, NULL)->what.flags = GST_WAIT_IOWAIT;
	assert_string_equal(walked(t, 100, 200),
			    "100-110 1 pipe-read < 3 unborn < 2 on-cpu\n110-120 1 pipe-read < 3 unborn < 2 file-read\n"
			    "120-150 1 pipe-read < 3 unborn < 2 on-cpu\n150-200 1 pipe-read < 3 on-cpu\n");
	worker->creator = HOST_NOBODY;
	assert_string_equal(walked(t, 100, 200), "100-150 1 pipe-read < 3 unknown\n150-200 1 pipe-read < 3 on-cpu\n");
	worker->creator = 0; /* who waits for it itself */
	assert_string_equal(walked(t, 100, 200), "100-150 1 pipe-read < 3 unknown\n150-200 1 pipe-read < 3 on-cpu\n");
}

static void test_strangers(void **state)
{
	struct host_task *t = built_task(&b, 1, 1), *server = built_task(&b, 2, 2), *kernel = built_task(&b, 3, 3);

	(void)state;
	server->flags = GST_TASK_STRANGER;
	server->begin_ns = 150;
	kernel->flags = GST_TASK_STRANGER | GST_TASK_KERNEL;
	of_file(built_wait(&b, t, 100, 140, 140, SYS_recvfrom, GST_WOKEN_TASK, server), GST_FD_SOCKET, NULL);
	of_file(built_wait(&b, t, 145, 160, 160, SYS_recvfrom, GST_WOKEN_TASK, server), GST_FD_SOCKET, NULL);
	built_wait(&b, t, 165, 180, 180, SYS_openat, GST_WOKEN_TASK, kernel);
	assert_string_equal(walked(t, 100, 180),
			    "100-140 1 socket-read\n140-145 1 on-cpu\n145-150 1 socket-read\n"
			    "150-160 1 socket-read < 2 on-cpu\n160-165 1 on-cpu\n165-180 1 other\n");
	assert_int_equal(chain.at[5].steps[0].by, GST_WOKEN_TASK);
}

static void test_two_that_wait_for_each_other(void **state)
{
	struct host_task *t = built_task(&b, 1, 1), *other = built_task(&b, 2, 1);

	(void)state;
	built_wait(&b, t, 10, 50, 50, SYS_futex, GST_WOKEN_TASK, other);
	built_wait(&b, other, 20, 40, 40, SYS_futex, GST_WOKEN_TASK, t);
	assert_string_equal(walked(t, 10, 50),
			    "10-20 1 lock < 2 on-cpu\n20-40 1 lock < 2 lock\n40-50 1 lock < 2 on-cpu\n");
	t->waits[0].waker = 0; /* itself */
	assert_string_equal(walked(t, 10, 50), "10-50 1 lock\n");
}

static void test_no_deeper_than_that(void **state)
{
	struct host_task *t = NULL;

	(void)state;
	for (uint32_t i = 0; i < CHAIN_DEPTH + 4; i++)
		t = built_task(&b, i + 1, 1);
	for (size_t i = 0; &b.tasks[i] != t; i++)
		built_wait(&b, &b.tasks[i], 10, 50, 50, SYS_futex, GST_WOKEN_TASK, &b.tasks[i + 1]);
	walked(&b.tasks[0], 10, 50);
	assert_int_equal(chain.n, 1);
	assert_int_equal(chain.at[0].n_steps, CHAIN_DEPTH);
	assert_int_equal(chain.at[0].steps[CHAIN_DEPTH - 1].state, CHAIN_UNKNOWN);
	walked(&b.tasks[4], 10, 50);
	assert_int_equal(chain.at[0].n_steps, CHAIN_DEPTH);
	assert_int_equal(chain.at[0].steps[CHAIN_DEPTH - 1].state, CHAIN_ON_CPU);
}

static void test_where_nothing_is_on_record(void **state)
{
	struct host_task *t = built_task(&b, 1, 1), *child = built_task(&b, 2, 2);

	(void)state;
	b.trace.begin_ns = 100;
	b.trace.end_ns = 900;
	t->begin_ns = 150;
	t->end_ns = 800;
	assert_string_equal(walked(t, 0, 1000), "0-150 1 unknown\n150-800 1 on-cpu\n800-1000 1 unknown\n");
	b.trace.cut_ns = 400;
	assert_string_equal(walked(t, 200, 1000), "200-400 1 on-cpu\n400-1000 1 unknown\n");
	b.trace.cut_ns = INT64_MAX;
	built_wait(&b, t, 300, 950, 960, SYS_wait4, GST_WOKEN_TASK, child);
	assert_string_equal(walked(t, 200, 1000), "200-300 1 on-cpu\n300-800 1 child < 2 on-cpu\n800-1000 1 unknown\n");
	/* who has ended goes on until it has woken whom it does */
	t->end_ns = 990;
	child->end_ns = 500;
	child->ended = true;
	assert_string_equal(walked(t, 200, 880), "200-300 1 on-cpu\n300-880 1 child < 2 on-cpu\n");
}

/* Who woke it is not known, what it waited for is. A wait that lasts has not been ended. */
static void test_nobody_known(void **state)
{
	struct host_task *t = built_task(&b, 1, 1), *other = built_task(&b, 2, 1);

	(void)state;
	(void)other;
	of_file(built_wait(&b, t, 100, 200, 200, SYS_read, GST_WOKEN_UNKNOWN, NULL), GST_FD_PIPE, NULL);
	built_wait(&b, t, 300, 1000, 1000, SYS_futex, GST_WOKEN_UNKNOWN, NULL)->what.flags = GST_WAIT_LAST;
	assert_string_equal(walked(t, 100, 500), "100-200 1 pipe-read\n200-300 1 on-cpu\n300-500 1 lock\n");
	assert_int_equal(chain.at[0].steps[0].by, GST_WOKEN_UNKNOWN);
}

/* ---- bounds ---- */

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Files that were made to be slow: loops of timed waits that are entered again and again, lots of sums at one time, guesses among many. */
static void test_a_hostile_trace_is_not_slow(void **state)
{
	enum { N = 300000 };
	struct host_task *t = built_task(&b, 1, 1), *other = built_task(&b, 2, 1), *third = built_task(&b, 3, 1);
	double began;

	(void)state;
	b.trace.end_ns = t->end_ns = other->end_ns = third->end_ns = 100 * N;
	for (int i = 0; i < N; i++) {
		built_wait(&b, t, 100 * i, 100 * i + 80, 100 * i + 90, SYS_futex, GST_WOKEN_TASK, other);
		built_wait(&b, other, 100 * i + 10, 100 * i + 20, 100 * i + 25, SYS_futex, GST_WOKEN_TIMER, NULL);
		built_wait(&b, third, 100 * i + 10, 100 * i + 20, 100 * i + 25, SYS_futex, GST_WOKEN_UNKNOWN, NULL);
		built_stalls(&b, other, i, 100 * N - i, 10, 0);
	}
	began = seconds();
	walked(t, 0, 100 * N);
	walked(third, 0, 100 * N);
	assert_true(seconds() - began < 20);
	assert_int_equal(chain.at[0].begin_ns, 0);
	assert_int_equal(chain.at[chain.n - 1].end_ns, 100 * N);
}

/* Stretches of one chain, walked one by one; an answer that goes on over two is one segment. */
static void test_several_stretches(void **state)
{
	struct host_task *t = built_task(&b, 1, 1), *w = built_task(&b, 2, 2);
	char text[512];

	(void)state;
	built_wait(&b, t, 10, 30, 40, SYS_read, GST_WOKEN_TASK, w);
	chain_clear(&chain);
	assert_true(chain_walk_on(&chain, &b.trace, t, 0, 20));
	assert_true(chain_walk_on(&chain, &b.trace, t, 25, 35));
	assert_true(chain_walk_on(&chain, &b.trace, t, 35, 50));
	chain_settle(&chain);
	assert_string_equal(
		built_text(&chain, text, sizeof(text)),
		"0-10 1 on-cpu\n10-20 1 other < 2 on-cpu\n25-30 1 other < 2 on-cpu\n30-40 1 queued\n40-50 1 on-cpu\n");
	assert_string_equal(walked(t, 40, 50), "40-50 1 on-cpu\n"); /* what it held is gone */
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_several_stretches),
		TEST(test_on_a_cpu_all_the_time),
		TEST(test_a_disk_and_then_the_queue),
		TEST(test_quota_is_not_the_queue),
		TEST(test_into_the_waker),
		TEST(test_three_processes_deep),
		TEST(test_io_is_an_answer_whoever_ends_it),
		TEST(test_time_limits),
		TEST(test_one_wait_in_many_parts),
		TEST(test_one_long_wait_for_nothing),
		TEST(test_who_was_born_meanwhile),
		TEST(test_strangers),
		TEST(test_two_that_wait_for_each_other),
		TEST(test_no_deeper_than_that),
		TEST(test_where_nothing_is_on_record),
		TEST(test_nobody_known),
		TEST(test_a_hostile_trace_is_not_slow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
