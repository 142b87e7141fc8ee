/* SPDX-License-Identifier: BSD-2-Clause */
#include "beside.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "lines.h"
#include "sanitizer.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

#define STACK_BYTES (64u * 1024u)
#define OLD_KERNEL_DESCRIPTORS 65536 /* where all cannot be closed at once (before Linux 5.9) */
#define KEPT_BYTES (1u << 20)        /* smaller private mappings are not worth the question whose they are */

struct job {
	int (*work)(void *arg);
	void *arg;
};

/* The linker's: where our own variables begin and end. */
extern char __bss_start[] __attribute__((visibility("hidden")));
extern char _end[] __attribute__((visibility("hidden")));

/* Its table is its own: what it closes stays open in the program. */
static void close_descriptors(void)
{
	if (syscall(SYS_close_range, 0u, ~0u, 0u) == 0)
		return;
	for (int fd = 0; fd < OLD_KERNEL_DESCRIPTORS; fd++)
		close(fd);
}

static int share_main(void *arg)
{
	const struct job *job = arg;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* while it waits it holds all of the program's memory, the device's too */
	close_descriptors();
	return job->work(job->arg);
}

bool beside_share(int (*work)(void *arg), void *arg, int32_t *pid)
{
	char stack[STACK_BYTES] __attribute__((aligned(64)));
	struct job job = { work, arg };
	/* As vfork: this thread stands still until the process has ended. CLONE_PARENT_SETTID: the pid is known before that. */
	int child = clone(share_main, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | CLONE_PARENT_SETTID, &job, pid);

	if (child < 0)
		return false;
	while (waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
		;
	return true;
}

/* ---- a copy --------------------------------------------------------------------------------------------------------- */

static bool holds(uintptr_t begin, uintptr_t end, const void *p)
{
	return begin <= (uintptr_t)p && (uintptr_t)p < end;
}

/* This stack, this thread's variables, ours. */
static bool is_needed(uintptr_t begin, uintptr_t end)
{
	char here;

	return holds(begin, end, &here) || holds(begin, end, &errno) ||
	       (begin < (uintptr_t)_end && (uintptr_t)__bss_start < end);
}

/* What is shared (a device's memory, pinned host memory), and where nobody watches every access, large private memory. */
static void drop_memory(void)
{
	static struct lines lines;
	static char line[512];
	bool watched = sanitizer_watches_memory();
	uintptr_t begin, end;
	char mode[5], path[8];

	if (!lines_open(&lines, "/proc/self/maps"))
		return;
	/* The program's lies in what is dropped; this one is libc's own. */
	uselocale(newlocale(LC_ALL_MASK, "C", NULL));
	while (lines_next(&lines, line, sizeof(line))) {
		int found = sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %*s %7s", &begin, &end, mode, path);
		bool anonymous = found == 3 || (found == 4 && strcmp(path, "[heap]") == 0);

		if (found < 3 || is_needed(begin, end))
			continue;
		if (mode[3] == 's' || (anonymous && !watched && end - begin >= KEPT_BYTES))
			munmap((void *)begin, end - begin);
	}
	lines_close(&lines);
}

int32_t beside_fork(int (*work)(void *arg), void *arg)
{
	const struct rlimit no_core = { 0, 0 };
	sigset_t all, old;
	long pid;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	pid = syscall(SYS_clone, 0ul, 0ul, 0ul, 0ul, 0ul); /* fork, but for its handlers and for SIGCHLD */
	if (pid == 0) {
		prctl(PR_SET_NAME, "gpushim-move");
		setrlimit(RLIMIT_CORE, &no_core);
		close_descriptors();
		drop_memory();
		_exit(work(arg));
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	return (int32_t)pid;
}

int beside_wait(int32_t pid, uint64_t deadline_ns)
{
	struct timespec pause = { 0, 200000 };
	int status, rc;

	while ((rc = waitpid(pid, &status, __WALL | WNOHANG)) == 0 || (rc < 0 && errno == EINTR)) {
		if (clock_mono_ns() >= deadline_ns) {
			kill(pid, SIGKILL); /* which it takes when the kernel lets go of it */
			return -1;
		}
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 10000000)
			pause.tv_nsec *= 2;
	}
	return rc == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
