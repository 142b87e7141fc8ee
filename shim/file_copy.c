/* SPDX-License-Identifier: BSD-2-Clause */
#include "file_copy.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "glibc.h"

#define BLOCK_BYTES (64u * 1024u)

static bool is_zero(const uint8_t *p, size_t n)
{
	return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

static int write_all(int fd, const uint8_t *p, size_t n, off_t at)
{
	while (n) {
		ssize_t done = pwrite(fd, p, n, at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done ? errno : EIO;
		p += done;
		at += done;
		n -= (size_t)done;
	}
	return 0;
}

int file_copy(int from, int to)
{
	static uint8_t block[BLOCK_BYTES];
	struct stat st;
	off_t at = 0;
	int rc;

	if (glibc_fstat(from, &st) != 0 || ftruncate(to, st.st_size) != 0)
		return errno;
	while (at < st.st_size) {
		ssize_t n = pread(from, block, sizeof(block), at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? errno : EIO;
		rc = is_zero(block, (size_t)n) ? 0 : write_all(to, block, (size_t)n, at);
		if (rc)
			return rc;
		at += n;
	}
	return fsync(to) == 0 ? 0 : errno;
}
