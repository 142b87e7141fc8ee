/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor_try_place.c: can a file be made, grown, mapped and written to where the run directory is, or would be? */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "doctor_child.h"
#include "doctor_trials.h"

#define SECONDS 5 /* a server may not answer */
#define BYTES 4096

/* The path itself, or the nearest directory above it that exists. */
static int nearest(struct doctor_place *p)
{
	struct stat st;

	strcpy(p->there, p->dir);
	while (stat(p->there, &st)) {
		char *slash = strrchr(p->there, '/');

		if (errno != ENOENT)
			return errno;
		if (!slash || slash == p->there)
			strcpy(p->there, "/");
		else
			*slash = 0;
	}
	return S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
}

/* Without a name where the file system knows that; else one that is taken away at once. */
static int make_file(const char *dir)
{
	char path[PATH_MAX + 32];
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd;
	snprintf(path, sizeof(path), "%s/.gpushim-doctor-XXXXXX", dir);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

static int write_file(struct doctor_place *p, int fd)
{
	char *bytes;

	p->step = "to make a file longer";
	if (fallocate(fd, 0, 0, BYTES) && (errno != EOPNOTSUPP || ftruncate(fd, BYTES)))
		return errno;
	p->step = "to map a file shared";
	bytes = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (bytes == MAP_FAILED)
		return errno;
	bytes[0] = 'g';
	p->step = "to read what was written";
	errno = 0;
	return pread(fd, bytes + 1, 1, 0) == 1 && bytes[1] == 'g' ? 0 : errno ? errno : EIO;
}

static int try(void *answer)
{
	struct doctor_place *p = answer;
	struct statfs fs;
	int error, fd;

	p->step = "to look at it";
	error = nearest(p);
	if (error)
		return error;
	if (statfs(p->there, &fs) == 0) {
		p->type = (uint64_t)fs.f_type;
		p->free_bytes = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
		p->stat_done = true;
	}
	p->step = "to make a file";
	fd = make_file(p->there);
	return fd < 0 ? errno : write_file(p, fd);
}

void doctor_try_place(struct doctor_machine *m, const char *dir)
{
	char here[PATH_MAX] = "";
	int n;

	if (*dir != '/' && !getcwd(here, sizeof(here)))
		here[0] = 0;
	if (strcmp(here, "/") == 0)
		here[0] = 0;
	n = snprintf(m->place.dir, sizeof(m->place.dir), "%s%s%s", here, *dir == '/' ? "" : "/", dir);
	if (n >= (int)sizeof(m->place.dir)) {
		m->write = (struct doctor_trial){ .done = true, .error = ENAMETOOLONG };
		return;
	}
	doctor_child(&m->write, try, &m->place, sizeof(m->place), SECONDS);
}
