/* SPDX-License-Identifier: BSD-2-Clause */
#include "import.h"

#include "import_build.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define SNIFFED 4096 /* bytes of the file */
#define UNPACKED 512 /* … and of what it holds, if that is packed */

static const char sqlite_magic[] = "SQLite format 3"; /* the NUL is part of it */

/* ---- which one it is -------------------------------------------------------------------------------------- */

/* The first bytes of what a gzip file holds, whose first members may hold nothing; 0: it is none, or damaged at once. */
static size_t unpack(uint8_t *out, size_t size, uint8_t *packed, size_t n)
{
	z_stream z = { .next_in = packed, .avail_in = (uInt)n, .next_out = out, .avail_out = (uInt)size };

	if (inflateInit2(&z, 16 + MAX_WBITS) != Z_OK)
		return 0;
	while (inflate(&z, Z_SYNC_FLUSH) == Z_STREAM_END && z.avail_out == size && z.avail_in)
		inflateReset(&z);
	inflateEnd(&z);
	return size - z.avail_out;
}

/* An object or an array, which may stand behind a byte order mark and white space. whole: of n bytes that is all there is of it; else, where they
 * are all white, who reads on finds out. */
static bool is_json(const uint8_t *at, size_t n, bool whole)
{
	size_t i = n >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

	while (i < n && (at[i] == ' ' || at[i] == '\t' || at[i] == '\n' || at[i] == '\r'))
		i++;
	return i < n ? at[i] == '{' || at[i] == '[' : !whole;
}

static enum import_format format_of(uint8_t *at, size_t n)
{
	uint8_t unpacked[UNPACKED];
	bool is;

	if (n >= sizeof(sqlite_magic) && memcmp(at, sqlite_magic, sizeof(sqlite_magic)) == 0)
		return IMPORT_NSYS;
	if (n >= 2 && at[0] == 0x1f && at[1] == 0x8b) {
		n = unpack(unpacked, sizeof(unpacked), at, n);
		is = is_json(unpacked, n, n < sizeof(unpacked));
	} else {
		is = is_json(at, n, n < SNIFFED);
	}
	return is ? IMPORT_KINETO : IMPORT_NONE;
}

enum err_kind import_sniff(enum import_format *out, const char *path, struct error *e)
{
	uint8_t bytes[SNIFFED];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), why;
	ssize_t n;

	*out = IMPORT_NONE;
	if (fd < 0)
		return err_cannot_open(e, path);
	n = pread(fd, bytes, sizeof(bytes), 0);
	why = errno;
	close(fd);
	if (n < 0 && why != ESPIPE && why != EAGAIN && why != EISDIR) /* no regular file: nobody's, as readers say */
		return err_set(e, ERR_SYSTEM, path, ERR_NO_BYTE, "cannot read: %s", strerror(why));
	if (n > 0)
		*out = format_of(bytes, (size_t)n);
	return ERR_NONE;
}

/* ---- reading ---------------------------------------------------------------------------------------------- */

static const struct importer {
	enum import_format format;
	const char *tool;
	enum err_kind (*read)(struct import_build *b, const char *path, struct error *damage, struct error *e);
} importers[] = {
	{ IMPORT_KINETO, "kineto", import_kineto },
	{ IMPORT_NSYS, "nsys", import_nsys },
};

#define LARGE (128 << 10) /* bytes */

/* Of a run of such traces what is large is mapped for itself: it grows without a copy, and what a stage frees is the kernel's again. By itself malloc
 * would let that limit grow with what is freed, and a tenth more memory would be in use than anybody asks for. Recordings of our own have larger arrays, which
 * spill.h maps; they would lose a fourteenth of their speed by this. */
static void keep_memory_low(void)
{
	mallopt(M_MMAP_THRESHOLD, LARGE);
}

static enum err_kind read_with(const struct importer *i, struct trace ***out, size_t *n, const char *path,
			       struct error *e)
{
	struct import_build *b = import_build_new(path, i->tool);
	struct error damage = { .kind = ERR_NONE };
	enum err_kind kind;

	if (!b)
		return err_no_memory(e, path);
	keep_memory_low();
	kind = i->read(b, path, &damage, e);
	if (!kind || import_failed(b)) /* which says why */
		kind = import_build_finish(out, n, b, &damage, e);
	import_build_free(b);
	if (kind || *n)
		return kind;
	free(*out);
	*out = NULL;
	if (damage.kind) {
		*e = damage;
		return damage.kind;
	}
	return err_set(e, ERR_FORMAT, path, ERR_NO_BYTE, "nothing in this trace says what a process or a device did");
}

enum err_kind import_open(struct trace ***out, size_t *n, const char *path, enum import_format format, struct error *e)
{
	*out = NULL;
	*n = 0;
	for (size_t i = 0; i < sizeof(importers) / sizeof(importers[0]); i++)
		if (importers[i].format == format)
			return read_with(&importers[i], out, n, path, e);
	return err_set(e, ERR_FORMAT, path, ERR_NO_BYTE, "no trace that can be imported");
}
