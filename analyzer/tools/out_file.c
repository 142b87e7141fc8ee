/* SPDX-License-Identifier: BSD-2-Clause */
#include "out_file.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

struct out_file {
	int fd;
	int trouble; /* errno of the first write that failed; 0 none */
};

static ssize_t write_all(void *cookie, const char *bytes, size_t n)
{
	struct out_file *f = cookie;

	for (size_t done = 0; done < n && !f->trouble;) {
		ssize_t now = write(f->fd, bytes + done, n - done);

		if (now >= 0)
			done += (size_t)now;
		else if (errno != EINTR)
			f->trouble = errno;
	}
	errno = f->trouble ? f->trouble : errno;
	return f->trouble ? 0 : (ssize_t)n; /* fopencookie: never -1 */
}

static int finish(void *cookie)
{
	struct out_file *f = cookie;
	int trouble = close(f->fd) != 0 ? errno : 0;

	trouble = f->trouble ? f->trouble : trouble;
	free(f);
	errno = trouble ? trouble : errno;
	return trouble ? EOF : 0;
}

FILE *out_file_open(int fd)
{
	const cookie_io_functions_t calls = { .write = write_all, .close = finish };
	struct out_file *f = malloc(sizeof(*f));
	FILE *out;

	if (!f)
		return NULL;
	*f = (struct out_file){ fd, 0 };
	out = fopencookie(f, "w", calls);
	if (!out)
		free(f);
	return out;
}
