/* SPDX-License-Identifier: BSD-2-Clause */
#include "mounts.h"

#include <stdlib.h>
#include <string.h>

void mount_unescape(char *s)
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

bool mount_has(const struct mount *m, const char *path)
{
	size_t n = strlen(m->point);

	if (n && m->point[n - 1] == '/')
		n--; /* the root */
	return strncmp(path, m->point, n) == 0 && (!path[n] || path[n] == '/');
}

/* Field of a line: "id parent major:minor ROOT MOUNT-POINT options tags… - TYPE source OPTIONS". */
#define MOUNT_ROOT 3
#define MOUNT_POINT 4

static bool parse(char *line, struct mount *m)
{
	int field = 0, after_dash = 0;
	char *rest = line, *word;

	memset(m, 0, sizeof(*m));
	m->id = strtoull(line, NULL, 10);
	while ((word = strsep(&rest, " "))) {
		if (after_dash && ++after_dash == 2)
			m->type = word;
		else if (after_dash == 4)
			m->options = word;
		else if (field == MOUNT_ROOT)
			m->root = word;
		else if (field == MOUNT_POINT)
			m->point = word;
		else if (field > MOUNT_POINT && !after_dash && strcmp(word, "-") == 0)
			after_dash = 1;
		field++;
	}
	return m->point && m->type;
}

bool mounts_open(struct mounts *m, const char *mountinfo)
{
	return lines_open(&m->lines, mountinfo);
}

bool mounts_next(struct mounts *m, struct mount *out)
{
	while (lines_next(&m->lines, m->line, sizeof(m->line))) {
		if (!parse(m->line, out))
			continue;
		mount_unescape(out->root);
		mount_unescape(out->point);
		return true;
	}
	return false;
}

void mounts_close(struct mounts *m)
{
	lines_close(&m->lines);
}
