/* SPDX-License-Identifier: BSD-2-Clause */
/* The walk back from a stretch of time, rule by rule. Times are small numbers; "1 pipe-read < 2 on-cpu" is task 1 in a pipe's read, woken by
 * task 2, which was on a CPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <limits.h>
#include <time.h>

#include "chain_built.h"

static struct built b;
static struct chain chain;

static int setup(void **state)
{
	(void)state;
	built_begin(&b, 0, 1000);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	chain_free(&chain);
	built_end(&b);
	return 0;
}

static const char *walked(const struct host_task *t, int64_t begin, int64_t end)
{
	static char text[8192];

	assert_true(chain_walk(&chain, &b.trace, t, begin, end));
	return built_text(&chain, text, sizeof(text));
}

static struct host_wait *of_file(struct host_wait *w, uint8_t fd_kind, const char *file)
{
	w->what.fd_kind = fd_kind;
	w->what.file = file;
	return w;
}

static struct host_wait *preempted(struct host_task *t, int64_t out, int64_t in)
{
	struct host_wait *w = built_wait(&b, t, out, out, in, SYS_futex, GST_WOKEN_UNKNOWN, NULL);

	w->what.flags = GST_WAIT_PREEMPTED;
	return w;
}

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
	assert_string_equal(chain_woken_words(words, sizeof(words), &b.trace, &s->steps[0], &s->steps[1]),
			    "python3[29599]");
	assert_string_equal(chain_state_words(words, sizeof(words), &b.trace, &s->steps[1]), "read pipe:[7]");
	assert_string_equal(chain_woken_words(words, sizeof(words), &b.trace, &s->steps[1], &s->steps[2]),
			    "python3[29601/pid 29597]");
	assert_string_equal(chain_state_words(words, sizeof(words), &b.trace, &s->steps[3]),
			    "pread64 /data/train-000.tar");
	assert_string_equal(chain_woken_words(words, sizeof(words), &b.trace, &s->steps[3], NULL), "an interrupt");
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
	assert_string_equal(walked(t, 100, 140),
			    "100-105 1 lock < 2 on-cpu\n105-108 1 lock < 2 queued\n108-109 1 queued\n109-110 1 on-cpu\n"
			    "110-118 1 lock < 2 queued\n118-119 1 queued\n119-120 1 on-cpu\n"
			    "120-125 1 lock < 2 queued\n125-128 1 lock < 2 on-cpu\n128-129 1 queued\n129-130 1 on-cpu\n"
			    "130-138 1 lock < 2 on-cpu\n138-139 1 queued\n139-140 1 on-cpu\n");
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
	char words[32];

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
	assert_string_equal(chain_woken_words(words, sizeof(words), &b.trace, &chain.at[5].steps[0], NULL), "task3[3]");
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

/* ---- short waits ---- */

/* 256 faults of 40 in 20480: half of the time, and half of any part of it. */
static void test_short_waits_are_spread(void **state)
{
	struct host_task *t = built_task(&b, 1, 1);
	struct host_stalls *s = built_stalls(&b, t, 1000, 21480, 10240, 0);
	char words[64];

	(void)state;
	b.trace.end_ns = t->end_ns = 100000;
	s->what.file = "/data/shard";
	assert_string_equal(walked(t, 0, 30000), "0-11240 1 on-cpu\n11240-21480 1 fault\n21480-30000 1 on-cpu\n");
	assert_ptr_equal(chain.at[1].steps[0].stalls, s);
	assert_string_equal(chain_state_words(words, sizeof(words), &b.trace, &chain.at[1].steps[0]),
			    "page fault in /data/shard");
	assert_string_equal(walked(t, 2000, 2100), "2000-2050 1 on-cpu\n2050-2100 1 fault\n");
	s->queued_ns = 5120;
	s->throttled_ns = 2048;
	assert_string_equal(walked(t, 1000, 11240),
			    "1000-3560 1 on-cpu\n3560-8680 1 fault\n8680-10216 1 queued\n10216-11240 1 throttled\n");
}

