/* SPDX-License-Identifier: BSD-2-Clause */
#include "file_system.h"

#include <linux/magic.h>
#include <string.h>

#include "mounts.h"

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

bool file_system_type_is_memory(const char *type)
{
	return strcmp(type, "tmpfs") == 0 || strcmp(type, "devtmpfs") == 0 || strcmp(type, "ramfs") == 0 ||
	       strcmp(type, "hugetlbfs") == 0;
}

bool file_system_type_stalls(const char *type)
{
	for (unsigned i = 0; i < NETWORKS; i++) {
		size_t n = strlen(network[i].type);

		if (strncmp(type, network[i].type, n) == 0 && (!type[n] || type[n] == '.'))
			return true;
	}
	return false;
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
	mount_unescape(out);
}

/* The mount that `path` lies in. upper: see upper_of. The list is read with what memory there is for that once: whoever makes the process's file
 * does so alone, and nobody asks later (the thread that looks at others has its own, file_mount.c). */
static bool find(const char *mountinfo, const char *path, bool *stalls, char *upper, size_t size)
{
	static struct mounts mounts;
	size_t longest = 0;
	struct mount m;

	if (!mounts_open(&mounts, mountinfo))
		return false;
	while (mounts_next(&mounts, &m)) {
		if (!mount_has(&m, path) || strlen(m.point) < longest)
			continue;
		longest = strlen(m.point);
		*stalls = file_system_type_stalls(m.type);
		*upper = 0;
		if (strcmp(m.type, "overlay") == 0)
			upper_of(m.options, upper, size);
	}
	mounts_close(&mounts);
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
