/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../proc_text.h"
#include "proc_whole.h"

/* Linux 6.11: one mapping is asked for, where the list of all may have thousands of lines. */
struct query {
	uint64_t size, flags, address;
	uint64_t begin, end, vma_flags, page_size, offset, inode;
	uint32_t major, minor;
	uint32_t name_size, build_id_size;
	uint64_t name, build_id;
};
#define PROCMAP_ASK _IOWR('f', 17, struct query)

static bool ask(uint32_t pid, uint64_t address, struct proc_memory *m, char *path, size_t size, bool *can)
{
	struct query q = {
		.size = sizeof(q), .address = address, .name_size = (uint32_t)size, .name = (uintptr_t)path
	};
	char maps[64];
	int fd, rc;

	snprintf(maps, sizeof(maps), "/proc/%u/maps", pid);
	fd = open(maps, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	*path = 0;
	rc = ioctl(fd, PROCMAP_ASK, &q);
	*can = rc == 0 || errno != ENOTTY;
	close(fd);
	*m = (struct proc_memory){ q.begin, q.end, q.offset, q.inode, q.major << 20 | q.minor };
	return rc == 0;
}

/* "55d0c000-55d0d000 r--p 00002000 fe:01 1234      /path" */
static bool parse_line(const char *line, struct proc_memory *m, char *path, size_t size)
{
	unsigned long long begin, end, offset, inode;
	unsigned major, minor;
	int at = 0;

	if (sscanf(line, "%llx-%llx %*s %llx %x:%x %llu %n", &begin, &end, &offset, &major, &minor, &inode, &at) != 6)
		return false;
	*m = (struct proc_memory){ begin, end, offset, inode, major << 20 | minor };
	snprintf(path, size, "%.*s", inode ? (int)strcspn(line + at, "\n") : 0, line + at);
	return true;
}

bool proc_memory_at(uint32_t pid, uint64_t address, struct proc_memory *m, char *path, size_t size)
{
	bool can = true, found = ask(pid, address, m, path, size, &can);
	char *text;

	if (found || can)
		return found;
	text = proc_whole(NULL, "/proc/%u/maps", pid);
	for (const char *line = text; line && *line && !found; line = proc_text_next_line(line))
		found = parse_line(line, m, path, size) && address >= m->begin && address < m->end;
	free(text);
	return found;
}
