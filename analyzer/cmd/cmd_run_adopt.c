/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd_run_adopt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "run/staged.h"
#include "shim/file_copy.h"
#include "shim/rename_new.h"
#include "trace/life.h"

#define NAMES_TRIED 10000

static bool has_ended(const struct staged *s, int trace, const struct gst_file_header *h)
{
	struct gst_counters counters;
	enum life life;

	if (pread(trace, &counters, sizeof(counters), GST_COUNTERS_OFFSET) != sizeof(counters))
		return false;
	life = life_of(s->path, h, &counters, life_now_ns());
	return life == LIFE_ENDED || life == LIFE_CUT;
}

/* Ours, under the name that the recorder gives: what is removed must be what it made. */
static bool is_ours_to_move(const struct staged *s, int trace)
{
	char folder[PATH_MAX], name[32];
	struct stat st;
	char *slash;

	snprintf(folder, sizeof(folder), "%s", s->path);
	slash = strrchr(folder, '/');
	*slash = 0;
	slash = strrchr(folder, '/');
	snprintf(name, sizeof(name), "gpushim-%u", (unsigned)geteuid());
	return slash && strcmp(slash + 1, name) == 0 && fstat(trace, &st) == 0 && st.st_uid == geteuid() &&
	       st.st_ino == s->inode;
}

/* "x.gst.elsewhere" -> "x.gst", "x-2.gst" …; "x.host.gst.elsewhere" -> "x-2.host.gst" */
static int publish(int dir, const char *temporary, const char *note)
{
	int stem = (int)(strlen(note) - strlen(STAGED_END));
	bool host = stem > 5 && strncmp(note + stem - 5, ".host", 5) == 0;
	const char *end = host ? ".host.gst" : ".gst";
	char name[NAME_MAX + 32];

	stem -= host ? 5 : 0;
	for (unsigned n = 1; n < NAMES_TRIED; n++) {
		if (n == 1)
			snprintf(name, sizeof(name), "%.*s%s", stem, note, end);
		else
			snprintf(name, sizeof(name), "%.*s-%u%s", stem, note, n, end);
		if (rename_new(dir, temporary, name))
			return 0;
		if (errno != EEXIST)
			return errno;
	}
	return EEXIST;
}

static int move(int dir, const char *note, const struct staged *s, int trace)
{
	char temporary[NAME_MAX + 32];
	int to, rc;

	snprintf(temporary, sizeof(temporary), ".%s.moving", note);
	unlinkat(dir, temporary, 0); /* of an attempt that was ended: whoever is still at it holds the lock */
	to = openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return errno;
	fchmod(to, 0600); /* whatever the umask */
	rc = file_copy(trace, to);
	if (close(to) != 0 && !rc)
		rc = errno;
	if (!rc)
		rc = publish(dir, temporary, note);
	if (rc) {
		unlinkat(dir, temporary, 0);
		return rc;
	}
	unlinkat(dir, note, 0);
	unlink(s->path);
	return 0;
}

static int open_made(const char *dir)
{
	int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT && mkdir(dir, 0777) == 0)
		fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd;
}

/* note: its name in `dir`, or where there is none, what it would be. */
static void adopt(const char *path, const char *note, const struct staged *s)
{
	struct gst_file_header h;
	struct error e;
	int trace = staged_open(s, &h), dir, rc;

	if (trace < 0)
		return; /* whoever reads the directory says so */
	if (is_ours_to_move(s, trace) && has_ended(s, trace, &h) && flock(trace, LOCK_EX | LOCK_NB) == 0) {
		dir = open_made(path);
		rc = dir < 0 ? errno : move(dir, note, s, trace);
		if (dir >= 0)
			close(dir);
		if (rc) {
			err_set(&e, ERR_SYSTEM, s->path, ERR_NO_BYTE, "stays there, as it cannot be moved to %s: %s",
				path, strerror(rc));
			cmd_fail(&e, NULL);
		}
	}
	close(trace);
}

static bool ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return name[0] != '.' && n > m && strcmp(name + n - m, end) == 0;
}

static void adopt_noted(const char *path, const char *run_id)
{
	DIR *notes = opendir(path);
	struct dirent *d;
	struct staged s;
	char note[PATH_MAX];

	while (notes && (d = readdir(notes))) {
		if (ends_with(d->d_name, STAGED_END) &&
		    snprintf(note, sizeof(note), "%s/%s", path, d->d_name) < (int)sizeof(note) &&
		    staged_read(note, &s) && strcmp(s.run_id, run_id) == 0)
			adopt(path, d->d_name, &s);
	}
	if (notes)
		closedir(notes);
}

/* What a note would say of this file. False: it is no trace of the run. */
static bool describe(struct staged *s, const char *folder, const char *name, const char *run_id)
{
	struct gst_file_header h;
	struct stat st;
	int fd;
	bool is;

	*s = (struct staged){ .owner = geteuid() };
	if (snprintf(s->path, sizeof(s->path), "%s/%s", folder, name) >= (int)sizeof(s->path))
		return false;
	fd = open(s->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return false;
	is = fstat(fd, &st) == 0 && pread(fd, &h, sizeof(h), 0) == sizeof(h) &&
	     strncmp(h.run_id, run_id, sizeof(h.run_id)) == 0;
	close(fd);
	if (!is)
		return false;
	s->pid = h.pid;
	s->begin_real_ns = (int64_t)h.start_real_ns;
	s->start_ticks = h.start_ticks;
	s->inode = st.st_ino;
	return true;
}

/* A process that was killed before its note was written. */
static void adopt_unnoted(const char *path, const char *place, const char *run_id)
{
	char folder[PATH_MAX], note[NAME_MAX + 32];
	struct dirent *d;
	struct staged s;
	DIR *traces;

	if (!place || snprintf(folder, sizeof(folder), "%s/gpushim-%u", place, (unsigned)geteuid()) >= PATH_MAX)
		return;
	traces = opendir(folder);
	while (traces && (d = readdir(traces))) {
		if (!ends_with(d->d_name, ".gst") || !describe(&s, folder, d->d_name, run_id))
			continue;
		snprintf(note, sizeof(note), "%.*s" STAGED_END, (int)(strlen(d->d_name) - strlen(".gst")), d->d_name);
		adopt(path, note, &s);
	}
	if (traces)
		closedir(traces);
}

void adopt_traces(const char *dir, const char *run_id)
{
	const char *const places[] = { getenv("GPUSHIM_LOCAL"), getenv("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm" };

	adopt_noted(dir, run_id);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		adopt_unnoted(dir, places[i], run_id);
}
