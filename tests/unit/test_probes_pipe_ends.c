/* SPDX-License-Identifier: BSD-2-Clause */
/* Who holds which end: the table against a plain list, its bound; a process with thousands of them is looked at a part at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "read/reader.h"
#include "shim/probes/end_table.h"
#include "shim/probes/pipe_ends.h"

/* ---- the table ------------------------------------------------------------------------------------------- */

#define PROCESSES 12u
#define INODES 40u

static uint16_t plain[PROCESSES][INODES];  /* what each holds */
static uint32_t learnt[PROCESSES][INODES]; /* in which round */

static uint16_t plainly_held(unsigned inode)
{
	uint16_t both = 0;

	for (unsigned pid = 0; pid < PROCESSES; pid++)
		both |= plain[pid][inode];
	return both;
}

static size_t plainly_many(void)
{
	size_t n = 0;

	for (unsigned pid = 0; pid < PROCESSES; pid++)
		for (unsigned inode = 0; inode < INODES; inode++)
			n += plain[pid][inode] != 0;
	return n;
}

static void learn_some(struct end_table *t, uint32_t *list, unsigned pid, uint32_t round)
{
	unsigned inode = (unsigned)rand() % INODES;
	uint16_t ends = (uint16_t)(1 + rand() % 3);
	enum end_news news = end_table_learn(t, list, pid, inode, ends, round);

	assert_int_equal(news, ends & ~plain[pid][inode] ? END_NEW : END_KNOWN);
	plain[pid][inode] |= ends;
	learnt[pid][inode] = round;
}

static void keep_some(struct end_table *t, uint32_t *list, unsigned pid, bool all, uint32_t round)
{
	for (unsigned inode = 0; inode < INODES; inode++)
		if (all || learnt[pid][inode] != round)
			plain[pid][inode] = 0;
	if (all)
		end_table_forget(t, list);
	else
		end_table_keep(t, list, round);
}

static void test_it_is_what_a_plain_list_would_be(void **unused)
{
	struct end_table *t = end_table_new();
	uint32_t list[PROCESSES] = { 0 }, round[PROCESSES] = { 0 };

	(void)unused;
	srand(7);
	for (int step = 0; step < 20000; step++) {
		unsigned pid = (unsigned)rand() % PROCESSES, inode = (unsigned)rand() % INODES;

		if (rand() % 30)
			learn_some(t, &list[pid], pid, round[pid]);
		else
			keep_some(t, &list[pid], pid, rand() % 2, round[pid]++);
		assert_int_equal(end_table_held(t, inode), plainly_held(inode));
		assert_int_equal(end_table_count(t), plainly_many());
	}
	end_table_free(t);
}

static void test_it_is_no_larger_than_it_may_be(void **unused)
{
	struct end_table *t = end_table_new();
	uint32_t list = 0, other = 0;

	(void)unused;
	for (uint64_t inode = 1; inode <= END_TABLE_MAX; inode++)
		assert_int_equal(end_table_learn(t, &list, 5, inode, 1, 1), END_NEW);
	assert_int_equal(end_table_learn(t, &other, 6, 7, 2, 1), END_NO_ROOM);
	assert_int_equal(end_table_learn(t, &list, 5, 7, 2, 1),
			 END_NEW); /* it is there: its other end is as well now */
	assert_int_equal(end_table_count(t), END_TABLE_MAX);
	end_table_forget(t, &list);
	assert_int_equal(end_table_learn(t, &other, 6, 7, 2, 1), END_NEW);
	assert_int_equal(end_table_held(t, 7), GST_PIPE_WRITES);
	end_table_free(t);
}

/* ---- processes ------------------------------------------------------------------------------------------- */

#define PIPES 1500

static struct host_file *file;
static char dir[] = "/tmp/probes-ends-XXXXXX";

/* A process of so many pipes, which are its own. */
static pid_t start_holder(int n)
{
	int ready[2], pair[2];
	pid_t child;
	char c;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 0; i < n; i++)
			if (pipe(pair) != 0)
				_exit(1);
		write(ready[1], "x", 1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[1]);
	close(ready[0]);
	return child;
}

/* The records that tell of its ends, so far. */
static unsigned told_of(uint32_t pid)
{
	struct record_view view;
	struct reader *reader;
	unsigned n = 0;
	struct error e;

	assert_int_equal(reader_open(&reader, host_file_path(file), &e), ERR_NONE);
	while (reader_next(reader, &view))
		n += view.record->type == GST_PIPE_END && ((const struct gst_pipe_end *)view.record)->pid == pid;
	reader_free(reader);
	return n;
}

