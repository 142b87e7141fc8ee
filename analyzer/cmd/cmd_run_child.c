/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd_run_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "cmd_secure.h"

#define NOT_EXECUTABLE 126 /* as shells, env and timeout have it */
#define NOT_FOUND 127

static const int passed_on[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT };

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- the witness ------------------------------------------------------------------------------------
 * Was a signal sent to us alone, or to all: by the terminal to its foreground group, by `timeout` to its own, by a batch system to
 * every process of a job? Then the program has it already, and would take a second one for another: a second Ctrl-C in Python's
 * clean-up. The signal itself does not say. So a second process of ours, in the same group, does nothing but tell what it gets. */

#define TOLD_WITHIN_NS 500000000 /* the same signal to both of us */
#define TOLD_WAIT_MS 100         /* one that has not come to it by then came to us alone */
#define TOLD_MAX 32

struct told {
	int64_t at_ns;
	int64_t signal;
};

static struct {
	pid_t pid;
	int fd;
	struct told told[TOLD_MAX];
	unsigned n;
} witness;

static void witness_main(int fd, const sigset_t *set, pid_t parent)
{
	struct told t;

	secure_drop_all();
	prctl(PR_SET_NAME, "gpushim-witness");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent) {
		t.signal = sigwaitinfo(set, NULL);
		t.at_ns = now_ns();
		if (t.signal > 0 && write(fd, &t, sizeof(t)) != sizeof(t))
			break;
	}
	_exit(0);
}

static bool witness_start(const sigset_t *set)
{
	pid_t parent = getpid();
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) != 0)
		return false;
	witness.pid = fork();
	if (witness.pid == 0)
		witness_main(fds[1], set, parent);
	close(fds[1]);
	witness.fd = fds[0];
	if (witness.pid < 0)
		close(fds[0]);
	return witness.pid > 0;
}

static void witness_end(void)
{
	if (witness.pid > 0 && kill(witness.pid, SIGKILL) == 0)
		while (waitpid(witness.pid, NULL, 0) < 0 && errno == EINTR)
			;
	close(witness.fd);
}

/* Takes the testimony of this signal away, and all that is too old to be about anything. */
static bool take_told(int sig)
{
	int64_t since = now_ns() - TOLD_WITHIN_NS;
	unsigned kept = 0;
	bool found = false;

	for (unsigned i = 0; i < witness.n; i++) {
		const struct told *t = &witness.told[i];

		if (t->at_ns < since)
			continue;
		if (!found && t->signal == sig)
			found = true;
		else
			witness.told[kept++] = *t;
	}
	witness.n = kept;
	return found;
}

static bool sent_to_all(int sig)
{
	struct pollfd p = { .fd = witness.fd, .events = POLLIN };

	while (!take_told(sig)) {
		if (witness.n == TOLD_MAX || poll(&p, 1, TOLD_WAIT_MS) <= 0 ||
		    read(witness.fd, &witness.told[witness.n], sizeof(struct told)) != sizeof(struct told))
			return false;
		witness.n++;
	}
	return true;
}

/* ---- signals ---------------------------------------------------------------------------------------- */

static void pass_on(int sig, const siginfo_t *info, pid_t child)
{
	bool to_all = sent_to_all(sig);

	/* What the program sends its parent is not for itself. */
	if (info->si_code == SI_USER && info->si_pid == child)
		return;
	/* A program with a process group of its own gets nothing of what is sent to ours. */
	if (!to_all || getpgid(child) != getpgrp())
		kill(child, sig);
}

/* The terminal stopped the program (Ctrl-Z, or a read in the background): the shell waits for us to stop as well. A program that
 * somebody stopped with SIGSTOP is that somebody's business. */
static void stop_with(int sig)
{
	sigset_t set, old;

	if (sig != SIGTSTP && sig != SIGTTIN && sig != SIGTTOU)
		return;
	sigemptyset(&set);
	sigaddset(&set, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, &old); /* here we stand still until SIGCONT */
	sigprocmask(SIG_SETMASK, &old, NULL);
}

/* All children that changed; true when the program has ended. Others there are where we are process 1 of a container. */
static bool reap(pid_t child, int *status)
{
	bool ended = false;
	int state;
	pid_t pid;

	while ((pid = waitpid(-1, &state, WNOHANG | WUNTRACED)) > 0) {
		if (pid == witness.pid && !WIFSTOPPED(state))
			witness.pid = 0; /* killed by somebody: its number is free for another */
		if (pid != child)
			continue;
		if (WIFSTOPPED(state)) {
			stop_with(WSTOPSIG(state));
		} else {
			*status = state;
			ended = true;
		}
	}
	return ended;
}

static int wait_for(pid_t child, const sigset_t *set)
{
	siginfo_t info;
	int status = 0, sig;

	for (;;) {
		sig = sigwaitinfo(set, &info);
		if (sig == SIGCHLD && reap(child, &status))
			return status;
		if (sig > 0 && sig != SIGCHLD)
			pass_on(sig, &info, child);
	}
}

