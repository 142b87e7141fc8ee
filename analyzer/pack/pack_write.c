/* SPDX-License-Identifier: BSD-2-Clause */
#include "pack_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "pack_format.h"
#include "pack_front.h"
#include "pack_model.h"
#include "pack_parts.h"
#include "read/reader_file.h"
#include "tools/alloc.h"
#include "tools/pool.h"
#include "tools/progress.h"

struct member {
	struct pack_entry entry;
	char *name;
};

/* What packs a block. */
struct worker {
	struct pack_model model;
	uint8_t *bytes; /* [PACK_BLOCK_BYTES] of the recording */
	size_t n;
	struct pack_column whole; /* its columns */
	struct pack_column packed;
};

struct pack_writer {
	FILE *out;
	struct member *members;
	size_t n, cap;
	uint64_t read, written;
};

/* One recording on its way. */
struct packing {
	struct pack_writer *w;
	const char *path;
	struct reader_file file;
	struct pack_entry entry;
	struct worker workers[PACK_WORKERS];
	unsigned n_workers;
};

static enum err_kind no_memory(const struct packing *k, struct error *e)
{
	return err_set(e, ERR_SYSTEM, k->path, ERR_NO_BYTE, "out of memory");
}

static void put(struct pack_writer *w, const void *bytes, size_t n)
{
	if (n && !ferror(w->out))
		w->written += fwrite(bytes, 1, n, w->out);
}

/* ---- workers ---------------------------------------------------------------------------------------- */

static bool workers_new(struct packing *k)
{
	struct pack_clock clock = { k->entry.step, k->entry.pace };
	uint64_t blocks = k->file.len / PACK_BLOCK_BYTES + 1;
	unsigned n = pool_threads() < PACK_WORKERS ? pool_threads() : PACK_WORKERS;

	for (; k->n_workers < n && k->n_workers < blocks; k->n_workers++) {
		struct worker *w = &k->workers[k->n_workers];

		w->bytes = array_new(PACK_BLOCK_BYTES, 1);
		if (!w->bytes)
			return false;
		if (!pack_model_new(&w->model, k->entry.kind, clock)) {
			free(w->bytes);
			return false;
		}
	}
	return true;
}

static void workers_free(struct packing *k)
{
	for (unsigned i = 0; i < k->n_workers; i++) {
		pack_model_free(&k->workers[i].model);
		free(k->workers[i].bytes);
		free(k->workers[i].whole.bytes);
		free(k->workers[i].packed.bytes);
	}
}

/* ---- blocks ----------------------------------------------------------------------------------------- */

/* zstd's frame of n bytes. */
static bool pack_bytes(struct pack_column *packed, const uint8_t *bytes, size_t n)
{
	size_t room = ZSTD_compressBound(n);

	packed->n = 0;
	if (room > packed->cap) {
		free(packed->bytes);
		packed->bytes = array_new(room, 1);
		packed->cap = packed->bytes ? room : 0;
		if (!packed->bytes)
			return false;
	}
	if (n)
		packed->n = ZSTD_compress(packed->bytes, room, bytes, n, PACK_LEVEL);
	return !ZSTD_isError(packed->n); /* there is room for any result: it had no memory */
}

static void put_block(struct packing *k, uint32_t segments, size_t plain, const struct pack_column *packed,
		      const struct pack_column *bits)
{
	struct pack_block b = { .mark = PACK_BLOCK_MARK,
				.member = (uint32_t)k->w->n,
				.number = k->entry.blocks++,
				.segments = segments,
				.plain = (uint32_t)plain,
				.packed = (uint32_t)packed->n,
				.bits = (uint32_t)bits->n };

	b.check = (uint32_t)crc32(0, (const uint8_t *)&b, offsetof(struct pack_block, check));
	if (packed->n) /* zlib begins anew where it is handed nothing */
		b.check = (uint32_t)crc32(b.check, packed->bytes, (uInt)packed->n);
	if (bits->n)
		b.check = (uint32_t)crc32(b.check, bits->bytes, (uInt)bits->n);
	put(k->w, &b, sizeof(b));
	put(k->w, packed->bytes, packed->n);
	put(k->w, bits->bytes, bits->n);
}

