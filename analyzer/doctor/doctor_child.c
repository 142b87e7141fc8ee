/* SPDX-License-Identifier: BSD-2-Clause */
#include "doctor_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct box { /* shared with the child */
	bool done;
	int error;
	_Alignas(16) char answer[];
};

static void be_the_child(struct box *box, int (*work)(void *answer), int out)
{
	const struct rlimit none = { 0, 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &none);
	for (int number = 1; number < NSIG; number++)
		if (number != SIGKILL && number != SIGSTOP)
			signal(number, SIG_DFL);
	dup2(out, STDOUT_FILENO); /* there may be no /dev/null */
	dup2(out, STDERR_FILENO);
	box->error = work(box->answer);
	box->done = true;
	_exit(0);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The other end of the pipe is closed when the child is gone. False: it is not yet. */
static bool wait_for_end(int in, unsigned seconds)
{
	int64_t until = now_ms() + (int64_t)seconds * 1000, left;
	struct pollfd poll_in = { .fd = in, .events = POLLIN };
	char printed[512];

	while ((left = until - now_ms()) > 0) {
		if (poll(&poll_in, 1, (int)left) > 0 && read(in, printed, sizeof(printed)) <= 0)
			return true;
	}
	return false;
}

/* A process in the kernel's hands, at a dead server, say, does not die at once: it is left to the system then. */
static bool reap(pid_t pid, int *status)
{
	const struct timespec moment = { .tv_nsec = 5000000 };

	for (int i = 0; i < 200; i++) {
		pid_t rc = waitpid(pid, status, WNOHANG);

		if (rc == pid)
			return true;
		if (rc < 0 && errno != EINTR)
			return false;
		nanosleep(&moment, NULL);
	}
	return false;
}

static void conclude(struct doctor_trial *trial, pid_t pid, int in, const struct box *box, unsigned seconds)
{
	int status;

	trial->timeout = !wait_for_end(in, seconds);
	if (trial->timeout)
		kill(pid, SIGKILL);
	if (!reap(pid, &status))
		trial->timeout = true;
	else if (!trial->timeout && WIFSIGNALED(status))
		trial->signal = WTERMSIG(status);
	trial->done = box->done && !trial->timeout && !trial->signal;
	trial->error = trial->done ? box->error : 0;
}

void doctor_child(struct doctor_trial *trial, int (*work)(void *answer), void *answer, size_t size, unsigned seconds)
{
	struct box *box;
	int ends[2];
	pid_t pid;

	memset(trial, 0, sizeof(*trial));
	box = mmap(NULL, sizeof(*box) + size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (box == MAP_FAILED)
		return;
	if (pipe2(ends, O_CLOEXEC)) {
		munmap(box, sizeof(*box) + size);
		return;
	}
	if (size)
		memcpy(box->answer, answer, size);
	pid = fork();
	if (pid == 0)
		be_the_child(box, work, ends[1]);
	close(ends[1]);
	if (pid > 0)
		conclude(trial, pid, ends[0], box, seconds);
	close(ends[0]);
	if (trial->done && size)
		memcpy(answer, box->answer, size);
	munmap(box, sizeof(*box) + size);
}
