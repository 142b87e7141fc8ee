/* SPDX-License-Identifier: BSD-2-Clause */
/* The tasks of a tree, as /proc has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/probes/proc_tasks.h"
#include "shim/proc_text.h"

static void *forks_and_waits(void *arg)
{
	int *out = arg;
	pid_t child = fork();

	if (!child) {
		prctl(PR_SET_NAME, "a) worker");
		write(out[1], "x", 1);
		pause();
		_exit(0);
	}
	write(out[1], &child, sizeof(child));
	for (;;)
		pause();
}

/* A process with two threads, of which the second made a process of its own. Its number and its child's. */
static pid_t start_family(pid_t *grandchild)
{
	char at_work[1 + sizeof(*grandchild)] = "";
	int ends[2];
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (!child) {
		pthread_t thread;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pthread_create(&thread, NULL, forks_and_waits, ends);
		for (;;)
			pause();
	}
	for (size_t n = 0; n < sizeof(at_work);)
		n += (size_t)read(ends[0], at_work + n, sizeof(at_work) - n);
	memcpy(grandchild, at_work[0] == 'x' ? at_work + 1 : at_work, sizeof(*grandchild));
	close(ends[0]);
	close(ends[1]);
	return child;
}

static void test_a_task_is_read(void **unused)
{
	struct proc_task t;
	char name[16];

	(void)unused;
	assert_true(proc_task_read(0, (uint32_t)getpid(), &t));
	assert_int_equal(t.pid, getpid());
	assert_int_equal(t.own_tid, getpid());
	assert_int_equal(t.own_pid, getpid());
	assert_int_equal(t.creator, getppid());
	assert_true(t.pid_ns != 0);
	assert_false(t.kernel);
	assert_int_equal(t.state, 'R');
	assert_int_equal(prctl(PR_GET_NAME, name), 0);
	assert_string_equal(t.name, name);
	/* It started a moment ago. */
	assert_true(t.start_ns < mono_ns() && mono_ns() - t.start_ns < 60000000000u);
	assert_true(t.born == proc_task_born((uint32_t)getpid(), (uint32_t)getpid()));
	assert_false(proc_task_read(0, 0x7ffffff0, &t));
	assert_int_equal(proc_task_born(0x7ffffff0, 0x7ffffff0), 0);
}

static int threads_of_self(void)
{
	DIR *dir = opendir("/proc/self/task");
	int n = 0;

	for (const struct dirent *e; dir && (e = readdir(dir));)
		n += e->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return n;
}

static void *nothing(void *arg)
{
	return arg;
}

/* A sanitizer's, an emulator's: they are in the tree as well. ThreadSanitizer's comes with the first other thread. */
static bool has_others_threads(void)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, nothing, NULL), 0);
	pthread_join(thread, NULL);
	return threads_of_self() > 1;
}

static void test_the_tree_has_threads_and_their_children(void **unused)
{
	struct proc_tasks t = { 0 };
	const struct proc_task *worker, *leader;
	uint32_t thread = 0;
	pid_t grandchild, child = start_family(&grandchild);

	(void)unused;
	if (has_others_threads()) {
		kill(child, SIGKILL);
		kill(grandchild, SIGKILL);
		printf("skip: a sanitizer's or an emulator's own threads are in the tree as well\n");
		skip();
	}
	assert_true(proc_tasks_tree(&t, (uint32_t)child));
	assert_int_equal(t.n, 3);
	leader = proc_tasks_find(&t, (uint32_t)child);
	worker = proc_tasks_find(&t, (uint32_t)grandchild);
	assert_non_null(leader);
	assert_non_null(worker);
	for (size_t i = 0; i < t.n; i++)
		if (t.at[i].pid == (uint32_t)child && t.at[i].tid != (uint32_t)child)
			thread = t.at[i].tid;
	assert_int_equal(leader->creator, getpid());
	assert_string_equal(worker->name, "a) worker");
	assert_true(thread != 0);
	assert_int_equal(proc_tasks_find(&t, thread)->creator, 0);
	assert_true(proc_tasks_find(&t, thread)->start_ns - leader->start_ns + 1000000 < 2000000);
	if (access("/proc/thread-self/children", F_OK) == 0)
		assert_int_equal(worker->creator, thread);
	else
		assert_int_equal(worker->creator, child);
	assert_null(proc_tasks_find(&t, (uint32_t)getpid()));

	/* Once of the tree, always of the tree: the root ends, and somebody else is its child's parent. */
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_true(proc_tasks_tree(&t, (uint32_t)child));
	assert_int_equal(t.n, 1);
	assert_int_equal(t.at[0].tid, grandchild);
	kill(grandchild, SIGKILL);
	proc_tasks_free(&t);
}

