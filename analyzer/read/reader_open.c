/* SPDX-License-Identifier: BSD-2-Clause */
#include "reader_state.h"

#include "pack/pack_read.h"
#include "segment_order.h"
#include "tools/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define HEADER_TRIES 3

void reader_damage_set(struct reader *r, uint64_t cut_ticks, uint64_t byte, const char *format, ...)
{
	char fact[sizeof(r->damage.error.text)];
	va_list args;

	if (r->damaged && r->damage.cut_ticks <= cut_ticks)
		return;
	va_start(args, format);
	vsnprintf(fact, sizeof(fact), format, args);
	va_end(args);
	err_set(&r->damage.error, ERR_FORMAT, r->name, byte, "%s", fact);
	r->damage.cut_ticks = cut_ticks;
	r->damaged = true;
}

static enum err_kind no_memory(const struct reader *r, struct error *e)
{
	return err_set(e, ERR_SYSTEM, r->name, ERR_NO_BYTE, "out of memory");
}

/* ---- header ---------------------------------------------------------------------------------------- */

static bool check_holds(const struct gst_file_header *h)
{
	return gst_hash32(h, sizeof(*h), offsetof(struct gst_file_header, check)) == h->check;
}

/* That of host probes is written once more, when the root has become the program to be run: half of each may be read. */
static int64_t read_header(struct reader *r)
{
	const struct timespec moment = { 0, 1000000 };
	struct gst_file_header *h = &r->header;
	int64_t got = reader_file_get(&r->file, h, sizeof(*h), 0);

	for (int i = 0; i < HEADER_TRIES && !r->file.bytes && got == (int64_t)sizeof(*h) && h->kind == GST_FILE_HOST &&
			!check_holds(h);
	     i++) {
		nanosleep(&moment, NULL);
		got = reader_file_get(&r->file, h, sizeof(*h), 0);
	}
	return got;
}

enum err_kind reader_check_header(struct reader *r, struct error *e)
{
	struct gst_file_header *h = &r->header;
	int64_t got = read_header(r);

	if (got < 0)
		return err_set(e, ERR_SYSTEM, r->name, 0, "cannot read: %s", strerror(errno));
	if (got < (int64_t)sizeof(h->magic) || memcmp(h->magic, GST_MAGIC, sizeof(h->magic)) != 0)
		return err_set(e, ERR_FORMAT, r->name, 0, "not a gpushim trace");
	if (got < (int64_t)sizeof(*h))
		return err_set(e, ERR_FORMAT, r->name, (uint64_t)got, "the file ends inside its header");
	if (!check_holds(h))
		return err_set(e, ERR_FORMAT, r->name, 0, "the file header's check value does not hold");
	if (h->version != GST_VERSION && h->version != GST_VERSION_RECYCLED)
		return err_set(e, ERR_FORMAT, r->name, offsetof(struct gst_file_header, version),
			       "format version %u, this gpushim reads %u and %u", h->version, GST_VERSION,
			       GST_VERSION_RECYCLED);
	if (h->segment_bytes != GST_SEGMENT_BYTES || h->segment_capacity != GST_SEGMENT_CAPACITY)
		return err_set(e, ERR_FORMAT, r->name, offsetof(struct gst_file_header, segment_bytes),
			       "segments of %llu bytes, room for %u", (unsigned long long)h->segment_bytes,
			       h->segment_capacity);
	/* texts end inside their fields whatever the writer did */
	h->run_id[sizeof(h->run_id) - 1] = h->host[sizeof(h->host) - 1] = h->shim[sizeof(h->shim) - 1] = '\0';
	h->exe[sizeof(h->exe) - 1] = h->cmdline[sizeof(h->cmdline) - 1] = '\0';
	return ERR_NONE;
}

/* ---- segments --------------------------------------------------------------------------------------- */

static uint64_t segment_at(uint32_t index)
{
	return GST_SEGMENTS_OFFSET + (uint64_t)GST_SEGMENT_BYTES * index;
}

static bool segment_header_holds(const struct gst_segment_header *s, uint32_t index)
{
	return s->magic == GST_SEGMENT_MAGIC && s->index == index &&
	       gst_hash32(s, sizeof(*s), offsetof(struct gst_segment_header, check)) == s->check;
}