/* The sum lies outside of the long waits between. */
static void test_short_waits_around_a_long_one(void **state)
{
	struct host_task *t = built_task(&b, 1, 1);

	(void)state;
	of_file(built_wait(&b, t, 20, 80, 80, SYS_read, GST_WOKEN_INTERRUPT, NULL), GST_FD_FILE, "/f");
	built_stalls(&b, t, 0, 100, 20, 0);
	assert_string_equal(walked(t, 0, 100),
			    "0-10 1 on-cpu\n10-20 1 fault\n20-80 1 file-read\n80-90 1 on-cpu\n90-100 1 fault\n");
	assert_string_equal(walked(t, 90, 100), "90-95 1 on-cpu\n95-100 1 fault\n");
}

static void test_short_waits_of_two_kinds(void **state)
{
	struct host_task *t = built_task(&b, 1, 1);

	(void)state;
	built_stalls(&b, t, 0, 100, 50, 0);
	built_stalls(&b, t, 50, 150, 20, 10)->what.flags = GST_WAIT_FAULT | GST_WAIT_ANONYMOUS;
	assert_string_equal(
		walked(t, 0, 150),
		"0-25 1 on-cpu\n25-50 1 fault\n50-60 1 on-cpu\n60-85 1 fault\n85-95 1 swap\n95-100 1 queued\n"
		"100-135 1 on-cpu\n135-145 1 swap\n145-150 1 queued\n");
	/* more than there is room for, as in a damaged file: tiles all the same */
	t->stalls[0].blocked_ns = 1000;
	assert_string_equal(walked(t, 0, 60), "0-60 1 fault\n");
}

static void test_short_waits_of_a_waker(void **state)
{
	struct host_task *t = built_task(&b, 1, 1), *other = built_task(&b, 2, 1);

	(void)state;
	built_wait(&b, t, 10, 50, 50, SYS_futex, GST_WOKEN_TASK, other);
	built_stalls(&b, other, 0, 100, 50, 0);
	assert_string_equal(walked(t, 10, 50), "10-30 1 lock < 2 on-cpu\n30-50 1 lock < 2 fault\n");
}

static void test_looking_for_memory(void **state)
{
	struct host_task *t = built_task(&b, 1, 1);

	(void)state;
	built_reclaim(&b, t, 20, 60);
	built_reclaim(&b, t, 30, 40);
	built_wait(&b, t, 50, 55, 55, -1, GST_WOKEN_INTERRUPT, NULL)->what.flags = GST_WAIT_RECLAIM;
	assert_string_equal(walked(t, 0, 100),
			    "0-20 1 on-cpu\n20-50 1 reclaim\n50-55 1 reclaim\n55-60 1 reclaim\n60-100 1 on-cpu\n");
	assert_string_equal(walked(t, 35, 45), "35-45 1 reclaim\n");
}

/* ---- guesses ---- */

static void test_the_only_thread_that_can_hold_the_lock(void **state)
{
	struct host_task *t = built_task(&b, 1, 1), *holder = built_task(&b, 2, 1), *idle = built_task(&b, 3, 1);
	struct host_task *foreign = built_task(&b, 4, 4);

	(void)state;
	(void)foreign; /* of another process */
	built_wait(&b, t, 100, 200, 200, SYS_futex, GST_WOKEN_UNKNOWN, NULL);
	built_wait(&b, idle, 0, 500, 500, SYS_nanosleep, GST_WOKEN_TIMER, NULL);
	of_file(built_wait(&b, holder, 50, 150, 150, SYS_read, GST_WOKEN_UNKNOWN, NULL), GST_FD_FILE, "/f");
	assert_string_equal(walked(t, 100, 200), "100-150 1 lock < 2 file-read ?\n150-200 1 lock < 2 on-cpu ?\n");
	idle->waits[0].in_ns = idle->waits[0].wake_ns = 150; /* two that may */
	assert_string_equal(walked(t, 100, 200), "100-200 1 lock\n");
}