static void tick_until(struct pipe_ends *ends, uint32_t pid, unsigned told)
{
	for (int i = 0; i < 6000 && told_of(pid) < told; i++) {
		usleep(5000);
		pipe_ends_tick(ends);
	}
	assert_true(told_of(pid) >= told);
}

static void test_one_of_many_is_looked_at_bit_by_bit(void **unused)
{
	struct proc_files *files = proc_files_new();
	struct pipe_ends *ends = pipe_ends_new(file, files);
	uint32_t pid = (uint32_t)start_holder(PIPES);
	unsigned first;

	(void)unused;
	pipe_ends_process(ends, pid);
	tick_until(ends, pid, 1);
	first = told_of(pid);
	assert_in_range(first, 1, 2 * PIPES - 1); /* of 3000 links to be read, in a millisecond at a time */
	/* The ends of its pipes, and of the one that it has told us by: to write to, to read from. */
	tick_until(ends, pid, 2 * PIPES + 2);
	for (int i = 0; i < 50; i++)
		pipe_ends_tick(ends);
	assert_in_range(told_of(pid), 2 * PIPES + 2,
			2 * PIPES + 20); /* each once, with what this test inherited itself */
	kill((pid_t)pid, SIGKILL);
	waitpid((pid_t)pid, NULL, 0);
	pipe_ends_free(ends);
	proc_files_free(files);
}

/* Those in the middle of a look, the first and the last one end; what is left of them are looked at still. */
static void test_processes_come_and_go(void **unused)
{
	struct proc_files *files = proc_files_new();
	struct pipe_ends *ends = pipe_ends_new(file, files);
	uint32_t pid[6];

	(void)unused;
	for (int i = 0; i < 6; i++) {
		pid[i] = (uint32_t)start_holder(300);
		pipe_ends_process(ends, pid[i]);
	}
	usleep(20000);
	pipe_ends_tick(ends);
	for (int i = 0; i < 6; i += 2) {
		kill((pid_t)pid[i], SIGKILL);
		waitpid((pid_t)pid[i], NULL, 0);
		if (i != 2) /* nobody says so of the third: its folder is gone */
			pipe_ends_gone(ends, pid[i]);
	}
	for (int i = 0; i < 3000 && (told_of(pid[1]) < 602 || told_of(pid[3]) < 602 || told_of(pid[5]) < 602); i++) {
		usleep(5000);
		pipe_ends_tick(ends);
	}
	for (int i = 1; i < 6; i += 2) {
		assert_in_range(told_of(pid[i]), 602, 650);
		kill((pid_t)pid[i], SIGKILL);
		waitpid((pid_t)pid[i], NULL, 0);
	}
	pipe_ends_free(ends);
	proc_files_free(files);
}

/* Once, however often it waits there; and anew when the number has become another's. */
static void test_whom_a_process_waits_for_is_told_once(void **unused)
{
	struct proc_files *files = proc_files_new();
	struct pipe_ends *ends = pipe_ends_new(file, files);
	const uint32_t pid = 4194303;

	(void)unused;
	pipe_ends_wanted(ends, pid, 71, 0);
	assert_int_equal(told_of(pid), 0);
	for (int i = 0; i < 5; i++)
		pipe_ends_wanted(ends, pid, 71, 72);
	assert_int_equal(told_of(pid), 1);
	pipe_ends_wanted(ends, pid, 71, 73);
	assert_int_equal(told_of(pid), 2);

	/* Numbers that fall into one place do not drive each other out. */
	for (int i = 0; i < 20; i++)
		pipe_ends_wanted(ends, pid, 71 + 1024u * (uint64_t)(i % 4), 73);
	assert_int_equal(told_of(pid), 2 + 3);
	pipe_ends_free(ends);
	proc_files_free(files);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_is_what_a_plain_list_would_be),
		cmocka_unit_test(test_it_is_no_larger_than_it_may_be),
		cmocka_unit_test(test_one_of_many_is_looked_at_bit_by_bit),
		cmocka_unit_test(test_processes_come_and_go),
		cmocka_unit_test(test_whom_a_process_waits_for_is_told_once),
	};
	struct rlimit most;
	int failed;

	getrlimit(RLIMIT_NOFILE, &most);
	most.rlim_cur = most.rlim_max < 4096 ? most.rlim_max : 4096;
	setrlimit(RLIMIT_NOFILE, &most);
	if (!mkdtemp(dir) || host_file_create(&file, dir, getpid(), 1u << 30) != 0)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	host_file_discard(file);
	rmdir(dir);
	return failed;
}