bool reader_is_gone(const struct reader *r, const struct gst_segment_header *then, const void *now)
{
	struct gst_segment_header again;
	uint32_t entry = 0;

	if (memcmp(then, now, sizeof(*then)) != 0)
		return true;
	if (r->file.bytes || !r->live)
		return false;
	/* what was read before this header was read again is the segment's, if that is still the same */
	return reader_file_get(&r->file, &again, sizeof(again), segment_at(then->index)) != (int64_t)sizeof(again) ||
	       memcmp(then, &again, sizeof(again)) != 0 ||
	       reader_file_get(&r->file, &entry, sizeof(entry), GST_DIRECTORY_OFFSET + 4ull * then->index) !=
		       (int64_t)sizeof(entry) ||
	       entry != gst_directory_check(then->index);
}

/* Of a segment whose header does not hold: was it given up since its directory entry was read? Then that is not there any more; or it is again, as
 * somebody has begun to use the segment, whose header was half written when it was read. */
static bool given_up_since(const struct reader *r, uint32_t index, uint32_t entry,
			   const struct gst_segment_header *read)
{
	struct gst_segment_header again;
	uint32_t now = entry;

	if (!r->live || r->file.bytes)
		return false;
	return reader_file_get(&r->file, &now, sizeof(now), GST_DIRECTORY_OFFSET + 4ull * index) !=
		       (int64_t)sizeof(now) ||
	       now != entry ||
	       reader_file_get(&r->file, &again, sizeof(again), segment_at(index)) != (int64_t)sizeof(again) ||
	       memcmp(&again, read, sizeof(again)) != 0;
}

static bool is_kept(const struct gst_segment_header *s)
{
	return s->flags & GST_SEGMENT_KEPT;
}

/* Where segments were given up, the order of places says nothing of the order of time, but for places used once. */
static void bound_missing(struct reader *r, const struct gst_segment_header *s)
{
	if (r->header.version == GST_VERSION || s->recycles == 0)
		r->whole_ticks = s->begin_ticks;
}

/* One directory entry that is in use. A segment that cannot be read at all cuts the analysis at the one before it. False: no memory. */
static bool add_segment(struct reader *r, uint32_t index, uint32_t entry, bool kept)
{
	uint64_t entry_at = GST_DIRECTORY_OFFSET + 4ull * index, begin = segment_at(index);
	struct gst_segment_header s;
	int64_t got;

	if (entry != gst_directory_check(index)) {
		if (!kept)
			reader_damage_set(r, r->whole_ticks, entry_at, "directory entry %u is 0x%08x, not 0x%08x",
					  index, entry, gst_directory_check(index));
		return true;
	}
	got = reader_file_get(&r->file, &s, sizeof(s), begin);
	if (got == (int64_t)sizeof(s) && segment_header_holds(&s, index)) {
		bound_missing(r, &s);
		r->has_kept |= is_kept(&s);
		if (is_kept(&s) != kept)
			return true;
		if (!array_room(r->segments, r->n_segments, r->cap_segments))
			return false;
		r->segments[r->n_segments++] = (struct segment){ .header = s };
	} else if (!kept && got == (int64_t)sizeof(s) && !given_up_since(r, index, entry, &s)) {
		reader_damage_set(r, r->whole_ticks, begin, "the check value of segment %u's header does not hold",
				  index);
		return true;
	} else if (got == (int64_t)sizeof(s) || kept) {
		return true; /* given up since */
	}
	/* a kept one may be younger than the length that was read */
	if (!(kept && r->live) && begin + GST_SEGMENT_BYTES > r->file.len) {
		bool headless = got != (int64_t)sizeof(s);

		/* What is left of it is read; only then is it known how much that is. */
		reader_damage_set(r, headless ? r->whole_ticks : UINT64_MAX, r->file.len,
				  "segment %u reaches to byte %llu, the file ends before it", index,
				  (unsigned long long)(begin + GST_SEGMENT_BYTES));
	}
	return true;
}

static int by_begin(const void *a, const void *b)
{
	const struct segment *x = a, *y = b;

	if (x->header.begin_ticks != y->header.begin_ticks)
		return x->header.begin_ticks < y->header.begin_ticks ? -1 : 1;
	return (x->header.index > y->header.index) - (x->header.index < y->header.index);
}

static bool index_before(const void *element, const void *key)
{
	return ((const struct segment *)element)->header.index < *(const uint32_t *)key;
}

/* The segment of this thread before this one; NULL where it was given up, or there is none. segments: by index. */
static struct segment *continued(struct segment *segments, size_t n, const struct gst_segment_header *s)
{
	size_t at = array_first(segments, n, sizeof(*segments), index_before, &s->previous);

