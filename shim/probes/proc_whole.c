/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc_whole.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

char *proc_whole(size_t *bytes, const char *path, ...)
{
	size_t size = 65536, used = 0;
	char name[PATH_MAX], *text = NULL, *more;
	va_list args;
	ssize_t n = 1;
	int fd;

	va_start(args, path);
	vsnprintf(name, sizeof(name), path, args);
	va_end(args);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	while (n > 0 && (more = realloc(text, size))) {
		text = more;
		while (used < size - 1 && (n = read(fd, text + used, size - 1 - used)) > 0)
			used += (size_t)n;
		size *= 2;
	}
	close(fd);
	if (!text || n != 0) {
		free(text);
		return NULL;
	}
	text[used] = 0;
	if (bytes)
		*bytes = used;
	return text;
}