#define DEEP 200
#define SMALL_STACK (128u << 10)

/* Each made by the one before, and ended with it. */
static pid_t start_chain(void)
{
	int ends[2];
	pid_t first;
	char c;

	assert_int_equal(pipe(ends), 0);
	first = fork();
	if (!first) {
		for (int i = 1; i < DEEP; i++) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (fork() != 0)
				for (;;)
					pause();
		}
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		write(ends[1], "x", 1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ends[0], &c, 1), 1);
	close(ends[0]);
	close(ends[1]);
	return first;
}

static void *count_tree(void *root)
{
	static size_t n;
	struct proc_tasks t = { 0 };

	n = proc_tasks_tree(&t, (uint32_t)(uintptr_t)root) ? t.n : 0;
	proc_tasks_free(&t);
	return &n;
}

/* Whoever may start processes has no say in how deep our stack is. */
static void test_a_long_chain_takes_no_more_stack(void **unused)
{
	pid_t first = start_chain();
	pthread_attr_t small;
	pthread_t thread;
	void *n;

	(void)unused;
	pthread_attr_init(&small);
	assert_int_equal(pthread_attr_setstacksize(&small, SMALL_STACK), 0);
	assert_int_equal(pthread_create(&thread, &small, count_tree, (void *)(uintptr_t)first), 0);
	assert_int_equal(pthread_join(thread, &n), 0);
	kill(first, SIGKILL);
	waitpid(first, NULL, 0);
	if (!has_others_threads())
		assert_int_equal(*(size_t *)n, DEEP);
}

static void test_another_of_the_roots_number_is_not_the_root(void **unused)
{
	struct proc_tasks t = { 0 };
	uint32_t self = (uint32_t)getpid();

	(void)unused;
	assert_true(proc_tasks_tree(&t, self));
	assert_non_null(proc_tasks_find(&t, self));
	assert_int_equal(t.root_born, proc_task_born(self, self));
	proc_tasks_free(&t);
	t.root_born = 1; /* the first root began with the machine */
	assert_true(proc_tasks_tree(&t, self));
	assert_int_equal(t.n, 0);
	assert_int_equal(t.root_born, 1);
	proc_tasks_free(&t);
}

static int in_namespace(void *arg)
{
	(void)arg;
	pause();
	return 0;
}

static void test_it_knows_what_a_task_calls_itself(void **unused)
{
	static char stack[65536] __attribute__((aligned(16)));
	struct proc_task t, own;
	pid_t child = clone(in_namespace, stack + sizeof(stack), CLONE_NEWPID | SIGCHLD, NULL);

	(void)unused;
	if (child < 0)
		skip(); /* root's alone */
	assert_true(proc_task_read((uint32_t)child, (uint32_t)child, &t));
	assert_true(proc_task_read(0, (uint32_t)getpid(), &own));
	assert_int_equal(t.tid, child);
	assert_int_equal(t.own_tid, 1);
	assert_int_equal(t.own_pid, 1);
	assert_true(t.pid_ns && t.pid_ns != own.pid_ns);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void test_text_is_taken_apart(void **unused)
{
	const char *at = "  12 -3\nx";
	uint64_t value;

	(void)unused;
	assert_true(proc_text_number(&at, 10, &value) && value == 12);
	assert_true(proc_text_number(&at, 10, &value) && value == (uint64_t)-3);
	assert_false(proc_text_number(&at, 10, &value));
	assert_string_equal(proc_text_next_line(at), "x");
	assert_true(proc_text_field("pos:\t7\nflags:\t0100000\n", "flags:", 8, &value) && value == 0100000);
	assert_false(proc_text_field("xpos:\t7\n", "pos:", 10, &value));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_task_is_read),
		cmocka_unit_test(test_the_tree_has_threads_and_their_children),
		cmocka_unit_test(test_a_long_chain_takes_no_more_stack),
		cmocka_unit_test(test_another_of_the_roots_number_is_not_the_root),
		cmocka_unit_test(test_it_knows_what_a_task_calls_itself),
		cmocka_unit_test(test_text_is_taken_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
