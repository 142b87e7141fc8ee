/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd_run_probes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd_run_program.h"
#include "shim/probes/root.h"
#include "tools/text.h"

#define START_MS 10000 /* programs of the kernel's are loaded in 0.1 s */
#define END_MS 10000
#define CLOSE_MAX 4096

/* What the collector says, in one write each: that it follows or cannot; and when it has finished. */
struct told {
	bool follows, ended;
	char how[8];
	char why[256];
	struct collector_sums sums;
};

/* ---- the collector's process ---------------------------------------------------------------------------- */

static volatile sig_atomic_t stop;

static void on_stop(int sig)
{
	stop = sig;
}

#define TOLD_FD 3
#define ROOT_FD 4

/* A session of its own: what the terminal sends the program's group is not for it. Nothing of ours stays open in it, or a reader of the
 * program's output would wait for it as well. False: it cannot be. */
static bool detach(int told, int *root_fd)
{
	int null = open("/dev/null", O_RDWR);
	unsigned first = *root_fd ? ROOT_FD + 1 : ROOT_FD;

	setsid();
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	dup2(told, TOLD_FD);
	fcntl(TOLD_FD, F_SETFD, FD_CLOEXEC);
	if (*root_fd)
		*root_fd = dup2(*root_fd, ROOT_FD);
	if (syscall(SYS_close_range, first, ~0u, 0u) != 0)
		for (int fd = (int)first; fd < CLOSE_MAX; fd++)
			close(fd);
	prctl(PR_SET_NAME, "gpushim-host");
	return chdir("/") == 0;
}

static void listen_to_signals(void)
{
	static const int ignored[] = { SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2, SIGPIPE };
	struct sigaction end = { .sa_handler = on_stop };
	sigset_t none;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	sigaction(SIGTERM, &end, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void tell(int fd, const struct told *t)
{
	if (write(fd, t, sizeof(*t)) < 0 && errno == EPIPE)
		return; /* gpushim was killed: the recording goes on */
}

static void collect(const struct probes_settings *s, const char *way, int told)
{
	struct probes_settings settings = *s;
	struct told t = { 0 };
	struct collector c;

	if (!detach(told, &settings.root_fd))
		_exit(1);
	told = TOLD_FD;
	listen_to_signals();
	t.follows = collector_start(&c, &settings, way, t.why);
	collector_drop_privileges();
	if (t.follows) {
		snprintf(t.how, sizeof(t.how), "%s", c.backend->name);
		snprintf(t.why, sizeof(t.why), "%s", c.n_refused ? c.refused[0].why : "");
	}
	tell(told, &t);
	if (t.follows) {
		collector_follow(&c, &stop);
		collector_finish(&c, &t.sums);
		t.ended = true;
		tell(told, &t);
	}
	_exit(0);
}

/* ---- ours ----------------------------------------------------------------------------------------------- */

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* False: it says nothing, in that time, or ever. */
static bool hear(int fd, struct told *t, int wait_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int64_t deadline = now_ms() + wait_ms, left;
	int rc;

	do {
		left = deadline - now_ms();
		rc = poll(&p, 1, left > 0 ? (int)left : 0);
	} while (rc < 0 && errno == EINTR);
	return rc > 0 && read(fd, t, sizeof(*t)) == sizeof(*t);
}

static void no_collector(struct run_probes *h, const char *why)
{
	snprintf(h->why, sizeof(h->why), "%s", why);
	h->follows = false;
}

/* Its number is its own until somebody has asked for its status; whoever waits for all children may have done that. */
static void end_process(struct run_probes *h, int sig)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)h->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && !info.si_pid)
		kill(h->pid, sig);
}

static void forget(struct run_probes *h)
{
	const struct timespec pause = { 0, 1000000 };

	close(h->told);
	h->told = -1;
	for (int i = 0; i < 1000 && waitpid(h->pid, NULL, WNOHANG) == 0; i++)
		nanosleep(&pause, NULL);
	h->pid = 0;
}

