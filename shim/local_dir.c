/* SPDX-License-Identifier: BSD-2-Clause */
#include "local_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "file_system.h"
#include "glibc.h"

#define MOUNTS "/proc/self/mountinfo"
#define ROOM_MIN_BYTES (16ull << 20)
#define MEMORY_MAX_BYTES (256ull << 20) /* of a file system in memory: it is the program's memory */

/* Somebody else's directory of that name, or a link, is none. */
static int open_own(int place, const char *name)
{
	bool made = mkdirat(place, name, 0700) == 0;
	struct stat st;
	int dir;

	if (made)
		fchmodat(place, name, 0700, 0); /* whatever the umask */
	dir = openat(place, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return -1;
	if (glibc_fstat(dir, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 022))
		return dir;
	close(dir);
	errno = EPERM;
	return -1;
}

/* 0: no good; else how many bytes may be used there. */
static uint64_t usable(int place)
{
	struct statfs fs;
	struct stat st;
	uint64_t room, share;

	if (glibc_fstat(place, &st) != 0 || fstatfs(place, &fs) != 0 || file_system_stalls((uint64_t)fs.f_type))
		return 0;
	if ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX))
		return 0; /* anybody may put another directory in the place of ours */
	room = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
	if (room < ROOM_MIN_BYTES)
		return 0;
	if (!file_system_is_memory((uint64_t)fs.f_type))
		return room / 2;
	share = room / 4;
	return share < MEMORY_MAX_BYTES ? share : MEMORY_MAX_BYTES;
}

static int open_in(const char *place, char *path, size_t size, uint64_t *bytes)
{
	char name[32];
	int at, dir = -1;

	if (place[0] != '/' || file_system_stalls_at(MOUNTS, place))
		return -1;
	at = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (at < 0)
		return -1;
	snprintf(name, sizeof(name), "gpushim-%u", (unsigned)geteuid());
	*bytes = usable(at);
	if (*bytes && (size_t)snprintf(path, size, "%s/%s", place, name) < size)
		dir = open_own(at, name);
	close(at);
	return dir;
}

int local_dir_open(const char *const places[], unsigned n, char *path, size_t size, uint64_t *bytes)
{
	for (unsigned i = 0; i < n; i++) {
		int dir;

		errno = 0;
		dir = places[i] ? open_in(places[i], path, size, bytes) : -1;
		if (dir >= 0 || errno == EMFILE || errno == ENFILE)
			return dir;
	}
	errno = ENODEV;
	return -1;
}
