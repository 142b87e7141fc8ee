/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_host.c: host probes for a process tree that runs already. */
#include "cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd_directory.h"
#include "cmd_probes.h"
#include "shim/probes/collector.h"
#include "shim/probes/root.h"
#include "tools/text.h"

struct host_opts {
	size_t pid;
	const char *out, *way;
	struct probes_opts probes;
};

static const struct option_row rows[] = {
	{ "pid", 'p', OPT_COUNT, offsetof(struct host_opts, pid), "PID", "the process to follow, with all it makes", 1,
	  INT_MAX },
	{ "out", 'o', OPT_TEXT, offsetof(struct host_opts, out), "DIR",
	  "record into DIR (GPUSHIM_OUT, the process's own GPUSHIM_OUT, else ./gpushim-out)", 0, 0 },
	{ "probes", 0, OPT_WORD, offsetof(struct host_opts, way), "ebpf|perf|proc",
	  "watch in this way, not in the best that there is", 0, 0 },
	PROBES_ROWS(struct host_opts),
};

const struct option_set cmd_host_options = {
	.usage =
		"-p PID [options]\n\n"
		"Records what the process and all that it makes wait for: files, workers, locks, CPUs. Ends when they have, or\n"
		"with SIGINT or SIGTERM. Exit status: 0 fine, 2 usage, 4 system.",
	.rows = rows,
	.n_rows = sizeof(rows) / sizeof(rows[0]),
};

static int fail(enum err_kind kind, const char *hint, const char *format, ...) __attribute__((format(printf, 3, 4)));

static int fail(enum err_kind kind, const char *hint, const char *format, ...)
{
	char fact[512];
	struct error e;
	va_list ap;

	va_start(ap, format);
	vsnprintf(fact, sizeof(fact), format, ap);
	va_end(ap);
	err_set(&e, kind, NULL, ERR_NO_BYTE, "%s", fact);
	return cmd_fail(&e, hint);
}

/* ---- the process ---------------------------------------------------------------------------------------- */

struct target {
	pid_t pid, leader; /* leader: its process, where pid is a thread */
	bool dead;
	bool others; /* another user's, or with another's rights, by any of its ids */
	char name[64];
};

static bool look_at(pid_t pid, struct target *out)
{
	char path[64], line[256];
	unsigned uid[3], gid[3];
	FILE *f;

	*out = (struct target){ .pid = pid };
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Uid: %u %u %u", &uid[0], &uid[1], &uid[2]) == 3)
			out->others |= uid[0] != getuid() || uid[1] != getuid() || uid[2] != getuid();
		else if (sscanf(line, "Gid: %u %u %u", &gid[0], &gid[1], &gid[2]) == 3)
			out->others |= gid[0] != gid[1] || gid[0] != gid[2];
		else if (strncmp(line, "State:", 6) == 0)
			out->dead = strpbrk(line, "ZX") != NULL;
		else if (sscanf(line, "Tgid: %d", &out->leader) != 1)
			sscanf(line, "Name: %63[^\n]", out->name);
	}
	fclose(f);
	return true;
}

static int may_follow(pid_t pid, struct target *t)
{
	if (!look_at(pid, t) || t->dead)
		return fail(ERR_SYSTEM, NULL, "there is no process %d", (int)pid);
	if (t->leader != pid)
		return fail(ERR_USAGE, NULL, "host: %d is a thread of process %d", (int)pid, (int)t->leader);
	/* By capabilities we could; they are lent to whoever calls us, for processes of their own. */
	if (t->others && getuid() != 0)
		return fail(ERR_SYSTEM, "try: as root", "process %d is another user's, or has another's rights",
			    (int)pid);
	return 0;
}

/* NAME=… of its environment as it was started, if it is ours. */
static bool its_variable(const struct target *t, const char *name, char *out, size_t size)
{
	char path[64], *entry = NULL;
	size_t room = 0, n = strlen(name);
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)t->pid);
	f = t->others ? NULL : fopen(path, "re");
	while (f && !found && getdelim(&entry, &room, 0, f) > 0)
		found = strncmp(entry, name, n) == 0 && entry[n] == '=' && strlen(entry + n + 1) < size;
	if (found)
		strcpy(out, entry + n + 1);
	free(entry);
	if (f)
		fclose(f);
	return found;
}