/* Forked workers hold both ends of all pipes, as the reader does; the one that leaves its CPU right after the wake wrote. */
static void test_the_writing_end(void **state)
{
	struct host_task *t = built_task(&b, 1, 1), *mine = built_task(&b, 2, 1);
	struct host_task *one = built_task(&b, 3, 3), *two = built_task(&b, 4, 4);
	struct host_wait *w;

	(void)state;
	(void)mine; /* on a CPU all the time, and holds it, too */
	w = of_file(built_wait(&b, t, 100, 200, 200, SYS_read, GST_WOKEN_UNKNOWN, NULL), GST_FD_PIPE, NULL);
	w->what.inode = 7;
	built_pipe(&b, 7, 0, t, GST_FD_PIPE, GST_PIPE_READS | GST_PIPE_WRITES);
	built_pipe(&b, 7, 0, one, GST_FD_PIPE, GST_PIPE_WRITES);
	built_pipe(&b, 7, 0, two, GST_FD_PIPE, GST_PIPE_WRITES);
	built_wait(&b, two, 300, 400, 400, SYS_futex, GST_WOKEN_TASK, t);
	assert_string_equal(walked(t, 100, 200), "100-200 1 pipe-read < 4 on-cpu ?\n");
	built_wait(&b, one, 10, 190, 190, SYS_read, GST_WOKEN_INTERRUPT, NULL)->what.fd_kind = GST_FD_FILE;
	built_wait(&b, one, 205, 400, 400, SYS_futex, GST_WOKEN_TASK, t);
	assert_string_equal(walked(t, 100, 200),
			    "100-190 1 pipe-read < 3 file-read ?\n190-200 1 pipe-read < 3 on-cpu ?\n");
	b.trace.n_pipe_ends = 1; /* nobody else: one of its own threads */
	assert_string_equal(walked(t, 100, 200), "100-200 1 pipe-read < 2 on-cpu ?\n");
	b.trace.n_pipe_ends = 0;
	assert_string_equal(walked(t, 100, 200), "100-200 1 pipe-read\n");
}

static void test_the_other_end_of_a_socket(void **state)
{
	struct host_task *t = built_task(&b, 1, 1), *server = built_task(&b, 2, 2);

	(void)state;
	of_file(built_wait(&b, t, 100, 200, 200, SYS_recvfrom, GST_WOKEN_UNKNOWN, NULL), GST_FD_SOCKET, NULL)
		->what.inode = 7;
	built_pipe(&b, 7, 0, t, GST_FD_SOCKET, GST_PIPE_READS | GST_PIPE_WRITES);
	built_pipe(&b, 9, 7, server, GST_FD_SOCKET, GST_PIPE_READS | GST_PIPE_WRITES);
	assert_string_equal(walked(t, 100, 200), "100-200 1 socket-read < 2 on-cpu ?\n");
	b.ends[0].peer = 9;
	b.ends[1].peer = 0;
	assert_string_equal(walked(t, 100, 200), "100-200 1 socket-read < 2 on-cpu ?\n");
	b.ends[0].peer = 0;
	assert_string_equal(walked(t, 100, 200), "100-200 1 socket-read\n");
}

static void test_the_child_that_ended(void **state)
{
	struct host_task *t = built_task(&b, 1, 1), *one = built_task(&b, 2, 2), *two = built_task(&b, 3, 3);

	(void)state;
	one->creator = two->creator = 0;
	two->ended = true;
	two->end_ns = 199;
	built_wait(&b, t, 100, 200, 200, SYS_wait4, GST_WOKEN_UNKNOWN, NULL);
	assert_string_equal(walked(t, 100, 200), "100-200 1 child < 3 on-cpu ?\n");
}

static void test_looks_are_inferred(void **state)
{
	struct host_task *t = built_task(&b, 1, 1), *other = built_task(&b, 2, 1);

	(void)state;
	built_wait(&b, t, 100, 200, 200, SYS_futex, GST_WOKEN_TASK, other)->what.flags = GST_WAIT_LOOKED;
	assert_string_equal(walked(t, 90, 210), "90-100 1 on-cpu\n100-200 1 lock < 2 on-cpu ?\n200-210 1 on-cpu\n");
	b.trace.probes.how = GST_PROBES_PROC;
	assert_string_equal(walked(t, 90, 100), "90-100 1 on-cpu ?\n");
}

