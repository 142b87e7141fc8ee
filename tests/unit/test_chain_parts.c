/* SPDX-License-Identifier: BSD-2-Clause */
/* What the walk asks about one task: its state, its short waits, and who may have woken it where nobody saw that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "chain_walked.h"

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

/* Between two waits it writes: that is its own time, but for short waits and for want of memory. */
static void test_writing_on_a_cpu(void **state)
{
	struct host_task *t = built_task(&b, 1, 1);
	struct host_written *w;

	(void)state;
	built_written(&b, t, 20, 40);
	w = built_written(&b, t, 60, 80);
	w->what.file = "/out/x";
	built_wait(&b, t, 70, 75, 75, SYS_fsync, GST_WOKEN_INTERRUPT, NULL);
	assert_string_equal(walked(t, 0, 100), "0-20 1 on-cpu\n20-40 1 file-write\n40-60 1 on-cpu\n60-70 1 file-write\n"
					       "70-75 1 flush\n75-80 1 file-write\n80-100 1 on-cpu\n");
	assert_string_equal(walked(t, 25, 35), "25-35 1 file-write\n");
	assert_string_equal(walked(t, 40, 50), "40-50 1 on-cpu\n");
	built_reclaim(&b, t, 25, 30);
	assert_string_equal(walked(t, 20, 40), "20-25 1 file-write\n25-30 1 reclaim\n30-40 1 file-write\n");
	built_stalls(&b, t, 60, 70, 5, 0);
	assert_string_equal(walked(t, 60, 70), "60-65 1 file-write\n65-70 1 fault\n");
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

/* All walks of a report may look at so many tasks together; beyond, nothing is guessed. */
static void test_guesses_share_a_budget(void **state)
{
	struct host_task *t = built_task(&b, 1, 1), *holder = built_task(&b, 2, 1);
	size_t looked = 0;

	(void)state;
	(void)holder; /* on a CPU all the time */
	built_wait(&b, t, 100, 200, 200, SYS_futex, GST_WOKEN_UNKNOWN, NULL);
	chain.looked = &looked;
	assert_string_equal(walked(t, 100, 200), "100-200 1 lock < 2 on-cpu ?\n");
	assert_int_equal(looked, 2);
	assert_string_equal(walked(t, 100, 200), "100-200 1 lock < 2 on-cpu ?\n");
	assert_int_equal(looked, 4);
	looked = CHAIN_LOOKS;
	assert_string_equal(walked(t, 100, 200), "100-200 1 lock\n");
	assert_int_equal(looked, CHAIN_LOOKS);
}

/* A damaged file may say of one pipe, any number of times, who holds its ends: each is a look, and none left over is a guess. */
static void test_ends_of_a_pipe_share_it(void **state)
{
	struct host_task *t = built_task(&b, 1, 1), *one = built_task(&b, 3, 3), *two = built_task(&b, 4, 4);
	size_t looked = 0;

	(void)state;
	(void)two; /* on a CPU all the time, like the other one, but leaves it later */
	of_file(built_wait(&b, t, 100, 200, 200, SYS_read, GST_WOKEN_UNKNOWN, NULL), GST_FD_PIPE, NULL)->what.inode = 7;
	built_wait(&b, one, 205, 400, 400, SYS_futex, GST_WOKEN_TASK, t);
	for (size_t i = 0; i < 50; i++)
		built_pipe(&b, 7, 0, t, GST_FD_PIPE, GST_PIPE_READS);
	chain.looked = &looked;
	assert_string_equal(walked(t, 100, 200), "100-200 1 pipe-read\n");
	assert_int_equal(looked, 100); /* of the others, then of its own process */
	b.trace.n_pipe_ends = 0;
	built_pipe(&b, 7, 0, one, GST_FD_PIPE, GST_PIPE_WRITES);
	built_pipe(&b, 7, 0, two, GST_FD_PIPE, GST_PIPE_WRITES);
	looked = 0;
	assert_string_equal(walked(t, 100, 200), "100-200 1 pipe-read < 3 on-cpu ?\n");
	assert_int_equal(looked, 8); /* two ends, and all tasks for each: which are of its process is not said here */
	for (size_t left = 1; left <= 9; left++) {
		looked = CHAIN_LOOKS - left;
		assert_string_equal(walked(t, 100, 200),
				    left < 9 ? "100-200 1 pipe-read\n" : "100-200 1 pipe-read < 3 on-cpu ?\n");
		assert_int_equal(looked, left < 9 ? CHAIN_LOOKS : CHAIN_LOOKS - 1);
	}
}

/* So do the parts of a wait that are looked at ahead, for the last of them. */
static void test_looks_ahead_share_it(void **state)
{
	struct host_task *t = built_task(&b, 1, 1), *holder = built_task(&b, 2, 1);
	size_t looked = 0;

	(void)state;
	for (int64_t at = 100; at < 300; at += 50)
		built_wait(&b, t, at, at + 50, at + 50, SYS_futex, GST_WOKEN_TIMER, NULL);
	built_wait(&b, t, 300, 350, 350, SYS_futex, GST_WOKEN_TASK, holder);
	chain.looked = &looked;
	assert_string_equal(walked(t, 100, 350), "100-350 1 lock < 2 on-cpu\n");
	assert_int_equal(looked, 4);
	looked = CHAIN_LOOKS + 1; /* what two walks at once may have made of it */
	assert_string_equal(walked(t, 100, 350), "100-150 1 lock\n150-200 1 lock\n200-250 1 lock\n"
						 "250-300 1 lock\n300-350 1 lock < 2 on-cpu\n");
	assert_int_equal(looked, CHAIN_LOOKS + 1);
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

/* When it was woken is not on record: not after whoever did it went to sleep. The only one at the other end needs not be near. */
static void test_when_it_was_woken(void **state)
{
	struct host_task *t = built_task(&b, 1, 1), *writer = built_task(&b, 2, 2);
	struct host_wait *w;

	(void)state;
	w = of_file(built_wait(&b, t, 100, 900, 900, SYS_read, GST_WOKEN_UNKNOWN, NULL), GST_FD_PIPE, NULL);
	w->what.inode = 7;
	w->wake_known = false;
	built_pipe(&b, 7, 0, writer, GST_FD_PIPE, GST_PIPE_WRITES);
	built_wait(&b, writer, 300, 300, 400, SYS_write, GST_WOKEN_UNKNOWN, NULL)->what.flags = GST_WAIT_PREEMPTED;
	built_wait(&b, writer, 600, 950, 950, SYS_futex, GST_WOKEN_UNKNOWN, NULL);
	assert_string_equal(walked(t, 100, 910),
			    "100-300 1 pipe-read < 2 on-cpu ?\n300-400 1 pipe-read < 2 queued ?\n"
			    "400-600 1 pipe-read < 2 on-cpu ?\n600-900 1 queued ?\n900-910 1 on-cpu\n");
	assert_string_equal(walked(t, 700, 800), "700-800 1 queued ?\n");
	w->wake_known = true;
	assert_string_equal(walked(t, 500, 910),
			    "500-600 1 pipe-read < 2 on-cpu ?\n600-900 1 pipe-read < 2 lock ?\n900-910 1 on-cpu\n");
	/* one that slept all the time woke nobody */
	writer->waits[0].what.flags = 0;
	writer->waits[0].out_ns = 50;
	writer->waits[0].in_ns = writer->waits[0].wake_ns = 900;
	writer->n_waits = 1;
	assert_string_equal(walked(t, 500, 910), "500-900 1 pipe-read\n900-910 1 on-cpu\n");
}

/* A lock's holder that is to run has it still; one that has gone to sleep gave it up before. */
static void test_a_holder_without_a_cpu(void **state)
{
	struct host_task *t = built_task(&b, 1, 1), *holder = built_task(&b, 2, 1);

	(void)state;
	built_wait(&b, t, 100, 500, 500, SYS_futex, GST_WOKEN_UNKNOWN, NULL)->wake_known = false;
	built_wait(&b, holder, 200, 200, 600, SYS_futex, GST_WOKEN_UNKNOWN, NULL)->what.flags = GST_WAIT_PREEMPTED;
	assert_string_equal(walked(t, 100, 500), "100-200 1 lock < 2 on-cpu ?\n200-500 1 lock < 2 queued ?\n");
	holder->waits[0].what.flags = 0;
	assert_string_equal(walked(t, 100, 500), "100-200 1 lock < 2 on-cpu ?\n200-500 1 queued ?\n");
	/* too long ago */
	t->waits[0].in_ns = t->waits[0].wake_ns = 30000000;
	holder->waits[0].in_ns = holder->waits[0].wake_ns = 31000000;
	b.trace.end_ns = t->end_ns = holder->end_ns = 40000000;
	assert_string_equal(walked(t, 100, 500), "100-500 1 lock\n");
}

/* Two have gone to sleep: the last, if that is clear. The recorder's own threads have no part in it. */
static void test_the_last_that_went_to_sleep(void **state)
{
	struct host_task *t = built_task(&b, 1, 1), *one = built_task(&b, 2, 1), *two = built_task(&b, 3, 1),
			 *own = built_task(&b, 4, 1);

	(void)state;
	strcpy(own->name, "gpushim-look");
	b.trace.end_ns = t->end_ns = one->end_ns = two->end_ns = own->end_ns = 40000000;
	built_wait(&b, t, 100, 9000000, 9000000, SYS_futex, GST_WOKEN_UNKNOWN, NULL)->wake_known = false;
	built_wait(&b, one, 7000000, 20000000, 20000000, SYS_futex, GST_WOKEN_UNKNOWN, NULL);
	built_wait(&b, two, 8500000, 20000000, 20000000, SYS_futex, GST_WOKEN_UNKNOWN, NULL);
	assert_string_equal(walked(t, 8000000, 9000000),
			    "8000000-8500000 1 lock < 3 on-cpu ?\n8500000-9000000 1 queued ?\n");
	one->waits[0].out_ns = 8000000;
	assert_string_equal(walked(t, 8000000, 9000000), "8000000-9000000 1 lock\n");
}

/* One that hands over and sleeps at once, while another runs as it did before. An estimate of the wake, as without eBPF, is no bound. */
static void test_who_sleeps_right_then(void **state)
{
	struct host_task *t = built_task(&b, 1, 1), *one = built_task(&b, 2, 1), *other = built_task(&b, 3, 1);

	(void)state;
	(void)other;
	b.trace.end_ns = t->end_ns = one->end_ns = other->end_ns = 40000000;
	b.trace.probes.how = GST_PROBES_PERF;
	built_wait(&b, t, 100, 8000000, 9000000, SYS_futex, GST_WOKEN_UNKNOWN, NULL);
	built_wait(&b, one, 50, 8500000, 8500000, SYS_pread64, GST_WOKEN_UNKNOWN, NULL)->what.fd_kind = GST_FD_FILE;
	built_wait(&b, one, 8999000, 20000000, 20000000, SYS_futex, GST_WOKEN_UNKNOWN, NULL);
	assert_string_equal(walked(t, 100, 9000000),
			    "100-8500000 1 lock < 2 file-read ?\n8500000-8999000 1 lock < 2 on-cpu ?\n"
			    "8999000-9000000 1 queued\n");
	one->waits[1].out_ns = 20000000; /* both run on */
	assert_string_equal(walked(t, 100, 9000000), "100-8000000 1 lock\n8000000-9000000 1 queued\n");
}

/* By looks, who hands on and who takes wake between the same two looks, in any order. */
static void test_by_looks(void **state)
{
	struct host_task *t = built_task(&b, 1, 1), *pin = built_task(&b, 2, 1), *idle = built_task(&b, 3, 1),
			 *worker = built_task(&b, 4, 4);
	struct host_wait *w;

	(void)state;
	b.trace.end_ns = t->end_ns = pin->end_ns = idle->end_ns = worker->end_ns = 200000000;
	b.trace.probes.how = GST_PROBES_PROC;
	built_wait(&b, t, 10000000, 90000000, 90000000, SYS_futex, GST_WOKEN_UNKNOWN, NULL)->what.flags =
		GST_WAIT_LOOKED;
	w = of_file(built_wait(&b, pin, 8000000, 92000000, 92000000, SYS_read, GST_WOKEN_UNKNOWN, NULL), GST_FD_PIPE,
		    NULL);
	w->what.flags = GST_WAIT_LOOKED;
	w->what.inode = 7;
	built_wait(&b, idle, 0, 150000000, 150000000, SYS_futex, GST_WOKEN_UNKNOWN, NULL)->what.flags = GST_WAIT_LOOKED;
	w = of_file(built_wait(&b, worker, 9000000, 93000000, 93000000, SYS_pread64, GST_WOKEN_UNKNOWN, NULL),
		    GST_FD_FILE, NULL);
	w->what.flags = GST_WAIT_LOOKED;
	built_pipe(&b, 7, 0, worker, GST_FD_PIPE, GST_PIPE_WRITES);
	assert_string_equal(walked(t, 10000000, 90000000), "10000000-90000000 1 lock < 2 pipe-read < 4 file-read ?\n");
	idle->waits[0].wake_ns = idle->waits[0].in_ns = 95000000; /* two that may have */
	assert_string_equal(walked(t, 10000000, 90000000), "10000000-90000000 1 lock ?\n");
}

/* By looks, a wait that none fell into is in the accounts alone. */
static void test_a_wait_between_looks(void **state)
{
	struct host_task *t = built_task(&b, 1, 1), *worker = built_task(&b, 2, 1);
	struct host_stalls *s;

	(void)state;
	b.trace.probes.how = GST_PROBES_PROC;
	s = built_stalls(&b, t, 100, 200, 60, 20);
	s->what = (struct host_what){ .syscall = SYS_futex, .flags = GST_WAIT_LOOKED };
	assert_string_equal(walked(t, 100, 200),
			    "100-120 1 on-cpu ?\n120-140 1 queued ?\n140-200 1 lock < 2 on-cpu ?\n");
	assert_null(chain.at[2].steps[0].wait);
	assert_ptr_equal(chain.at[2].steps[0].stalls, s);
	s->blocked_ns = 40; /* not most of it */
	assert_string_equal(walked(t, 100, 200), "100-140 1 on-cpu ?\n140-180 1 lock ?\n180-200 1 queued ?\n");
	s->blocked_ns = 60;
	s->what.flags = 0; /* seen one by one: many */
	assert_string_equal(walked(t, 100, 200), "100-120 1 on-cpu ?\n120-180 1 lock ?\n180-200 1 queued ?\n");
	s->what.flags = GST_WAIT_LOOKED;
	built_wait(&b, worker, 0, 100000000, 100000000, SYS_nanosleep, GST_WOKEN_TIMER, NULL); /* nobody */
	assert_string_equal(walked(t, 100, 200), "100-120 1 on-cpu ?\n120-140 1 queued ?\n140-200 1 lock ?\n");
}

/* Its time limit ended it while the holder was on its way back to a CPU; another thread ran for a moment at that time. */
static void test_who_kept_the_lock(void **state)
{
	struct host_task *t = built_task(&b, 1, 1), *holder = built_task(&b, 2, 1), *other = built_task(&b, 3, 1);

	(void)state;
	built_wait(&b, t, 100, 500, 700, SYS_futex, GST_WOKEN_TIMER, NULL);
	built_wait(&b, holder, 400, 400, 600, SYS_futex, GST_WOKEN_UNKNOWN, NULL)->what.flags = GST_WAIT_PREEMPTED;
	built_wait(&b, other, 0, 450, 450, SYS_nanosleep, GST_WOKEN_TIMER, NULL);
	assert_string_equal(walked(t, 100, 500), "100-400 1 lock < 2 on-cpu ?\n400-500 1 lock < 2 queued ?\n");
	other->waits[0].wake_ns = other->waits[0].in_ns = 200; /* two that may have */
	assert_string_equal(walked(t, 100, 500), "100-500 1 lock\n");
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
	assert_int_equal(state_of(SYS_epoll_pwait, GST_FD_OTHER, 0), CHAIN_POLL);
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

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_short_waits_are_spread),
		TEST(test_short_waits_around_a_long_one),
		TEST(test_short_waits_of_two_kinds),
		TEST(test_short_waits_of_a_waker),
		TEST(test_looking_for_memory),
		TEST(test_writing_on_a_cpu),
		TEST(test_the_only_thread_that_can_hold_the_lock),
		TEST(test_guesses_share_a_budget),
		TEST(test_ends_of_a_pipe_share_it),
		TEST(test_looks_ahead_share_it),
		TEST(test_the_writing_end),
		TEST(test_when_it_was_woken),
		TEST(test_a_holder_without_a_cpu),
		TEST(test_the_last_that_went_to_sleep),
		TEST(test_who_sleeps_right_then),
		TEST(test_by_looks),
		TEST(test_a_wait_between_looks),
		TEST(test_who_kept_the_lock),
		TEST(test_the_other_end_of_a_socket),
		TEST(test_the_child_that_ended),
		TEST(test_looks_are_inferred),
		TEST(test_states),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