/* ---- the program ------------------------------------------------------------------------------------ */

/* Until we are let go; or whoever was to do that has been killed. Who is to look at us from then on. */
static pid_t held(int fd)
{
	pid_t watcher = 0;

	while (read(fd, &watcher, sizeof(watcher)) < 0 && errno == EINTR)
		;
	return watcher;
}

/* Of this process it holds for the program, too; its children let by themselves, by the recorder in them (shim/observed.h). */
static void let_look(pid_t watcher)
{
	char value[64];
	struct stat space;

	prctl(PR_SET_PTRACER, watcher, 0, 0, 0); /* without Yama there is nothing to be let */
	if (!watcher || stat("/proc/self/ns/pid", &space) != 0)
		return;
	snprintf(value, sizeof(value), "%d:%llu", (int)watcher, (unsigned long long)space.st_ino);
	setenv("GPUSHIM_OBSERVER", value, 1);
}

static void exec_program(char *const argv[], const int fds[4], const sigset_t *mask, const struct sigaction *on_child)
{
	int error, report = fds[1];

	close(fds[3]);
	secure_become_ordinary();
	prctl(PR_SET_PTRACER, getppid(), 0, 0, 0); /* and what it makes: whoever is to watch */
	if (write(report, "", 1) != 1)
		_exit(NOT_FOUND); /* nobody is there any more to have run it */
	let_look(held(fds[2]));
	sigaction(SIGCHLD, on_child, NULL);
	cmd_signals_restore();
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(argv[0], argv);
	error = errno;
	if (write(report, &error, sizeof(error)) < 0)
		error = 0; /* nobody to tell; the status says enough */
	_exit(NOT_FOUND);
}

/* It is in its final state, for whoever wants to look at it: what it has of our file's rights is gone. Or it has ended. */
static void wait_until_ready(int fd)
{
	char ready;

	while (read(fd, &ready, 1) < 0 && errno == EINTR)
		;
}

/* What the child had to say before it became the program; nothing where it did. */
static int exec_error(int fd)
{
	int error = 0;
	ssize_t got;

	do
		got = read(fd, &error, sizeof(error));
	while (got < 0 && errno == EINTR);
	return got == sizeof(error) ? error : 0;
}

/* It is let go, or ended before it ran. */
static bool let_go(pid_t child, int hold, const struct child_watch *watch)
{
	pid_t watcher = 0;
	bool goes = !watch || watch->begin(child, &watcher, watch->arg);

	if (goes) /* where somebody killed it, its status says so */
		goes = write(hold, &watcher, sizeof(watcher)) == sizeof(watcher) || errno == EPIPE;
	else
		kill(child, SIGKILL);
	close(hold);
	return goes;
}

/* fds: its report on exec, and what it is held by; all close on exec. */
static pid_t start(char *const argv[], const struct child_watch *watch, struct child_end *end, const sigset_t *mask,
		   const struct sigaction *on_child)
{
	int fds[4];
	pid_t child;

	if (pipe2(fds, O_CLOEXEC) != 0)
		return -1;
	if (pipe2(fds + 2, O_CLOEXEC) != 0) {
		close(fds[0]);
		close(fds[1]);
		return -1;
	}
	child = fork();
	if (child == 0)
		exec_program(argv, fds, mask, on_child);
	close(fds[1]);
	close(fds[2]);
	if (child > 0) {
		wait_until_ready(fds[0]);
		end->refused = !let_go(child, fds[3], watch);
		end->error = exec_error(fds[0]);
	} else {
		close(fds[3]);
	}
	close(fds[0]);
	return child;
}

bool child_run(char *const argv[], const struct child_watch *watch, struct child_end *end)
{
	struct sigaction on_child, by_default = { .sa_handler = SIG_DFL };
	const struct timespec now = { 0, 0 };
	sigset_t set, mask;
	pid_t child = -1;
	int saved_errno;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++)
		sigaddset(&set, passed_on[i]);
	sigprocmask(SIG_BLOCK, &set, &mask);
	sigaction(SIGCHLD, &by_default, &on_child); /* ignored, as it may have come to us, it would leave no status */
	if (witness_start(&set)) {
		child = start(argv, watch, end, &mask, &on_child);
		saved_errno = errno;
		secure_drop_to_wait();
		if (child > 0)
			end->status = wait_for(child, &set);
		witness_end();
		errno = saved_errno;
	}
	while (sigtimedwait(&set, NULL, &now) > 0)
		; /* what ended the program is not to end its summary */
	sigprocmask(SIG_SETMASK, &mask, NULL);
	return child > 0;
}

/* As `timeout` does: whoever waits for us learns of the signal, but the core is the program's, if any. */
static int end_by(int sig)
{
	const struct rlimit none = { 0, 0 };
	sigset_t set;

	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0);
	fflush(NULL);
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	return 128 + sig;
}

int child_exit_status(const struct child_end *end)
{
	if (end->error)
		return end->error == ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
	return WIFEXITED(end->status) ? WEXITSTATUS(end->status) : end_by(WTERMSIG(end->status));
}