/* n bytes at `at`, which the file had when it was opened. */
static enum err_kind take(struct packing *k, struct worker *w, size_t n, uint64_t at, struct error *e)
{
	int64_t got = reader_file_get(&k->file, w->bytes, n, at);

	if (got < 0)
		return err_set(e, ERR_SYSTEM, k->path, at, "cannot read: %s", strerror(errno));
	if ((size_t)got < n)
		return err_set(e, ERR_FORMAT, k->path, at + (uint64_t)got,
			       "the file became shorter while it was packed");
	k->entry.content = (uint32_t)crc32(k->entry.content, w->bytes, (uInt)n);
	w->n = n;
	k->w->read += n;
	progress_add(n);
	return ERR_NONE;
}

static enum err_kind put_front(struct packing *k, struct error *e)
{
	size_t n = k->file.len < GST_SEGMENTS_OFFSET ? (size_t)k->file.len : GST_SEGMENTS_OFFSET;
	const struct pack_column none = { 0 };
	struct worker *w = &k->workers[0];
	enum err_kind kind = take(k, w, n, 0, e);

	_Static_assert(GST_SEGMENTS_OFFSET <= PACK_BLOCK_BYTES, "room for both");
	if (kind)
		return kind;
	pack_front_exchange(w->bytes, n);
	if (!pack_bytes(&w->packed, w->bytes, n))
		return no_memory(k, e);
	put_block(k, 0, n, &w->packed, &none);
	return ERR_NONE;
}

static enum err_kind pack_segments(void *job, size_t i, struct error *e)
{
	struct packing *k = job;
	struct worker *w = &k->workers[i];

	pack_columns_pack(&w->model.columns);
	pack_model_begin(&w->model);
	for (size_t at = 0; at < w->n; at += GST_SEGMENT_BYTES) {
		uint32_t room = w->n - at < GST_SEGMENT_BYTES ? (uint32_t)(w->n - at) : GST_SEGMENT_BYTES;

		if (!pack_model_segment(&w->model, w->bytes + at, room))
			return no_memory(k, e);
	}
	if (!pack_columns_join(&w->model.columns, &w->whole) || !pack_bytes(&w->packed, w->whole.bytes, w->whole.n))
		return no_memory(k, e);
	return ERR_NONE;
}

/* As many blocks from `at` as there are workers. */
static enum err_kind put_blocks(struct packing *k, uint64_t *at, struct error *e)
{
	enum err_kind kind = ERR_NONE;
	size_t n = 0;

	for (; n < k->n_workers && *at < k->file.len && !kind; n++) {
		uint64_t left = k->file.len - *at;

		kind = take(k, &k->workers[n], left < PACK_BLOCK_BYTES ? (size_t)left : PACK_BLOCK_BYTES, *at, e);
		*at += k->workers[n].n;
	}
	if (!kind)
		kind = pool_run(n, pack_segments, k, e);
	for (size_t i = 0; i < n && !kind; i++) {
		const struct worker *w = &k->workers[i];
		uint32_t segments = (uint32_t)((w->n + GST_SEGMENT_BYTES - 1) / GST_SEGMENT_BYTES);

		put_block(k, segments, w->whole.n, &w->packed, &w->model.columns.bits);
	}
	return kind;
}

/* ---- one recording ---------------------------------------------------------------------------------- */

static enum err_kind open_recording(struct packing *k, struct gst_file_header *h, struct stat *st, struct error *e)
{
	int64_t got;

	k->file.fd = open(k->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (k->file.fd < 0 && errno == ENOTDIR) {
		k->file.fd = pack_open_path(k->path, e);
		if (k->file.fd < 0 && e->kind)
			return e->kind;
	}
	if (k->file.fd < 0 || fstat(k->file.fd, st) != 0)
		return err_set(e, ERR_SYSTEM, k->path, ERR_NO_BYTE, "cannot open: %s", strerror(errno));
	if (!S_ISREG(st->st_mode))
		return err_set(e, ERR_FORMAT, k->path, ERR_NO_BYTE, "not a regular file");
	k->file.len = (uint64_t)st->st_size;
	if (k->file.len > PACK_LENGTH_MOST)
		return err_set(e, ERR_FORMAT, k->path, PACK_LENGTH_MOST, "longer than a recording can be");
	got = reader_file_get(&k->file, h, sizeof(*h), 0);
	if (got < (int64_t)sizeof(*h) || memcmp(h->magic, GST_MAGIC, sizeof(h->magic)) != 0)
		return err_set(e, ERR_FORMAT, k->path, 0, "not a gpushim trace");
	return ERR_NONE;
}

static enum err_kind pack_recording(struct packing *k, struct error *e)
{
	struct gst_file_header h;
	struct stat before, after;
	uint64_t at = GST_SEGMENTS_OFFSET;
	enum err_kind kind = open_recording(k, &h, &before, e);
	struct pack_clock clock;

