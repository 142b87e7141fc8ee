/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbols_file.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "tools/text.h"

#define SYSTEM_DEBUG "/usr/lib/debug"

/* Files only: what a trace names may be a device or a pipe by now, and to open one has effects (a watchdog is armed by it). So it is looked at
 * before it is opened. */
static int open_file(const char *path, struct stat *st)
{
	int place = open(path, O_PATH | O_CLOEXEC), fd = -1, why;
	char itself[64];

	if (place < 0)
		return -1;
	snprintf(itself, sizeof(itself), "/proc/self/fd/%d", place);
	errno = EINVAL;
	if (fstat(place, st) == 0 && S_ISREG(st->st_mode))
		fd = open(itself, O_RDONLY | O_CLOEXEC);
	why = errno == ENOENT ? EINVAL : errno; /* the file is there */
	close(place);
	errno = why;
	return fd;
}

enum match { MATCH_NOT_ELF, MATCH_OTHER, MATCH_NO_ID, MATCH_SAME };

static enum match match_build_id(int fd, const struct symbol_object *o)
{
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	enum match match = MATCH_NOT_ELF;
	const void *id = NULL;
	ssize_t n;

	if (elf && elf_kind(elf) == ELF_K_ELF) {
		n = dwelf_elf_gnu_build_id(elf, &id);
		if (n > SYMBOLS_BUILD_ID)
			n = SYMBOLS_BUILD_ID; /* recorded ones are cut as well */
		match = n <= 0 ? MATCH_NO_ID : MATCH_OTHER;
		if (n > 0 && (size_t)n == o->n_build_id && memcmp(id, o->build_id, (size_t)n) == 0)
			match = MATCH_SAME;
	}
	elf_end(elf);
	return match;
}

/* FOLDER/.build-id/ab/cdef<suffix> */
static char *build_id_path(const char *folder, const struct symbol_object *o, const char *suffix)
{
	char hex[SYMBOLS_HEX], *path = NULL;

	symbols_hex(hex, o);
	if (o->n_build_id < 2 || asprintf(&path, "%s/.build-id/%.2s/%s%s", folder, hex, hex + 2, suffix) < 0)
		return NULL;
	return path;
}

/* Takes the path over. */
static int open_same(char *path, const struct symbol_object *o, char **found)
{
	struct stat st;
	int fd = path ? open_file(path, &st) : -1;

	if (fd >= 0 && match_build_id(fd, o) == MATCH_SAME) {
		*found = path;
		return fd;
	}
	if (fd >= 0)
		close(fd);
	free(path);
	return -1;
}

static int open_by_build_id(const struct symbol_object *o, const struct symbol_options *options, const char *suffix,
			    char **found)
{
	const char *const folders[] = { options->folder, SYSTEM_DEBUG };
	int fd = -1;

	for (size_t i = 0; i < 2 && fd < 0; i++)
		if (folders[i])
			fd = open_same(build_id_path(folders[i], o, suffix), o, found);
	return fd;
}

/* ---- the object ---- */

static enum symbols_state state_of(int fd, const struct stat *st, const struct symbol_object *o)
{
	uint64_t written_ns = (uint64_t)st->st_mtim.tv_sec * 1000000000 + (uint64_t)st->st_mtim.tv_nsec;
	enum match match = match_build_id(fd, o);

	if (match == MATCH_NOT_ELF)
		return SYMBOLS_UNREADABLE;
	if (match == MATCH_SAME)
		return SYMBOLS_FOUND;
	if (match == MATCH_OTHER || o->n_build_id)
		return SYMBOLS_CHANGED;
	if (!o->file_bytes || !o->file_mtime_ns)
		return SYMBOLS_UNSURE;
	return o->file_bytes == (uint64_t)st->st_size && o->file_mtime_ns == written_ns ? SYMBOLS_FOUND
											: SYMBOLS_CHANGED;
}

