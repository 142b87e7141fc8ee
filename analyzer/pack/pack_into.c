/* SPDX-License-Identifier: BSD-2-Clause */
/* pack_into.c: members of an archive as files. */
#include "pack_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pack_parts.h"
#include "tools/spill.h"

#define HOLE 4096 /* as much as this of zeros is left out */

struct into {
	int fd;
	const char *name;
};

static bool all_zero(const uint8_t *bytes, size_t n)
{
	return n == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0);
}

static bool put(int fd, const uint8_t *bytes, size_t n, uint64_t at)
{
	while (n) {
		ssize_t done = pwrite(fd, bytes, n, (off_t)at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return false;
		bytes += done;
		at += (uint64_t)done;
		n -= (size_t)done;
	}
	return true;
}

static bool take_into(void *to, const uint8_t *bytes, size_t n, uint64_t at, struct error *e)
{
	const struct into *f = to;

	for (size_t i = 0; i < n;) {
		size_t m = n - i < HOLE ? n - i : HOLE;

		if (!all_zero(bytes + i, m) && !put(f->fd, bytes + i, m, at + i)) {
			err_set(e, ERR_SYSTEM, f->name, ERR_NO_BYTE, "cannot write: %s", strerror(errno));
			return false;
		}
		i += m;
	}
	return true;
}

enum err_kind pack_unpack_file(struct pack_file *p, size_t i, int fd, const char *name, struct error *e)
{
	struct into f = { fd, name };

	if (ftruncate(fd, (off_t)p->members[i].entry.length) != 0)
		return err_set(e, ERR_SYSTEM, name, ERR_NO_BYTE, "cannot write: %s", strerror(errno));
	return pack_unpack(p, i, take_into, &f, e);
}

/* Splits ARCHIVE/MEMBER; false: it is not of that form, or there is no such archive. */
static bool split(const char *path, char **archive, const char **member)
{
	const char *slash = strrchr(path, '/');

	if (!slash || slash == path || !slash[1])
		return false;
	*archive = strndup(path, (size_t)(slash - path));
	*member = slash + 1;
	if (*archive && pack_is(*archive))
		return true;
	free(*archive);
	return false;
}

static int open_member(struct pack_file *p, const char *member, const char *path, struct error *e)
{
	for (size_t i = 0; i < p->n; i++) {
		int fd;

		if (strcmp(p->members[i].name, member) != 0)
			continue;
		fd = spill_file();
		if (fd < 0)
			err_set(e, ERR_SYSTEM, path, ERR_NO_BYTE, "no room to unpack in: %s", strerror(errno));
		else if (pack_unpack_file(p, i, fd, path, e) == ERR_NONE)
			return fd;
		if (fd >= 0)
			close(fd);
		return -1;
	}
	err_set(e, ERR_FORMAT, p->name, ERR_NO_BYTE, "has no recording of that name");
	return -1;
}

int pack_open_path(const char *path, struct error *e)
{
	struct pack_file *p;
	const char *member;
	char *archive;
	int fd = -1;

	*e = (struct error){ .kind = ERR_NONE, .byte = ERR_NO_BYTE };
	if (!split(path, &archive, &member))
		return -1;
	if (pack_open(&p, archive, e) == ERR_NONE) {
		fd = open_member(p, member, path, e);
		pack_close(p);
	}
	free(archive);
	return fd;
}
