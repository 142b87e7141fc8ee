/* SPDX-License-Identifier: BSD-2-Clause */
#include "task_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

bool task_file_read(char *to, size_t room, uint32_t tid, const char *name)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%u/%s", tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, to, room - 1);
	if (fd >= 0)
		close(fd);
	to[n > 0 ? n : 0] = 0;
	return n > 0;
}
