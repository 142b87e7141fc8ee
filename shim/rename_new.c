/* SPDX-License-Identifier: BSD-2-Clause */
#include "rename_new.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

bool rename_new(int dir, const char *from, const char *to)
{
	int fd;

	if (syscall(SYS_renameat2, dir, from, dir, to, 1u /* RENAME_NOREPLACE */) == 0)
		return true;
	if (errno != EINVAL && errno != ENOSYS)
		return false;
	/* A file system without it (NFS): a hard link never replaces either. */
	if (linkat(dir, from, dir, to, 0) == 0) {
		unlinkat(dir, from, 0);
		return true;
	}
	if (errno == EEXIST)
		return false;
	/* Nor hard links (s3fs, gcsfuse, sshfs): the name is taken with an empty file of ours, which is then replaced. */
	fd = openat(dir, to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	close(fd);
	if (renameat(dir, from, dir, to) == 0)
		return true;
	unlinkat(dir, to, 0);
	return false;
}
