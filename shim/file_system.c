/* SPDX-License-Identifier: BSD-2-Clause */
#include "file_system.h"

#include <linux/magic.h>
#include <string.h>

#include "lines.h"

static const struct network_fs {
	const char *type;
	uint64_t f_type;
} network[] = {
#define NETWORK_FS(type, f_type) { type, f_type },
#include "network_fs.def"
#undef NETWORK_FS
};

#define NETWORKS (sizeof(network) / sizeof(network[0]))

const char *file_system_stalls(uint64_t f_type)
{
	for (unsigned i = 0; i < NETWORKS; i++)
		if (network[i].f_type == (f_type & UINT32_MAX)) /* statfs sign-extends it on some architectures */
			return network[i].type;
	return NULL;
}

bool file_system_is_memory(uint64_t f_type)
{
	return f_type == TMPFS_MAGIC || f_type == RAMFS_MAGIC || f_type == HUGETLBFS_MAGIC;
}

static bool type_stalls(const char *type)
{
	for (unsigned i = 0; i < NETWORKS; i++) {
		size_t n = strlen(network[i].type);

		if (strncmp(type, network[i].type, n) == 0 && (!type[n] || type[n] == '.'))
			return true;
	}
	return false;
}

/* "\040" -> ' ', as mountinfo writes blanks and backslashes. */
static void unescape(char *s)
{
	char *out = s;

	while (*s) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' && s[3] >= '0' &&
		    s[3] <= '7') {
			*out++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 4;
		} else {
			*out++ = *s++;
		}
	}
	*out = 0;
}

static bool lies_in(const char *path, const char *mount)
{
	size_t n = strlen(mount);

	if (n && mount[n - 1] == '/')
		n--; /* the root */
	return strncmp(path, mount, n) == 0 && (!path[n] || path[n] == '/');
}

/* Field of a line: "id parent major:minor root MOUNT-POINT options tags… - TYPE source OPTIONS". */
#define MOUNT_POINT 4

struct mount {
	char *point, *type, *options;
};

static bool parse(char *line, struct mount *m)
{
	int field = 0, after_dash = 0;
	char *rest = line, *word;

	memset(m, 0, sizeof(*m));
	while ((word = strsep(&rest, " "))) {
		if (after_dash && ++after_dash == 2)
			m->type = word;
		else if (after_dash == 4)
			m->options = word;
		else if (field == MOUNT_POINT)
			m->point = word;
		else if (field > MOUNT_POINT && !after_dash && strcmp(word, "-") == 0)
			after_dash = 1;
		field++;
	}
	return m->point && m->type;
}

/* Where an overlay puts what is written to it; "" where that is not said. */
static void upper_of(const char *options, char *out, size_t size)
{
	const char *at = options ? strstr(options, "upperdir=") : NULL;
	size_t n = 0;

	if (at && (at == options || at[-1] == ','))
		for (at += strlen("upperdir="); *at && *at != ',' && n + 1 < size; at++)
			out[n++] = *at;
	out[n] = 0;
	unescape(out);
}

/* The mount that `path` lies in: the one with the longest mount point, and of those on the same the last. upper: see upper_of. */
static bool find(const char *mountinfo, const char *path, bool *stalls, char *upper, size_t size)
{
	static struct lines lines; /* one at a time: whoever creates the file does so alone */
	static char line[8192];
	size_t longest = 0;
	struct mount m;

	if (!lines_open(&lines, mountinfo))
		return false;
	while (lines_next(&lines, line, sizeof(line))) {
		if (!parse(line, &m))
			continue;
		unescape(m.point);
		if (!lies_in(path, m.point) || strlen(m.point) < longest)
			continue;
		longest = strlen(m.point);
		*stalls = type_stalls(m.type);
		*upper = 0;
		if (strcmp(m.type, "overlay") == 0)
			upper_of(m.options, upper, size);
	}
	lines_close(&lines);
	return longest > 0;
}

bool file_system_stalls_at(const char *mountinfo, const char *path)
{
	static char upper[PATH_MAX], ignored[PATH_MAX];
	bool stalls = false;

	if (!find(mountinfo, path, &stalls, upper, sizeof(upper)))
		return false;
	/* The upper directory is spelt as the mounter saw it: in a container there may be no such place, or another one. */
	if (*upper)
		find(mountinfo, upper, &stalls, ignored, sizeof(ignored));
	return stalls;
}