int symbols_open_object(struct symbol_object *o, const struct symbol_options *options, char **path)
{
	struct stat st;
	int fd = o->path[0] == '/' ? open_file(o->path, &st) : -1;

	*path = NULL;
	if (fd >= 0)
		o->state = state_of(fd, &st, o);
	else
		o->state =
			o->path[0] == '/' && errno != ENOENT && errno != ENOTDIR ? SYMBOLS_UNREADABLE : SYMBOLS_MISSING;
	if (fd >= 0 && o->state == SYMBOLS_FOUND && (*path = strdup(o->path)))
		return fd;
	if (fd >= 0)
		close(fd);
	/* The same object elsewhere, or its debug file, which holds the symbols as well. */
	fd = open_by_build_id(o, options, "", path);
	if (fd < 0)
		fd = open_by_build_id(o, options, ".debug", path);
	if (fd >= 0)
		o->state = SYMBOLS_FOUND;
	return fd;
}

/* ---- its debug file ---- */

/* The sum that .gnu_debuglink bears; the only tie where there is no build-id. */
static bool has_crc(int fd, uint32_t wanted)
{
	static unsigned char buf[1 << 16];
	uLong crc = crc32(0, NULL, 0);
	ssize_t n;

	for (off_t at = 0; (n = pread(fd, buf, sizeof(buf), at)) > 0; at += n)
		crc = crc32(crc, buf, (uInt)n);
	return n == 0 && crc == wanted;
}

static int open_link(char *path, const struct symbol_object *o, uint32_t crc, char **found)
{
	struct stat st;
	int fd;

	if (o->n_build_id)
		return open_same(path, o, found);
	fd = path ? open_file(path, &st) : -1;
	if (fd >= 0 && has_crc(fd, crc)) {
		*found = path;
		return fd;
	}
	if (fd >= 0)
		close(fd);
	free(path);
	return -1;
}

static int open_by_link(const struct symbol_object *o, const struct symbol_options *options, const char *object,
			const char *link, uint32_t crc, char **found)
{
	int folder = (int)(text_base(object) - object), fd = -1;

	if (strchr(link, '/') || !*link)
		return -1;
	for (int i = 0; i < 4 && fd < 0; i++) {
		char *path = NULL;
		int n = i == 0            ? asprintf(&path, "%.*s%s", folder, object, link)
			: i == 1          ? asprintf(&path, "%.*s.debug/%s", folder, object, link)
			: i == 2          ? asprintf(&path, SYSTEM_DEBUG "%.*s%s", folder, object, link)
			: options->folder ? asprintf(&path, "%s/%s", options->folder, link)
					  : -1;

		if (n >= 0)
			fd = open_link(path, o, crc, found);
	}
	return fd;
}

/* By elfutils' own program, where it is installed; the user asked for it. It prints the path of what it fetched. */
static int open_by_server(const struct symbol_object *o, char **found)
{
	char command[64 + SYMBOLS_HEX], hex[SYMBOLS_HEX], *path = NULL;
	size_t cap = 0;
	ssize_t n;
	FILE *out;

	snprintf(command, sizeof(command), "debuginfod-find debuginfo %s 2>/dev/null", symbols_hex(hex, o));
	out = popen(command, "re");
	if (!out)
		return -1;
	n = getline(&path, &cap, out);
	pclose(out);
	if (n > 0 && path[n - 1] == '\n')
		path[n - 1] = 0;
	if (n > 1)
		return open_same(path, o, found);
	free(path);
	return -1;
}

int symbols_open_debug(const struct symbol_object *o, const struct symbol_options *options, const char *path,
		       const char *link, uint32_t crc, char **debug_path)
{
	int fd = open_by_build_id(o, options, ".debug", debug_path);

	if (fd < 0 && link)
		fd = open_by_link(o, options, path, link, crc, debug_path);
	if (fd < 0 && options->debuginfod && o->n_build_id)
		fd = open_by_server(o, debug_path);
	return fd;
}
