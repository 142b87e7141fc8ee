/* SPDX-License-Identifier: BSD-2-Clause */
#include "root.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../process_info.h"

#define LEAST_FD 10 /* the standard ones may be closed */

int root_open(pid_t pid)
{
	int low = (int)syscall(SYS_pidfd_open, pid, 0), fd;

	if (low < 0)
		return 0;
	fd = fcntl(low, F_DUPFD_CLOEXEC, LEAST_FD);
	close(low);
	return fd > 0 ? fd : 0;
}

/* Its number is its own until somebody has asked for its status, and from then on there is nobody to send to. */
bool root_is_same(int fd)
{
	return !fd || syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0) == 0 || errno != ESRCH;
}

static struct gst_file_header read_program(pid_t pid)
{
	struct gst_file_header h;

	memset(&h, 0, sizeof(h));
	process_info_fill(&h, pid);
	return h;
}

static bool is_one_program(const struct gst_file_header *a, const struct gst_file_header *b)
{
	return strcmp(a->exe, b->exe) == 0 && strcmp(a->cmdline, b->cmdline) == 0;
}

/* While it executes a program, its exe may be that one's and its arguments be the old one's, or none yet. */
enum root_program root_program(pid_t pid, struct gst_file_header *h)
{
	const struct gst_file_header own = read_program(0), before = read_program(pid);

	*h = read_program(pid);
	if (!h->exe[0])
		return ROOT_GONE;
	return is_one_program(h, &own) || !is_one_program(h, &before) || !h->cmdline[0] ? ROOT_NOT_YET : ROOT_OTHER;
}
