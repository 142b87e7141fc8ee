/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc_mount_paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../proc_text.h"
#include "proc_whole.h"

#define OLD_NS 1000000000ull

void mount_paths_open(struct mount_paths *m, uint32_t root)
{
	size_t bytes;

	*m = (struct mount_paths){ .first = proc_whole(&bytes, "/proc/%u/mountinfo", root) };
}

void mount_paths_close(struct mount_paths *m)
{
	free(m->first);
	free(m->text);
}

/* The next field of a line, up to a space, with \040 and its like read; where the field after it begins. */
static const char *field(char out[PATH_MAX], const char *at)
{
	size_t n = 0;

	for (; *at && *at != ' ' && *at != '\n'; n++) {
		bool octal = at[0] == '\\' && at[1] >= '0' && at[1] <= '3' && at[2] && at[3];

		if (n + 1 < PATH_MAX)
			out[n] = octal ? (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0')) : *at;
		at += octal ? 4 : 1;
	}
	out[n < PATH_MAX ? n : PATH_MAX - 1] = 0;
	return *at == ' ' ? at + 1 : at;
}

/* What of path lies below folder: "" or "/…"; NULL: it is not in it. */
static const char *below(const char *path, const char *folder)
{
	size_t length = strcmp(folder, "/") == 0 ? 0 : strlen(folder);

	return strncmp(path, folder, length) == 0 && (path[length] == '/' || !path[length]) ? path + length : NULL;
}

/* Where a line's mount begins in its file system, and where it is. False: it is of another one. */
static bool mount_of(const char *line, uint32_t dev, char root[PATH_MAX], char point[PATH_MAX])
{
	unsigned major, minor;
	int at = 0;

	if (sscanf(line, "%*u %*u %u:%u %n", &major, &minor, &at) != 2 || !at || (major << 20 | minor) != dev)
		return false;
	field(point, field(root, line + at));
	return root[0] == '/' && point[0] == '/';
}

/* False: it does not fit. */
static bool join(char out[PATH_MAX], const char *point, const char *rest)
{
	return snprintf(out, PATH_MAX, "%s%s", strcmp(point, "/") == 0 && *rest ? "" : point, rest) < PATH_MAX;
}

/* Of several mounts of one file system the one that shows least beside the file; of equals the last: it may hide the others. */
bool mount_paths_in(const char *list, char out[PATH_MAX], uint32_t dev, const char *inside)
{
	char full[PATH_MAX], root[PATH_MAX], point[PATH_MAX];
	size_t best = 0;
	bool found = false;

	for (const char *line = list; *line; line = proc_text_next_line(line)) {
		const char *rest;

		if (!mount_of(line, dev, root, point))
			continue;
		rest = below(inside, root);
		if (!rest || (found && strlen(root) < best))
			continue;
		found = true;
		best = strlen(root);
		if (!join(full, point, rest))
			return false;
		memcpy(out, full, strlen(full) + 1);
	}
	return found;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), part = strlen(end);

	return length >= part && strcmp(text + length - part, end) == 0;
}

bool mount_paths_agree_in(const char *list, uint32_t dev, const char *inside, bool whole, const char *path)
{
	char full[PATH_MAX], root[PATH_MAX], point[PATH_MAX];

	for (const char *line = list; *line; line = proc_text_next_line(line)) {
		const char *rest;

		if (!mount_of(line, dev, root, point))
			continue;
		rest = whole ? below(inside, root) : below(path, point);
		if (rest && (whole ? join(full, point, rest) && strcmp(full, path) == 0 : ends_with(rest, inside)))
			return true;
	}
	return false;
}

/* The list of this process's mounts, as of a moment ago; NULL: it is gone, or not ours to look at. */
static const char *list_of(struct mount_paths *m, uint32_t pid)
{
	uint64_t now = mono_ns();
	size_t bytes;

	if (!m->text || m->pid != pid || now - m->read_ns > OLD_NS) {
		free(m->text);
		m->text = proc_whole(&bytes, "/proc/%u/mountinfo", pid);
		m->pid = pid;
		m->read_ns = now;
	}
	return m->text;
}

bool mount_paths_find(struct mount_paths *m, char out[PATH_MAX], uint32_t pid, uint32_t dev, const char *inside)
{
	const char *list = list_of(m, pid);

	return (list && mount_paths_in(list, out, dev, inside)) ||
	       (m->first && mount_paths_in(m->first, out, dev, inside));
}

/* Most often it lives where the root does: then there is nothing to read. */
bool mount_paths_agree(struct mount_paths *m, uint32_t pid, uint32_t dev, const char *inside, bool whole,
		       const char *path)
{
	const char *list;

	if (m->first && mount_paths_agree_in(m->first, dev, inside, whole, path))
		return true;
	list = list_of(m, pid);
	return list && mount_paths_agree_in(list, dev, inside, whole, path);
}