	if (kind)
		return kind;
	k->entry.begin = k->w->written;
	k->entry.length = k->file.len;
	k->entry.kind = h.kind == GST_FILE_HOST ? GST_FILE_HOST : GST_FILE_PROCESS;
	if (!pack_clock_find(&clock, &k->file))
		return no_memory(k, e);
	k->entry.step = clock.step;
	k->entry.pace = clock.pace;
	if (!workers_new(k))
		return no_memory(k, e);
	kind = put_front(k, e);
	while (!kind && at < k->file.len && !ferror(k->w->out))
		kind = put_blocks(k, &at, e);
	if (!kind && (fstat(k->file.fd, &after) != 0 || after.st_size != before.st_size ||
		      after.st_mtim.tv_sec != before.st_mtim.tv_sec || after.st_mtim.tv_nsec != before.st_mtim.tv_nsec))
		kind = err_set(e, ERR_FORMAT, k->path, ERR_NO_BYTE, "the file changed while it was packed");
	return kind;
}

enum err_kind pack_write(struct pack_writer *w, const char *path, const char *name, struct error *e)
{
	struct packing k = { .w = w, .path = path, .file = { .fd = -1 } };
	enum err_kind kind;

	if (!array_room(w->members, w->n, w->cap))
		return no_memory(&k, e);
	kind = pack_recording(&k, e);
	reader_file_close(&k.file);
	workers_free(&k);
	if (kind)
		return kind;
	k.entry.name = (uint32_t)strlen(name);
	w->members[w->n] = (struct member){ k.entry, strdup(name) };
	if (!w->members[w->n].name)
		return no_memory(&k, e);
	w->n++;
	return ERR_NONE;
}

/* ---- the archive ------------------------------------------------------------------------------------ */

struct pack_writer *pack_writer_new(FILE *out)
{
	struct pack_writer *w = calloc(1, sizeof(*w));
	struct pack_header h = { .version = PACK_VERSION };

	if (!w)
		return NULL;
	w->out = out;
	memcpy(h.magic, PACK_MAGIC, sizeof(h.magic));
	h.check = (uint32_t)crc32(0, (const uint8_t *)&h, offsetof(struct pack_header, check));
	put(w, &h, sizeof(h));
	return w;
}

enum err_kind pack_write_end(struct pack_writer *w, struct error *e)
{
	struct pack_end end = { .directory = w->written, .members = (uint32_t)w->n, .mark = PACK_END_MARK };

	if (w->n > PACK_MEMBERS_MOST)
		return err_set(e, ERR_USAGE, NULL, ERR_NO_BYTE, "more than %u recordings", PACK_MEMBERS_MOST);
	for (size_t i = 0; i < w->n; i++) {
		const struct member *m = &w->members[i];

		end.check = (uint32_t)crc32(end.check, (const uint8_t *)&m->entry, sizeof(m->entry));
		end.check = (uint32_t)crc32(end.check, (const uint8_t *)m->name, m->entry.name);
		put(w, &m->entry, sizeof(m->entry));
		put(w, m->name, m->entry.name);
	}
	end.bytes = w->written - end.directory;
	end.check = (uint32_t)crc32(end.check, (const uint8_t *)&end, offsetof(struct pack_end, check));
	put(w, &end, sizeof(end));
	return ERR_NONE;
}

struct pack_written pack_written(const struct pack_writer *w)
{
	return (struct pack_written){ w->n, w->read, w->written };
}

void pack_writer_free(struct pack_writer *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->n; i++)
		free(w->members[i].name);
	free(w->members);
	free(w);
}
