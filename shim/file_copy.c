/* SPDX-License-Identifier: BSD-2-Clause */
#include "file_copy.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "glibc.h"

#define CHUNK_BYTES (1u << 20) /* as few requests as may be: each may take a while */
#define BLOCK_BYTES (1u << 16)

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

/* What is not zero of a chunk, each run of blocks at once. */
static int write_chunk(int fd, const uint8_t *p, size_t n, off_t at)
{
	size_t begin = 0, end;
	int rc = 0;

	while (begin < n && !rc) {
		for (end = begin; end < n; end += BLOCK_BYTES) {
			size_t block = n - end < BLOCK_BYTES ? n - end : BLOCK_BYTES;

			if (is_zero(p + end, block))
				break;
		}
		end = end < n ? end : n;
		rc = write_all(fd, p + begin, end - begin, at + (off_t)begin);
		begin = end < n ? end + BLOCK_BYTES : n;
	}
	return rc;
}

int file_copy(int from, int to)
{
	static uint8_t chunk[CHUNK_BYTES];
	struct stat st;
	off_t at = 0;
	int rc;

	if (glibc_fstat(from, &st) != 0 || ftruncate(to, st.st_size) != 0)
		return errno;
	while (at < st.st_size) {
		ssize_t n = pread(from, chunk, sizeof(chunk), at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? errno : EIO;
		rc = write_chunk(to, chunk, (size_t)n, at);
		if (rc)
			return rc;
		at += n;
	}
	return fsync(to) == 0 ? 0 : errno;
}
