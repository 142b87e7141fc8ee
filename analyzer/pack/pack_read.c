/* SPDX-License-Identifier: BSD-2-Clause */
#include "pack_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "pack_parts.h"
#include "tools/alloc.h"

enum err_kind pack_no_memory(const struct pack_file *p, struct error *e)
{
	return err_no_memory(e, p->name);
}

enum err_kind pack_get_bytes(const struct pack_file *p, void *to, size_t n, uint64_t at, struct error *e)
{
	int64_t got = reader_file_get(&p->file, to, n, at);

	if (got < 0)
		return err_set(e, ERR_SYSTEM, p->name, at, "cannot read: %s", strerror(errno));
	if ((size_t)got < n)
		return err_set(e, ERR_FORMAT, p->name, at + (uint64_t)got, "the archive ends here, %zu bytes too early",
			       n - (size_t)got);
	return ERR_NONE;
}

/* ---- directory -------------------------------------------------------------------------------------- */

/* Could it be that of a file in a folder, and is it fit to be printed? Anything else is nobody's recording. */
bool pack_name_fits(const char *name, size_t n)
{
	if (n < 5 || n > PACK_NAME_MOST || name[0] == '.' || memcmp(name + n - 4, ".gst", 4) != 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f || name[i] == '/')
			return false;
	return true;
}

static enum err_kind add_member(struct pack_file *p, const uint8_t *bytes, uint64_t left, uint64_t byte, size_t *used,
				struct error *e)
{
	struct pack_part m = { 0 };

	if (left < sizeof(m.entry))
		return err_set(e, ERR_FORMAT, p->name, byte, "the directory ends inside an entry");
	memcpy(&m.entry, bytes, sizeof(m.entry));
	if (m.entry.name > left - sizeof(m.entry) ||
	    !pack_name_fits((const char *)bytes + sizeof(m.entry), m.entry.name))
		return err_set(e, ERR_FORMAT, p->name, byte + offsetof(struct pack_entry, name),
			       "a member's name is none of a recording");
	if (m.entry.length > PACK_LENGTH_MOST || m.entry.step > PACK_STEP_MOST || m.entry.pace > PACK_PACE_MOST ||
	    (m.entry.step && m.entry.step >> 32 == 0) || m.entry.kind > GST_FILE_HOST || m.entry.blocks < 1 ||
	    m.entry.blocks > 1 + GST_SEGMENT_CAPACITY)
		return err_set(e, ERR_FORMAT, p->name, byte, "a member's sizes are none of a recording");
	memcpy(m.name, bytes + sizeof(m.entry), m.entry.name);
	if (p->n && strcmp(p->members[p->n - 1].name, m.name) >= 0)
		return err_set(e, ERR_FORMAT, p->name, byte, "the members' names are not in their order");
	if (!array_room(p->members, p->n, p->cap))
		return pack_no_memory(p, e);
	p->members[p->n++] = m;
	*used = sizeof(m.entry) + m.entry.name;
	return ERR_NONE;
}

static enum err_kind add_members(struct pack_file *p, const uint8_t *bytes, const struct pack_end *end, struct error *e)
{
	enum err_kind kind = ERR_NONE;
	uint64_t at = 0;

	for (uint32_t i = 0; i < end->members && !kind; i++) {
		size_t used = 0;

		kind = add_member(p, bytes + at, end->bytes - at, end->directory + at, &used, e);
		at += used;
	}
	if (!kind && at != end->bytes)
		return err_set(e, ERR_FORMAT, p->name, end->directory + at,
			       "the directory goes on behind its last entry");
	for (size_t i = 0; i < p->n && !kind; i++)
		p->members[i].end = i + 1 < p->n ? p->members[i + 1].entry.begin : end->directory;
	return kind;
}

/* *directory: where it begins. */
static enum err_kind read_directory(struct pack_file *p, uint64_t *directory, struct error *e)
{
	uint64_t end_at = p->file.len - sizeof(struct pack_end);
	struct pack_end end;
	enum err_kind kind;
	uint8_t *bytes;
	uint32_t check;

	if (p->file.len < sizeof(struct pack_header) + sizeof(end))
		return err_set(e, ERR_FORMAT, p->name, p->file.len, "the archive ends before its directory");
	if ((kind = pack_get_bytes(p, &end, sizeof(end), end_at, e)))
		return kind;
	if (end.mark != PACK_END_MARK || end.zero)
		return err_set(e, ERR_FORMAT, p->name, end_at,
			       "the archive has no end: it was cut, or is damaged there");
	if (end.directory < sizeof(struct pack_header) || end.directory > end_at ||
	    end.bytes != end_at - end.directory || end.members > PACK_MEMBERS_MOST ||
	    end.bytes > (uint64_t)end.members * (sizeof(struct pack_entry) + PACK_NAME_MOST))
		return err_set(e, ERR_FORMAT, p->name, end_at,
			       "the directory does not lie where the archive's end says");
	*directory = end.directory;
	bytes = array_new(end.bytes + 1, 1);
	if (!bytes)
		return pack_no_memory(p, e);
	kind = pack_get_bytes(p, bytes, end.bytes, end.directory, e);
	if (!kind) {
		check = (uint32_t)crc32(0, bytes, (uInt)end.bytes);
		check = (uint32_t)crc32(check, (const uint8_t *)&end, offsetof(struct pack_end, check));
		kind = check == end.check ? add_members(p, bytes, &end, e)
					  : err_set(e, ERR_FORMAT, p->name, end.directory,
						    "the directory's check value does not hold");
	}
	free(bytes);
	return kind;
}