	return at < n && segments[at].header.index == s->previous &&
			       segments[at].header.recycles == s->previous_recycles
		       ? &segments[at]
		       : NULL;
}

static bool order_segments(struct reader *r)
{
	size_t n = r->n_segments;
	uint32_t *order = array_new(n, sizeof(*order)), *previous = array_new(n, sizeof(*previous));
	struct segment *ordered = array_new(n, sizeof(*ordered));
	bool ok = order && previous && ordered;

	for (size_t i = 0; ok && i < n; i++)
		r->segments[i].open = true;
	for (size_t i = 0; ok && i < n; i++) {
		struct segment *before = continued(r->segments, n, &r->segments[i].header);

		order[i] = r->segments[i].header.index;
		previous[i] = before ? before->header.index : GST_NONE;
		if (before)
			before->open = false;
	}
	ok = ok && segment_order(order, previous, n);
	for (size_t i = 0; ok && i < n; i++)
		ordered[i] = r->segments[array_first(r->segments, n, sizeof(*r->segments), index_before, &order[i])];
	free(order);
	free(previous);
	if (!ok) {
		free(ordered);
		return false;
	}
	free(r->segments);
	r->segments = ordered;
	r->cap_segments = n ? n : 1;
	return true;
}

/* Entries that the file holds; NULL without memory. */
static uint32_t *read_directory(const struct reader *r, size_t *entries)
{
	uint32_t *directory = array_new(GST_SEGMENT_CAPACITY, 4);
	int64_t got =
		directory ? reader_file_get(&r->file, directory, 4 * GST_SEGMENT_CAPACITY, GST_DIRECTORY_OFFSET) : 0;

	*entries = got > 0 ? (size_t)got / 4 : 0;
	return directory;
}

static bool add_segments(struct reader *r, const uint32_t *directory, size_t entries, bool kept)
{
	for (size_t i = 0; i < entries; i++)
		if (directory[i] && !add_segment(r, (uint32_t)i, directory[i], kept))
			return false;
	return true;
}

bool reader_find_kept(struct reader *r)
{
	size_t entries;
	uint32_t *directory;
	bool ok;

	r->kept_found = true;
	if (!r->live && !r->has_kept)
		return true; /* there were none when it was opened */
	directory = read_directory(r, &entries);
	ok = directory && add_segments(r, directory, entries, true);
	free(directory);
	if (ok && r->n_segments > r->n_own)
		ok = (r->place = array_new(GST_SEGMENT_CAPACITY, sizeof(*r->place)));
	if (!ok)
		return false;
	for (size_t i = 0; i < r->n_own && r->place; i++)
		r->place[r->segments[i].header.index] = (uint32_t)i + 1;
	array_sort(r->segments + r->n_own, r->n_segments - r->n_own, sizeof(*r->segments), by_begin);
	for (size_t i = r->n_own; i < r->n_segments; i++)
		r->segments[i].open = true;
	return true;
}

/* ---- opening --------------------------------------------------------------------------------------- */

/* The directory is read before the file's length is, so that a live file never looks truncated; and after the counters, so that of a
 * process that had ended by then no segment is missing. */
static enum err_kind check_layout(struct reader *r, const uint32_t *directory, size_t entries, struct error *e)
{
	r->whole_ticks = r->header.start_ticks;
	if (!add_segments(r, directory, entries, false))
		return no_memory(r, e);
	r->n_own = r->n_segments;
	if (r->file.len < GST_SEGMENTS_OFFSET)
		reader_damage_set(r, r->whole_ticks, r->file.len, "the file ends inside its %s",
				  r->file.len < GST_DIRECTORY_OFFSET ? "counters" : "directory");
	if (!order_segments(r))
		return no_memory(r, e);
	reader_rewind(r);
	return ERR_NONE;
}

static struct reader *reader_new(const char *name, struct error *e)
{
	struct reader *r = calloc(1, sizeof(*r));

	if (!r) {
		err_set(e, ERR_SYSTEM, name, ERR_NO_BYTE, "out of memory");
		return NULL;
	}
	r->file.fd = -1;
	r->told = 1;
	strncpy(r->name, name, sizeof(r->name) - 1);
	return r;
}

static enum err_kind read_length(struct reader *r, struct error *e)
{
	struct stat st;

