/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor_read.c: files below the root, and the texts of rows. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor_check.h"

#define SET(field)                                               \
	va_list args;                                            \
	va_start(args, format);                                  \
	vsnprintf(row->field, sizeof(row->field), format, args); \
	va_end(args)

void row_fact(struct doctor_row *row, enum doctor_state state, const char *format, ...)
{
	SET(fact);
	row->state = state;
}

void row_means(struct doctor_row *row, const char *format, ...)
{
	SET(means);
}

void row_command(struct doctor_row *row, const char *format, ...)
{
	SET(command);
}

static bool below(const struct doctor_machine *m, const char *path, char out[PATH_MAX])
{
	if (snprintf(out, PATH_MAX, "%s%s", m->root, path) < PATH_MAX)
		return true;
	errno = ENAMETOOLONG;
	return false;
}

bool root_read(const struct doctor_machine *m, const char *path, char *buf, size_t size)
{
	char whole[PATH_MAX];
	size_t used = 0;
	ssize_t n = 0;
	int fd = below(m, path, whole) ? open(whole, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1, error;

	buf[0] = 0;
	if (fd < 0)
		return false;
	while (used < size - 1 && (n = read(fd, buf + used, size - 1 - used)) > 0)
		used += (size_t)n;
	error = errno;
	close(fd);
	buf[used] = 0;
	if (used && buf[used - 1] == '\n')
		buf[used - 1] = 0;
	errno = error;
	return n >= 0;
}

bool root_number(const struct doctor_machine *m, const char *path, long *value)
{
	char text[64], *end;

	if (!root_read(m, path, text, sizeof(text)))
		return false;
	*value = strtol(text, &end, 10);
	errno = EINVAL;
	return end != text && !*end;
}

bool root_link(const struct doctor_machine *m, const char *path, char *buf, size_t size)
{
	char whole[PATH_MAX];
	ssize_t n = below(m, path, whole) ? readlink(whole, buf, size - 1) : -1;

	buf[n < 0 ? 0 : n] = 0;
	return n >= 0;
}

bool root_has(const struct doctor_machine *m, const char *path)
{
	char whole[PATH_MAX];

	return below(m, path, whole) && access(whole, F_OK) == 0;
}

bool root_field(const struct doctor_machine *m, const char *path, const char *key, char *value, size_t size)
{
	char text[8192];
	size_t n = strlen(key);

	value[0] = 0;
	if (!root_read(m, path, text, sizeof(text)))
		return false;
	for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
		if (strncmp(line, key, n) != 0 || line[n] != ':')
			continue;
		line += n + 1;
		snprintf(value, size, "%s", line + strspn(line, " \t"));
		return true;
	}
	errno = ENOENT;
	return false;
}

const char *shell_word(char *buf, size_t size, const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:,=@%";
	size_t used = 0;

	if (*path && !path[strspn(path, plain)]) {
		snprintf(buf, size, "%s", path);
		return buf;
	}
	buf[used++] = '\'';
	for (; *path && used + 6 < size; path++) {
		if (*path == '\'')
			used += (size_t)snprintf(buf + used, size - used, "'\\''");
		else
			buf[used++] = *path;
	}
	buf[used++] = '\'';
	buf[used] = 0;
	return buf;
}

const char *trial_words(char buf[128], const struct doctor_trial *t)
{
	if (t->timeout)
		snprintf(buf, 128, "did not come back");
	else if (t->signal)
		snprintf(buf, 128, "was killed by %s", strsignal(t->signal));
	else if (!t->done)
		snprintf(buf, 128, "gave no answer");
	else if (t->error)
		snprintf(buf, 128, "was refused: %s", strerror(t->error));
	else
		snprintf(buf, 128, "worked");
	return buf;
}
