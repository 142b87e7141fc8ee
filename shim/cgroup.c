/* SPDX-License-Identifier: BSD-2-Clause */
#include "cgroup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mounts.h"
#include "proc_text.h"

/* Is the word one of a list with commas, which ends at a blank, a colon or the line? */
static bool in_list(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = list;; at += strcspn(at, ", :\n") + 1) {
		size_t length = strcspn(at, ", :\n");
		if (length == n && !strncmp(at, word, n))
			return true;
		if (at[length] != ',')
			return false;
	}
}

/* "4:cpu,cpuacct:/path" of version 1 is the one that counts, if there is one; "0::/path" of version 2 else. */
static bool group_path(uint32_t pid, const char *controller, char *path, size_t size, bool *old)
{
	char text[8192];
	bool found = false;

	if ((pid == CGROUP_OWN ? proc_text_read(text, sizeof(text), "/proc/self/cgroup")
			       : proc_text_read(text, sizeof(text), "/proc/%u/cgroup", pid)) <= 0)
		return false;
	for (const char *line = text; *line; line = proc_text_next_line(line)) {
		const char *list = strchr(line, ':'), *at = list ? strchr(list + 1, ':') : NULL;
		bool first = at && at > list + 1 && in_list(list + 1, controller);
		if (!at || (!first && (found || strncmp(line, "0::", 3) != 0)))
			continue;
		snprintf(path, size, "%.*s", (int)strcspn(at + 1, "\n"), at + 1);
		found = true;
		*old = first;
		if (first)
			break;
	}
	return found;
}

/* Where that hierarchy is mounted, and which of its groups stands there. */
static bool mount_point(bool old, const char *controller, char *where, char *root, size_t size)
{
	struct mounts mounts;
	struct mount m;
	bool found = false;

	if (!mounts_open(&mounts, "/proc/self/mountinfo"))
		return false;
	while (!found && mounts_next(&mounts, &m)) {
		if (old ? strcmp(m.type, "cgroup") != 0 || !m.options || !in_list(m.options, controller)
			: strcmp(m.type, "cgroup2") != 0)
			continue;
		found = (size_t)snprintf(where, size, "%s", m.point) < size &&
			(size_t)snprintf(root, size, "%s", m.root) < size;
	}
	mounts_close(&mounts);
	return found;
}

/* By open(), not access(): a filter on system calls that kills has to allow that one anyway. */
static bool is_there(const char *dir)
{
	int fd = open(dir, O_PATH | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

bool cgroup_find(char dir[PATH_MAX], const char *controller, uint32_t pid, size_t *top, bool *old)
{
	char path[PATH_MAX / 4], where[PATH_MAX / 4], root[PATH_MAX / 4], *below = path;

	if (!group_path(pid, controller, path, sizeof(path), old) ||
	    !mount_point(*old, controller, where, root, sizeof(where)))
		return false;
	/* A container sees a part of the hierarchy, as if that were all. */
	if (strcmp(root, "/") != 0 && !strncmp(path, root, strlen(root)))
		below = path + strlen(root);
	snprintf(dir, PATH_MAX, "%s%s", where, strcmp(below, "/") ? below : "");
	if (!is_there(dir))
		snprintf(dir, PATH_MAX, "%s", where);
	*top = strlen(where);
	return true;
}