	if (r->file.bytes)
		return ERR_NONE;
	if (fstat(r->file.fd, &st) < 0)
		return err_set(e, ERR_SYSTEM, r->name, ERR_NO_BYTE, "cannot stat: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_FORMAT, r->name, ERR_NO_BYTE, "not a regular file");
	if (st.st_size == 0)
		return err_set(e, ERR_FORMAT, r->name, 0, "the file is empty");
	r->file.len = (uint64_t)st.st_size;
	return ERR_NONE;
}

static enum err_kind open_parts(struct reader *r, struct error *e)
{
	enum err_kind kind = read_length(r, e);
	uint32_t *directory;
	size_t entries;

	if (kind)
		return kind;
	if (reader_file_get(&r->file, &r->counters, sizeof(r->counters), GST_COUNTERS_OFFSET) !=
	    (int64_t)sizeof(r->counters))
		memset(&r->counters, 0, sizeof(r->counters));
	r->live = !r->file.bytes && !r->counters.exited;
	directory = read_directory(r, &entries);
	if (!directory)
		return no_memory(r, e);
	kind = read_length(r, e);
	if (!kind)
		kind = reader_check_header(r, e);
	if (!kind)
		kind = check_layout(r, directory, entries, e);
	free(directory);
	return kind;
}

static enum err_kind open_reader(struct reader **out, struct reader *r, struct error *e)
{
	enum err_kind kind = open_parts(r, e);

	if (kind != ERR_NONE) {
		reader_free(r);
		return kind;
	}
	r->forms = record_forms(r->header.kind);
	*out = r;
	return ERR_NONE;
}

enum err_kind reader_open_mem(struct reader **out, const void *buf, size_t len, const char *name, struct error *e)
{
	struct reader *r = reader_new(name, e);

	*out = NULL;
	if (!r)
		return ERR_SYSTEM;
	r->file.bytes = buf;
	r->file.len = len;
	return open_reader(out, r, e);
}

/* Frees the reader where it cannot. Not blocking: a FIFO in the directory must not hang us. */
static enum err_kind open_file(struct reader *r, const char *path, struct error *e)
{
	enum err_kind kind = ERR_NONE;

	r->file.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (r->file.fd < 0 && errno == ENOTDIR) {
		r->file.fd = pack_open_path(path, e);
		if (r->file.fd < 0 && e->kind)
			kind = e->kind;
		errno = ENOTDIR;
	}
	if (r->file.fd < 0 && !kind)
		kind = err_cannot_open(e, path);
	if (kind)
		reader_free(r);
	return kind;
}

enum err_kind reader_open(struct reader **out, const char *path, struct error *e)
{
	struct reader *r = reader_new(path, e);
	enum err_kind kind = r ? open_file(r, path, e) : ERR_SYSTEM;

	*out = NULL;
	return kind ? kind : open_reader(out, r, e);
}

enum err_kind reader_read_header(struct gst_file_header *out, const char *path, struct error *e)
{
	struct reader *r = reader_new(path, e);
	enum err_kind kind = r ? open_file(r, path, e) : ERR_SYSTEM;

	if (kind)
		return kind;
	kind = read_length(r, e);
	if (!kind)
		kind = reader_check_header(r, e);
	if (!kind)
		*out = r->header;
	reader_free(r);
	return kind;
}

void reader_free(struct reader *r)
{
	if (!r)
		return;
	reader_file_close(&r->file);
	free(r->segments);
	free(r->place);
	free(r);
}

size_t reader_segments(const struct reader *r)
{
	return r->n_own;
}

const struct gst_segment_header *reader_segment_at(const struct reader *r, size_t i)
{
	return &r->segments[i].header;
}

struct reader *reader_part(const struct reader *r, size_t first, size_t n, size_t parts)
{
	struct reader *part = malloc(sizeof(*part));

	if (!part)
		return NULL;
	*part = *r;
	part->file.buffer = NULL;
	part->segment = first;
	part->n_own = part->n_segments = first + n;
	part->kept_found = true;
	part->bytes = NULL;
	part->told = (uint32_t)parts;
	part->counts = (struct reader_counts){ 0 };
	part->damaged = false;
	return part;
}

void reader_join(struct reader *r, struct reader *part)
{
	r->counts.records += part->counts.records;
	r->counts.segments += part->counts.segments;
	r->counts.given_up += part->counts.given_up;
	r->counts.unfinished += part->counts.unfinished;
	r->counts.unknown += part->counts.unknown;
	if (part->damaged && (!r->damaged || part->damage.cut_ticks < r->damage.cut_ticks)) {
		r->damaged = true;
		r->damage = part->damage;
	}
	free(part->file.buffer);
	free(part);
}

void reader_pass_own(struct reader *r)
{
	r->segment = r->n_own;
	r->bytes = NULL;
}
