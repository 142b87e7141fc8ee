/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_run_child.c: in what state a program's process is when somebody may look at it, and how it ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/cmd_run_child.h"
#include "cmd/cmd_secure.h"

#define SLOW_NS 50000000

static struct shared { /* by all processes */
	volatile bool ordinary, restored;
	volatile pid_t witness;
	volatile pid_t let; /* to look at the process; -1 nobody was named yet */
} * shared;

static bool waits; /* this process has given up what it needs no more */

void secure_become_ordinary(void)
{
	const struct timespec slow = { 0, SLOW_NS };

	nanosleep(&slow, NULL);
	shared->ordinary = true;
}

int __real_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
int __wrap_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);

int __wrap_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	if (option != PR_SET_PTRACER)
		return __real_prctl(option, a, b, c, d);
	shared->let = (pid_t)a;
	errno = EINVAL; /* as without Yama */
	return -1;
}

void secure_drop_all(void)
{
	shared->witness = getpid();
}

void secure_drop_to_wait(void)
{
	waits = true;
}

void cmd_signals_restore(void)
{
	shared->restored = true;
}

static struct seen {
	bool ordinary, restored, waits;
	pid_t child, watcher, let_before;
	bool let_it;
} seen;

static bool begin(pid_t child, pid_t *watcher, void *arg)
{
	assert_ptr_equal(arg, &seen);
	seen.ordinary = shared->ordinary;
	seen.restored = shared->restored;
	seen.waits = waits;
	seen.child = child;
	seen.let_before = shared->let;
	*watcher = seen.watcher;
	return seen.let_it;
}

static const struct child_watch watch = { begin, &seen };

static int set_up(void **state)
{
	(void)state;
	shared->ordinary = shared->restored = waits = false;
	shared->witness = 0;
	shared->let = -1;
	seen = (struct seen){ .let_it = true };
	return 0;
}

static void it_is_looked_at_when_it_has_no_rights_of_ours_any_more(void **state)
{
	char *argv[] = { "sh", "-c", "exit 5", NULL };
	struct child_end end = { 0 };

	(void)state;
	assert_true(child_run(argv, &watch, &end));
	assert_true(seen.ordinary);
	assert_false(seen.restored); /* it is held before the program's first instruction */
	assert_false(seen.waits);    /* whoever looks may need them */
	assert_true(waits);
	assert_true(shared->witness > 0 && shared->witness != getpid() && shared->witness != seen.child);
	assert_false(end.refused);
	assert_int_equal(end.error, 0);
	assert_true(WIFEXITED(end.status));
	assert_int_equal(child_exit_status(&end), 5);
}

/* First we and ours, as the collector finds out what it may see; then the collector alone, and the program knows who. */
static void who_watches_may_look(void **state)
{
	char *argv[] = { "sh", "-c", "test \"${GPUSHIM_OBSERVER%:*}\" = \"$1\" || exit 1", "sh", "1234", NULL };
	char *without[] = { "sh", "-c", "test -z \"$GPUSHIM_OBSERVER\"", NULL };
	struct child_end end = { 0 };

	(void)state;
	seen.watcher = 1234;
	assert_true(child_run(argv, &watch, &end));
	assert_int_equal(seen.let_before, getpid());
	assert_int_equal(shared->let, 1234);
	assert_int_equal(child_exit_status(&end), 0);
	seen.watcher = 0;
	assert_true(child_run(without, &watch, &end));
	assert_int_equal(shared->let, 0);
	assert_int_equal(child_exit_status(&end), 0);
	assert_true(child_run(without, NULL, &end));
	assert_int_equal(shared->let, 0);
	assert_int_equal(child_exit_status(&end), 0);
}

static void refused_it_never_runs(void **state)
{
	char *argv[] = { "sh", "-c", "exit 5", NULL };
	struct child_end end = { 0 };

	(void)state;
	seen.let_it = false;
	assert_true(child_run(argv, &watch, &end));
	assert_true(end.refused);
	assert_false(shared->restored);
	assert_true(WIFSIGNALED(end.status));
	assert_int_equal(WTERMSIG(end.status), SIGKILL);
}

static void what_cannot_be_started_says_why(void **state)
{
	char *argv[] = { "/no/such/program", NULL };
	struct child_end end = { 0 };

	(void)state;
	assert_true(child_run(argv, &watch, &end));
	assert_int_equal(end.error, ENOENT);
	assert_int_equal(child_exit_status(&end), 127);
	argv[0] = "/";
	assert_true(child_run(argv, NULL, &end));
	assert_int_equal(end.error, EACCES);
	assert_int_equal(child_exit_status(&end), 126);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(it_is_looked_at_when_it_has_no_rights_of_ours_any_more, set_up),
		cmocka_unit_test_setup(who_watches_may_look, set_up),
		cmocka_unit_test_setup(refused_it_never_runs, set_up),
		cmocka_unit_test_setup(what_cannot_be_started_says_why, set_up),
	};

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
