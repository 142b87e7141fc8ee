/* SPDX-License-Identifier: BSD-2-Clause */
#include "elsewhere.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "file_copy.h"
#include "process_info.h"
#include "run_dir.h"

#define NOTE_END ".elsewhere"

static bool write_note(int fd, const struct elsewhere *e)
{
	static char text[PATH_MAX + 512];
	char host[64];
	int n;

	process_info_host(host, sizeof(host));
	/* The path is last, and ends where the file does: it may hold anything. */
	n = snprintf(text, sizeof(text),
		     "gpushim elsewhere 1\nhost %s\npid %" PRIu32 "\nbegin %" PRIu64 "\nticks %" PRIu64
		     "\ninode %" PRIu64 "\nrun %s\npath %s\n",
		     host, e->pid, e->begin_real_ns, e->start_ticks, e->inode, e->run_id, e->local);
	return write(fd, text, (size_t)n) == n;
}

bool elsewhere_leave_note(struct elsewhere *e, const char *run_dir)
{
	char temporary[128], end[32];
	int dir = run_dir_open(run_dir), fd;
	struct timespec now;
	bool ok = false;

	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(temporary, sizeof(temporary), ".%" PRIu32 "-%llx.tmp", e->pid,
		 (unsigned long long)now.tv_sec * 1000000000u + (unsigned long long)now.tv_nsec);
	snprintf(end, sizeof(end), "%s" NOTE_END, e->end);
	if (dir >= 0 && (fd = run_dir_create(dir, temporary)) >= 0) {
		ok = write_note(fd, e);
		ok = close(fd) == 0 && ok;
		ok = ok && run_dir_publish(dir, temporary, e->pid, end, e->note, sizeof(e->note));
		if (!ok)
			unlinkat(dir, temporary, 0);
	}
	if (dir >= 0)
		close(dir);
	return ok;
}

/* 0, or an errno. */
static int copy_into(int dir, int from, const char *temporary, const struct elsewhere *e, char name[128])
{
	int to = run_dir_create(dir, temporary), rc;

	if (to < 0)
		return errno;
	rc = file_copy(from, to);
	if (close(to) != 0 && !rc)
		rc = errno;
	if (!rc && !run_dir_publish(dir, temporary, e->pid, e->end, name, 128))
		rc = errno;
	if (rc)
		unlinkat(dir, temporary, 0);
	return rc;
}

/* Named after the note, or what that would be called: whoever comes to move the trace after an attempt that was ended (gpushim run) finds
 * the rest of that as well. */
static void name_temporary(const struct elsewhere *e, char *out, size_t size)
{
	const char *trace = strrchr(e->local, '/') + 1;

	if (e->note[0])
		snprintf(out, size, ".%s.moving", e->note);
	else
		snprintf(out, size, ".%s" NOTE_END ".moving", trace);
}

static int move_into(int dir, int from, const struct elsewhere *e, char name[128])
{
	char temporary[160];
	int rc;

	name_temporary(e, temporary, sizeof(temporary));
	rc = copy_into(dir, from, temporary, e, name);
	if (rc)
		return rc;
	if (e->note[0])
		unlinkat(dir, e->note, 0);
	unlink(e->local);
	return 0;
}

int elsewhere_move(const struct elsewhere *e, const char *run_dir, char name[128])
{
	int from = open(e->local, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), dir = -1, rc = 0;

	if (from < 0 || flock(from, LOCK_EX | LOCK_NB) != 0 || (dir = run_dir_open(run_dir)) < 0)
		rc = errno;
	if (!rc)
		rc = move_into(dir, from, e, name);
	if (dir >= 0)
		close(dir);
	if (from >= 0)
		close(from);
	return rc;
}
