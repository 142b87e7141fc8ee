/* SPDX-License-Identifier: BSD-2-Clause */
#include "run_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "glibc.h"
#include "process_info.h"
#include "rename_new.h"

#define NAMES_TRIED 10000

/* ---- the directory -------------------------------------------------------------------------------------------------- */

/* One directory; a umask that denies its owner everything is none meant for directories. */
static bool make(const char *path)
{
	struct stat st;

	if (mkdir(path, 0777) != 0)
		return errno == EEXIST;
	if (glibc_stat(path, &st) == 0 && (st.st_mode & 0700) != 0700)
		chmod(path, (st.st_mode & 07777) | 0700);
	return true;
}

/* mkdir -p; the run directory may be several levels down. */
static bool make_all(const char *path)
{
	char part[PATH_MAX];

	snprintf(part, sizeof(part), "%s", path);
	for (char *p = part + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = 0;
		if (!make(part))
			return false;
		*p = '/';
	}
	return make(part);
}

/* As Linux decides with fs.protected_symlinks=1, which is not set everywhere: in a directory that all may write to and nobody may clear
 * (/tmp), a link is good if it is ours or the directory's owner's. */
static bool is_planted(const char *path)
{
	char parent[PATH_MAX];
	struct stat link, st;
	char *slash;
	size_t n;

	snprintf(parent, sizeof(parent), "%s", path);
	for (n = strlen(parent); n > 1 && parent[n - 1] == '/';)
		parent[--n] = 0;
	if (glibc_lstat(parent, &link) != 0 || !S_ISLNK(link.st_mode) || link.st_uid == geteuid())
		return false;
	slash = strrchr(parent, '/');
	slash[slash == parent] = 0;
	return glibc_stat(parent, &st) == 0 && (st.st_mode & S_ISVTX) && (st.st_mode & S_IWOTH) &&
	       link.st_uid != st.st_uid;
}

int run_dir_open(const char *path)
{
	const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
	int dir;

	if (is_planted(path)) {
		errno = ELOOP;
		return -1;
	}
	dir = open(path, flags);
	if (dir < 0 && errno == ENOENT && make_all(path))
		dir = open(path, flags);
	return dir;
}

/* ---- files in it ---------------------------------------------------------------------------------------------------- */

int run_dir_create(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600), saved_errno;

	if (fd < 0 || fchmod(fd, 0600) == 0)
		return fd;
	saved_errno = errno;
	if (saved_errno == EPERM || saved_errno == ENOSYS || saved_errno == EOPNOTSUPP)
		return fd; /* a file system without modes */
	unlinkat(dir, name, 0);
	close(fd);
	errno = saved_errno;
	return -1;
}

bool run_dir_publish(int dir, const char *temporary, uint32_t pid, const char *end, char *name, size_t size)
{
	char host[64];

	process_info_host(host, sizeof(host));
	for (unsigned n = 1; n < NAMES_TRIED; n++) {
		char suffix[16] = "";

		if (n > 1)
			snprintf(suffix, sizeof(suffix), "-%u", n);
		snprintf(name, size, "%s-%u%s%s", host, pid, suffix, end);
		if (rename_new(dir, temporary, name))
			return true;
		if (errno != EEXIST)
			return false;
	}
	return false;
}