/* ---- states ---- */

static enum chain_state state_of(int32_t call, uint8_t fd_kind, uint16_t flags)
{
	struct host_task *t = built_task(&b, (uint32_t)b.trace.n_tasks + 1, 1);
	struct host_wait *w = built_wait(&b, t, 100, 200, 200, call, GST_WOKEN_INTERRUPT, NULL);

	w->what.fd_kind = fd_kind;
	w->what.flags = flags;
	w->what.arg = 4;
	walked(t, 100, 200);
	return chain.at[0].steps[0].state;
}

static void test_states(void **state)
{
	(void)state;
	assert_int_equal(state_of(SYS_read, GST_FD_FILE, 0), CHAIN_FILE_READ);
	assert_int_equal(state_of(SYS_read, GST_FD_PIPE, 0), CHAIN_PIPE_READ);
	assert_int_equal(state_of(SYS_read, GST_FD_OTHER, 0), CHAIN_OTHER);
	assert_int_equal(state_of(SYS_read, GST_FD_NONE, GST_WAIT_DISK), CHAIN_FILE_READ);
	assert_int_equal(state_of(SYS_recvmsg, GST_FD_NONE, 0), CHAIN_SOCKET_READ);
	assert_int_equal(state_of(SYS_writev, GST_FD_FILE, 0), CHAIN_FILE_WRITE);
	assert_int_equal(state_of(SYS_write, GST_FD_PIPE, 0), CHAIN_PIPE_WRITE);
	assert_int_equal(state_of(SYS_sendto, GST_FD_SOCKET, 0), CHAIN_SOCKET_WRITE);
	assert_int_equal(state_of(SYS_sendfile, GST_FD_SOCKET, GST_WAIT_IOWAIT), CHAIN_FILE_READ);
	assert_int_equal(state_of(SYS_epoll_wait, GST_FD_OTHER, 0), CHAIN_POLL);
	assert_int_equal(state_of(SYS_flock, GST_FD_FILE, 0), CHAIN_LOCK);
	assert_int_equal(state_of(SYS_wait4, GST_FD_NONE, 0), CHAIN_CHILD);
	assert_int_equal(state_of(SYS_ftruncate, GST_FD_FILE, GST_WAIT_IOWAIT), CHAIN_FILE_WRITE);
	assert_int_equal(state_of(SYS_openat, GST_FD_NONE, GST_WAIT_IOWAIT | GST_WAIT_DISK), CHAIN_FILE_READ);
	assert_int_equal(state_of(SYS_openat, GST_FD_NONE, GST_WAIT_DISK), CHAIN_OTHER);
	assert_int_equal(state_of(-1, GST_FD_NONE, GST_WAIT_IOWAIT), CHAIN_FAULT);
	assert_int_equal(state_of(-1, GST_FD_NONE, 0), CHAIN_OTHER);
	assert_int_equal(state_of(-2, GST_FD_PIPE, 0), CHAIN_PIPE_READ);
	assert_int_equal(state_of(-2, GST_FD_NONE, 0), CHAIN_OTHER);
	assert_int_equal(state_of(SYS_write, GST_FD_FILE, GST_WAIT_WRITE_BACK), CHAIN_FILE_WRITE);
	assert_int_equal(state_of(SYS_read, GST_FD_FILE, GST_WAIT_RECLAIM), CHAIN_RECLAIM);
	for (int s = 0; s < CHAIN_STATES; s++)
		assert_non_null(chain_state_name((enum chain_state)s));
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

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
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
		TEST(test_short_waits_are_spread),
		TEST(test_short_waits_around_a_long_one),
		TEST(test_short_waits_of_two_kinds),
		TEST(test_short_waits_of_a_waker),
		TEST(test_looking_for_memory),
		TEST(test_the_only_thread_that_can_hold_the_lock),
		TEST(test_the_writing_end),
		TEST(test_the_other_end_of_a_socket),
		TEST(test_the_child_that_ended),
		TEST(test_looks_are_inferred),
		TEST(test_states),
		TEST(test_a_hostile_trace_is_not_slow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
