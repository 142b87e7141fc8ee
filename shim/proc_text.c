/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc_text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int open_text(const char *path, va_list args)
{
	char name[PATH_MAX];

	vsnprintf(name, sizeof(name), path, args);
	return open(name, O_RDONLY | O_CLOEXEC);
}

/* Reads until the end or until out is full; by read(), which a filter on system calls that kills has to allow anyway. */
static ssize_t read_all(int fd, char *out, size_t size)
{
	size_t used = 0;

	while (used < size - 1) {
		ssize_t n = read(fd, out + used, size - 1 - used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && !used) {
			*out = 0;
			return -1;
		}
		if (n <= 0)
			break;
		used += (size_t)n;
	}
	out[used] = 0;
	return (ssize_t)used;
}

ssize_t proc_text_read(char *out, size_t size, const char *path, ...)
{
	va_list args;
	ssize_t n;
	int fd, why;

	va_start(args, path);
	fd = open_text(path, args);
	va_end(args);
	*out = 0;
	if (fd < 0)
		return -1;
	n = read_all(fd, out, size);
	why = errno;
	close(fd);
	errno = why;
	return n;
}

ssize_t proc_text_again(int fd, char *out, size_t size)
{
	ssize_t n = pread(fd, out, size - 1, 0); /* these files come whole, in one */

	out[n > 0 ? n : 0] = 0;
	return n;
}

bool proc_text_link(char *out, size_t size, const char *path, ...)
{
	char name[PATH_MAX];
	va_list args;
	ssize_t n;

	va_start(args, path);
	vsnprintf(name, sizeof(name), path, args);
	va_end(args);
	n = readlink(name, out, size - 1);
	out[n > 0 ? n : 0] = 0;
	return n > 0;
}

bool proc_text_number(const char **at, int base, uint64_t *value)
{
	char *end;

	while (**at == ' ' || **at == '\t')
		++*at;
	if (!isxdigit((unsigned char)**at) && **at != '-')
		return false;
	*value = strtoull(*at, &end, base);
	if (end == *at)
		return false;
	*at = end;
	return true;
}

const char *proc_text_next_line(const char *at)
{
	const char *end = strchr(at, '\n');

	return end ? end + 1 : at + strlen(at);
}

bool proc_text_field(const char *text, const char *name, int base, uint64_t *value)
{
	size_t length = strlen(name);

	for (const char *line = text; *line; line = proc_text_next_line(line)) {
		const char *at = line + length;
		if (strncmp(line, name, length) != 0)
			continue;
		return proc_text_number(&at, base, value);
	}
	return false;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t mono_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t thread_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}
