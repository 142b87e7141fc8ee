/* SPDX-License-Identifier: BSD-2-Clause */
#include "lines.h"

#include <fcntl.h>
#include <unistd.h>

bool lines_open(struct lines *l, const char *path)
{
	l->at = l->used = 0;
	l->fd = open(path, O_RDONLY | O_CLOEXEC);
	return l->fd >= 0;
}

static bool fill(struct lines *l)
{
	ssize_t n = read(l->fd, l->buffer, sizeof(l->buffer));

	l->at = 0;
	l->used = n > 0 ? (size_t)n : 0;
	return n > 0;
}

bool lines_next(struct lines *l, char *line, size_t size)
{
	size_t n = 0;

	if (l->at == l->used && !fill(l))
		return false;
	while (l->at < l->used || fill(l)) {
		char c = l->buffer[l->at++];

		if (c == '\n')
			break;
		if (n + 1 < size)
			line[n++] = c;
	}
	line[n] = 0;
	return true;
}

void lines_close(struct lines *l)
{
	close(l->fd);
}
