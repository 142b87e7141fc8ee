/* SPDX-License-Identifier: BSD-2-Clause */
/* survive_forks_linked CASE: every way for a process to have a child. A child of an initialised process may not use the driver (it is
 * told so); of another it may. */
#include "survive.h"

#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void await_child(pid_t child)
{
	int status = -1;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status))
		printf("child: exit status %d\n", WEXITSTATUS(status));
	else
		printf("child: signal %d\n", WTERMSIG(status));
}

/* In the child of an initialised process: what the driver says to it. */
static void refused(void)
{
	CUresult rc = CU(cuInit, 0);

	CU(cuCtxSynchronize);
	_exit((int)rc);
}

static void fork_cuda(void)
{
	pid_t child = fork();

	if (child == 0) {
		start("kernel__20us");
		work(40);
		exit(0);
	}
	await_child(child);
	start("kernel__20us");
	work(40);
}

static void fork_after(void)
{
	pid_t child;

	start("kernel__20us");
	work(40);
	child = fork();
	if (child == 0)
		refused();
	await_child(child);
	work(40);
}

static void fork_only(void)
{
	pid_t child;

	start("kernel__20us");
	work(40);
	fflush(stdout);
	child = fork();
	if (child == 0)
		_exit(3);
	await_child(child);
	child = fork();
	if (child == 0)
		exit(4); /* our parent's file is none of this one's business */
	await_child(child);
	work(40);
}

extern char **environ;

static void vfork_exec(void)
{
	pid_t child;

	start("kernel__20us");
	work(40);
	for (int i = 0; i < 20; i++) {
		child = vfork();
		if (child == 0) {
			execl(i % 2 ? "/nowhere" : "/bin/true", "true", NULL);
			_exit(7);
		}
		if (i < 2)
			await_child(child);
		else
			waitpid(child, NULL, 0);
		work(4);
	}
}

static void spawn(void)
{
	char *argv[] = { "survive_forks_linked", "fork", NULL };
	pid_t child;

	start("kernel__20us");
	work(40);
	REQUIRE(posix_spawn(&child, "/proc/self/exe", NULL, NULL, argv, environ) == 0);
	await_child(child);
	work(40);
}

/* Neither of these runs atfork handlers. */
static void raw_clone(void)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	pid_t child;

	start("kernel__20us");
	work(40);
	child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (child == 0)
		refused();
	await_child(child);
	child = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (child == 0)
		refused();
	await_child(child);
	child = _Fork();
	if (child == 0)
		refused();
	await_child(child);
	work(40);
}

/* ---- with other threads at work ---------------------------------------------------------------------------------------- */

static bool over;

static void *busy_thread(void *arg)
{
	CU(cuCtxSetCurrent, context);
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		work(20);
	return arg;
}

/* Whatever lock or state another thread was in the middle of, the child is not held up by it. */
static void fork_amid(void)
{
	pthread_t threads[3];

	start("kernel__2us");
	for (int i = 0; i < 3; i++)
		REQUIRE(pthread_create(&threads[i], NULL, busy_thread, NULL) == 0);
	for (int i = 0; i < 50; i++) {
		pid_t child = _Fork();

		if (child == 0) {
			CU(cuDriverGetVersion, &(int){ 0 });
			refused();
		}
		if (i < 1)
			await_child(child);
		else
			waitpid(child, NULL, 0);
	}
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

static pid_t made;

static void fork_in_handler(int sig)
{
	(void)sig;
	made = _Fork();
	if (made == 0)
		refused();
}

static void handler(void)
{
	start("kernel__20us");
	signal(SIGUSR1, fork_in_handler);
	work(40);
	raise(SIGUSR1);
	await_child(made);
	work(40);
}

/* In the middle of the driver: a host function's. */
static void host_function(void *arg)
{
	pid_t *child = arg;

	*child = _Fork();
	if (*child == 0)
		_exit(6);
}

static void callback(void)
{
	start("kernel__20us");
	REQUIRE(CU(cuLaunchHostFunc, NULL, host_function, &made) == CUDA_SUCCESS);
	work(40);
	await_child(made);
}

/* A daemon: twice forked, its parents gone, elsewhere, every descriptor closed, and then it begins. The parents end first. */
static void daemon_begins(void)
{
	int ends[2];
	char done;

	REQUIRE(pipe(ends) == 0);
	if (fork() == 0) {
		setsid();
		if (fork() != 0)
			_exit(0);
		REQUIRE(chdir("/") == 0);
		for (int i = 0; i < 100; i++)
			if (i != ends[1])
				close(i);
		start("kernel__20us");
		work(40);
		REQUIRE(write(ends[1], "d", 1) == 1);
		exit(0);
	}
	close(ends[1]);
	printf("daemon: %d\n", (int)read(ends[0], &done, 1));
	usleep(100000); /* it has ended by then: its trace is looked at */
}

int main(int argc, char **argv)
{
	static const struct survive_case cases[] = {
		{ "fork-cuda", fork_cuda },   { "fork-after", fork_after }, { "fork", fork_only },
		{ "vfork-exec", vfork_exec }, { "spawn", spawn },           { "clone", raw_clone },
		{ "fork-amid", fork_amid },   { "handler", handler },       { "callback", callback },
		{ "daemon", daemon_begins },
	};

	return survive_main(cases, sizeof(cases) / sizeof(*cases), argc, argv);
}
