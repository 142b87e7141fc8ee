/* SPDX-License-Identifier: BSD-2-Clause */
#include "peek.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "apart.h"

struct look {
	void *to;
	const void *from;
	size_t bytes;
	bool seen;
};

/* So few bytes always have room in a pipe, and no reader but us. */
static void look_through_pipe(void *arg)
{
	struct look *l = arg;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return;
	l->seen = write(ends[1], l->from, l->bytes) == (ssize_t)l->bytes &&
		  read(ends[0], l->to, l->bytes) == (ssize_t)l->bytes;
	close(ends[0]);
	close(ends[1]);
}

bool peek(void *to, const void *from, size_t bytes)
{
	struct iovec there = { (void *)(size_t)from, bytes }, here = { to, bytes };
	struct look look = { to, from, bytes, false };
	int saved_errno = errno;

	look.seen = process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)bytes;
	if (!look.seen && (errno == ENOSYS || errno == EPERM || errno == EACCES))
		apart_run(look_through_pipe, &look);
	errno = saved_errno;
	return look.seen;
}