/* Yama's scope 1: a sibling of the program's, as the collector is, may not. */
static bool only_ancestors_may_look(void)
{
	int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
	char scope = 0;
	bool read_it = fd >= 0 && read(fd, &scope, 1) == 1;

	if (fd >= 0)
		close(fd);
	return read_it && scope == '1';
}

bool run_probes_begin(pid_t program, pid_t *watcher, void *run_probes)
{
	struct run_probes *h = run_probes;
	struct probes_settings settings = h->settings;
	struct run_program becomes;
	struct told t = { 0 };
	int fds[2];

	run_program_guess(&becomes, h->argv);
	settings.root = program;
	settings.exe = becomes.exe;
	settings.cmdline = becomes.cmdline;
	h->told = -1;
	h->made_dir = access(h->settings.dir, F_OK) != 0;
	if (pipe2(fds, O_CLOEXEC) != 0) {
		no_collector(h, strerror(errno));
		return !h->required;
	}
	settings.root_fd = root_open(program);
	h->pid = fork();
	if (h->pid == 0)
		collect(&settings, h->way, fds[1]);
	if (settings.root_fd)
		close(settings.root_fd);
	close(fds[1]);
	h->told = fds[0];
	if (h->pid > 0 && hear(h->told, &t, START_MS)) {
		h->follows = t.follows;
		memcpy(h->how, t.how, sizeof(h->how));
		memcpy(h->why, t.why, sizeof(h->why));
	} else {
		no_collector(h, h->pid < 0 ? strerror(errno) : "the collector did not start");
	}
	if (!h->follows && h->pid > 0) {
		end_process(h, SIGKILL);
		forget(h);
	}
	*watcher = h->follows && only_ancestors_may_look() ? h->pid : 0;
	return h->follows || !h->required;
}

void run_probes_end(struct run_probes *h)
{
	struct told t = { 0 };

	if (!h->pid)
		return;
	end_process(h, SIGTERM);
	end_process(h, SIGCONT); /* somebody may have stopped it */
	if (hear(h->told, &t, END_MS) && t.ended) {
		h->ended = true;
		h->sums = t.sums;
	} else {
		end_process(h, SIGKILL); /* all that it wrote is there */
	}
	forget(h);
}

void run_probes_discard(const struct run_probes *h)
{
	char path[PATH_MAX];

	if (h->ended && h->sums.file[0] && !h->sums.move_errno &&
	    snprintf(path, sizeof(path), "%s/%s", h->settings.dir, h->sums.file) < (int)sizeof(path))
		unlink(path);
	if (h->made_dir)
		rmdir(h->settings.dir); /* if nobody else put anything there */
}

void run_probes_say(const struct run_probes *h)
{
	char clean[300];

	if (!h->follows && h->why[0])
		fprintf(stderr, "gpushim: no host probes: %s\n",
			text_clean(clean, sizeof(clean), h->why, sizeof(clean)));
	if (!h->follows)
		return;
	fprintf(stderr, "gpushim: host probes by %s", h->how);
	if (h->why[0])
		fprintf(stderr, " (not by ebpf: %s)", text_clean(clean, sizeof(clean), h->why, sizeof(clean)));
	fputc('\n', stderr);
	if (h->ended && h->sums.move_errno)
		fprintf(stderr, "gpushim: host probes stay on this machine: %s\n", strerror(h->sums.move_errno));
	if (!h->ended)
		fputs("gpushim: the host probes' collector was ended before its time: what it wrote is there\n",
		      stderr);
	else if (h->sums.dropped)
		fprintf(stderr, "gpushim: host probes lost %" PRIu64 " records%s%s\n", h->sums.dropped,
			h->sums.dropped_errno ? ": " : "",
			h->sums.dropped_errno ? strerror((int)h->sums.dropped_errno) : "");
}