/* The blocks of one member end where those of the next begin. */
static enum err_kind check_places(const struct pack_file *p, uint64_t directory, struct error *e)
{
	uint64_t at = sizeof(struct pack_header);

	for (size_t i = 0; i < p->n; i++) {
		if (p->members[i].entry.begin != at || p->members[i].end < at || p->members[i].end > directory)
			return err_set(e, ERR_FORMAT, p->name, at, "no member begins here");
		at = p->members[i].end;
	}
	return at == directory ? ERR_NONE : err_set(e, ERR_FORMAT, p->name, at, "no member begins here");
}

/* ---- opening ---------------------------------------------------------------------------------------- */

static enum err_kind read_header(struct pack_file *p, struct error *e)
{
	struct pack_header h;
	enum err_kind kind = pack_get_bytes(p, &h, sizeof(h), 0, e);

	if (kind)
		return kind;
	if (memcmp(h.magic, PACK_MAGIC, sizeof(h.magic)) != 0)
		return err_set(e, ERR_FORMAT, p->name, 0, "not an archive of recordings");
	if ((uint32_t)crc32(0, (const uint8_t *)&h, offsetof(struct pack_header, check)) != h.check)
		return err_set(e, ERR_FORMAT, p->name, 0, "the archive header's check value does not hold");
	if (h.version != PACK_VERSION && h.version != PACK_VERSION_PLAIN)
		return err_set(e, ERR_FORMAT, p->name, offsetof(struct pack_header, version),
			       "archive version %u, this gpushim reads %u and %u%s", h.version, PACK_VERSION_PLAIN,
			       PACK_VERSION, h.version < PACK_VERSION ? ": pack the recordings anew" : "");
	p->version = h.version;
	return ERR_NONE;
}

static enum err_kind open_parts(struct pack_file *p, struct error *e)
{
	enum err_kind kind = read_header(p, e);
	uint64_t directory = 0;

	if (!kind)
		kind = read_directory(p, &directory, e);
	return kind ? kind : check_places(p, directory, e);
}

static struct pack_file *file_new(const char *name, struct error *e)
{
	struct pack_file *p = calloc(1, sizeof(*p));

	if (!p) {
		err_no_memory(e, name);
		return NULL;
	}
	p->file.fd = -1;
	snprintf(p->name, sizeof(p->name), "%s", name);
	return p;
}

static enum err_kind opened(struct pack_file **out, struct pack_file *p, enum err_kind kind)
{
	if (kind)
		pack_close(p);
	else
		*out = p;
	return kind;
}

enum err_kind pack_open(struct pack_file **out, const char *path, struct error *e)
{
	struct pack_file *p = file_new(path, e);
	struct stat st;
	enum err_kind kind = ERR_NONE;

	*out = NULL;
	if (!p)
		return ERR_SYSTEM;
	p->file.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (p->file.fd < 0 || fstat(p->file.fd, &st) != 0)
		kind = err_cannot_open(e, path);
	else if (!S_ISREG(st.st_mode))
		kind = err_set(e, ERR_FORMAT, path, ERR_NO_BYTE, "not a regular file");
	else
		p->file.len = (uint64_t)st.st_size;
	return opened(out, p, kind ? kind : open_parts(p, e));
}

enum err_kind pack_open_mem(struct pack_file **out, const void *bytes, size_t len, const char *name, struct error *e)
{
	struct pack_file *p = file_new(name, e);

	*out = NULL;
	if (!p)
		return ERR_SYSTEM;
	p->file.bytes = bytes;
	p->file.len = len;
	return opened(out, p, open_parts(p, e));
}

void pack_close(struct pack_file *p)
{
	if (!p)
		return;
	reader_file_close(&p->file);
	free(p->members);
	free(p);
}

bool pack_is(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint8_t magic[8] = { 0 };
	bool is = fd >= 0 && pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
		  memcmp(magic, PACK_MAGIC, sizeof(magic)) == 0;

	if (fd >= 0)
		close(fd);
	return is;
}

size_t pack_members(const struct pack_file *p)
{
	return p->n;
}

struct pack_member pack_member(const struct pack_file *p, size_t i)
{
	const struct pack_part *m = &p->members[i];

	return (struct pack_member){ m->name, m->entry.length, m->entry.kind, m->end - m->entry.begin };
}