/* Where its recorder writes, and as a part of the same run, unless we were told otherwise. */
static int join(const struct host_opts *o, const struct target *t, char dir[PATH_MAX])
{
	const char *run = getenv("GPUSHIM_RUN"), *set = getenv("GPUSHIM_OUT"), *out = o->out;
	static char its_dir[PATH_MAX];
	char its_run[64];

	if (!(run && *run) && its_variable(t, "GPUSHIM_RUN", its_run, sizeof(its_run)))
		setenv("GPUSHIM_RUN", its_run, 1);
	if (!out && !(set && *set) && its_variable(t, "GPUSHIM_OUT", its_dir, sizeof(its_dir)) && *its_dir == '/')
		out = its_dir;
	return cmd_directory(out, dir);
}

/* ---- following ------------------------------------------------------------------------------------------ */

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	stop = sig;
}

/* What whoever started us had us ignore (nohup, a shell's background) is ignored still. */
static void catch_signals(void)
{
	const struct sigaction end = { .sa_handler = on_signal };
	const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction before;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (sigaction(ends[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(ends[i], &end, NULL);
}

static void say_begin(const struct collector *c, const struct target *t)
{
	char name[80], path[PATH_MAX], why[300];

	fprintf(stderr, "gpushim: following process %d (%s) by %s into %s\n", (int)t->pid,
		text_clean(name, sizeof(name), t->name, sizeof(name)), c->backend->name,
		text_clean(path, sizeof(path), host_file_path(c->file), sizeof(path)));
	for (unsigned i = 0; i < c->n_refused; i++)
		fprintf(stderr, "gpushim: not by %s: %s\n", c->refused[i].name,
			text_clean(why, sizeof(why), c->refused[i].why, sizeof(why)));
}

static void say_end(const struct target *t, bool went_on, const struct collector_sums *s)
{
	fprintf(stderr, "gpushim: %s %d; it took %.1f ms of CPU\n",
		stop      ? "told to end: no longer following process"
		: went_on ? "ended: process"
			  : "cannot go on following process",
		(int)t->pid, (double)s->own_cpu_ns / 1e6);
	if (s->dropped)
		fprintf(stderr, "gpushim: %" PRIu64 " records were lost%s%s\n", s->dropped,
			s->dropped_errno ? ": " : "", s->dropped_errno ? strerror((int)s->dropped_errno) : "");
	if (s->move_errno)
		fprintf(stderr, "gpushim: it stays there, as it cannot be moved to the run directory: %s\n",
			strerror(s->move_errno));
	if (s->recycled)
		fprintf(stderr, "gpushim: the first %" PRIu64 " records were given up for later ones (GPUSHIM_LIMIT)\n",
			s->recycled);
}

static int say_refused(const struct collector *c, const struct target *t, const char *why)
{
	char clean[300];

	for (unsigned i = 0; i + 1 < c->n_refused; i++)
		fprintf(stderr, "gpushim: not by %s: %s\n", c->refused[i].name,
			text_clean(clean, sizeof(clean), c->refused[i].why, sizeof(clean)));
	if (!c->n_refused)
		return fail(ERR_SYSTEM, NULL, "%s", why);
	return fail(ERR_SYSTEM, NULL, "cannot follow process %d by %s: %s", (int)t->pid,
		    c->refused[c->n_refused - 1].name, why);
}

int cmd_host(int argc, char *argv[])
{
	struct host_opts o = { .way = "auto" };
	int first, status = cmd_options(&cmd_host_options, argc, argv, &o, &first);
	struct probes_settings settings;
	struct collector_sums sums;
	char dir[PATH_MAX], why[256];
	struct collector c;
	struct target t;
	bool went_on;
	int root_fd;

	if (status >= 0)
		return status;
	if (!o.pid)
		return fail(ERR_USAGE, "try: gpushim host --help", "host: no process is named (-p PID)");
	root_fd = root_open((pid_t)o.pid); /* first: what is found out of it from now on is of this one */
	status = may_follow((pid_t)o.pid, &t);
	if (!status)
		status = join(&o, &t, dir);
	if (!status)
		status = cmd_probes_settings(&o.probes, "host", dir, &settings);
	if (status)
		return status;
	settings.root = t.pid;
	settings.root_fd = root_fd;
	catch_signals();
	if (!collector_start(&c, &settings, o.way, why))
		return say_refused(&c, &t, why);
	collector_drop_privileges();
	say_begin(&c, &t);
	went_on = collector_follow(&c, &stop);
	collector_finish(&c, &sums);
	say_end(&t, went_on, &sums);
	return went_on ? 0 : ERR_SYSTEM;
}
