/* SPDX-License-Identifier: BSD-2-Clause */
#include "reader.h"

#include "alloc.h"
#include "segment_order.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct reader {
	const uint8_t *bytes;
	size_t len;
	bool mapped;
	char name[512];
	struct gst_file_header header;
	struct gst_counters counters;
	uint32_t *segments; /* indexes of those with a whole header, in their threads' order */
	size_t n_segments;
	/* where reader_next is */
	size_t segment;  /* position in segments */
	uint32_t offset; /* in that segment; 0 = its header is still to be read */
	uint32_t tid;
	uint64_t good_ticks;  /* end of the last good record of this segment */
	uint64_t whole_ticks; /* begin_ticks of the last segment whose header held */
	struct reader_counts counts;
	bool damaged;
	struct damage damage;
};

/* ---- damage ---------------------------------------------------------------------------------------- */

/* Keeps the earliest cut; among equal cuts the first place found. */
__attribute__((format(printf, 4, 5))) static void damage_set(struct reader *r, uint64_t cut_ticks, uint64_t byte,
							     const char *format, ...)
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

/* ---- opening --------------------------------------------------------------------------------------- */

static enum err_kind check_header(struct reader *r, struct error *e)
{
	struct gst_file_header *h = &r->header;

	if (r->len < sizeof(h->magic) || memcmp(r->bytes, GST_MAGIC, sizeof(h->magic)) != 0)
		return err_set(e, ERR_FORMAT, r->name, 0, "not a gpushim trace");
	if (r->len < sizeof(*h))
		return err_set(e, ERR_FORMAT, r->name, r->len, "the file ends inside its header");
	memcpy(h, r->bytes, sizeof(*h));
	if (gst_hash32(h, sizeof(*h), offsetof(struct gst_file_header, check)) != h->check)
		return err_set(e, ERR_FORMAT, r->name, 0, "the file header's check value does not hold");
	if (h->version != GST_VERSION)
		return err_set(e, ERR_FORMAT, r->name, offsetof(struct gst_file_header, version),
			       "format version %u, this gpushim reads %u", h->version, GST_VERSION);
	if (h->segment_bytes != GST_SEGMENT_BYTES || h->segment_capacity != GST_SEGMENT_CAPACITY)
		return err_set(e, ERR_FORMAT, r->name, offsetof(struct gst_file_header, segment_bytes),
			       "segments of %llu bytes, room for %u", (unsigned long long)h->segment_bytes,
			       h->segment_capacity);
	/* texts end inside their fields whatever the writer did */
	h->run_id[sizeof(h->run_id) - 1] = h->host[sizeof(h->host) - 1] = h->shim[sizeof(h->shim) - 1] = '\0';
	h->exe[sizeof(h->exe) - 1] = h->cmdline[sizeof(h->cmdline) - 1] = '\0';
	return ERR_NONE;
}

static bool segment_header_holds(const struct gst_segment_header *s, uint32_t index)
{
	return s->magic == GST_SEGMENT_MAGIC && s->index == index &&
	       gst_hash32(s, sizeof(*s), offsetof(struct gst_segment_header, check)) == s->check;
}

/* One directory entry that is in use. A segment that cannot be read at all cuts the analysis at the one before it. */
static void add_segment(struct reader *r, uint32_t index, uint32_t entry)
{
	uint64_t entry_at = GST_DIRECTORY_OFFSET + 4ull * index;
	uint64_t begin = GST_SEGMENTS_OFFSET + (uint64_t)GST_SEGMENT_BYTES * index;
	struct gst_segment_header s;

	if (entry != gst_directory_check(index)) {
		damage_set(r, r->whole_ticks, entry_at, "directory entry %u is 0x%08x, not 0x%08x", index, entry,
			   gst_directory_check(index));
		return;
	}
	if (begin + GST_SEGMENT_BYTES > r->len) {
		bool headless = begin + sizeof(s) > r->len;

		/* What is left of it is read; only then is it known how much that is. */
		damage_set(r, headless ? r->whole_ticks : UINT64_MAX, r->len,
			   "segment %u reaches to byte %llu, the file ends before it", index,
			   (unsigned long long)(begin + GST_SEGMENT_BYTES));
		if (headless)
			return;
	}
	memcpy(&s, r->bytes + begin, sizeof(s));
	if (!segment_header_holds(&s, index)) {
		damage_set(r, r->whole_ticks, begin, "the check value of segment %u's header does not hold", index);
		return;
	}
	r->whole_ticks = s.begin_ticks;
	r->segments[r->n_segments++] = index;
}

static enum err_kind order_segments(struct reader *r, struct error *e)
{
	uint32_t *previous = array_new(r->n_segments, sizeof(*previous));
	bool ok = previous != NULL;

	for (size_t i = 0; ok && i < r->n_segments; i++)
		memcpy(&previous[i],
		       r->bytes + GST_SEGMENTS_OFFSET + (size_t)GST_SEGMENT_BYTES * r->segments[i] +
			       offsetof(struct gst_segment_header, previous),
		       sizeof(*previous));
	ok = ok && segment_order(r->segments, previous, r->n_segments);
	free(previous);
	return ok ? ERR_NONE : err_set(e, ERR_SYSTEM, r->name, ERR_NO_BYTE, "out of memory");
}

/* `directory`: read before the file's length was, so that a live file never looks truncated; and after the counters were, so that
 * of a process that had ended by then no segment is missing. */
static enum err_kind check_layout(struct reader *r, const uint32_t *directory, size_t entries, struct error *e)
{
	size_t used = 0;

	r->whole_ticks = r->header.start_ticks;
	for (size_t i = 0; i < entries; i++)
		used += directory[i] != 0;
	r->segments = array_new(used, sizeof(*r->segments));
	if (!r->segments)
		return err_set(e, ERR_SYSTEM, r->name, ERR_NO_BYTE, "out of memory");
	for (size_t i = 0; i < entries; i++)
		if (directory[i])
			add_segment(r, (uint32_t)i, directory[i]);
	if (r->len < GST_SEGMENTS_OFFSET)
		damage_set(r, r->whole_ticks, r->len, "the file ends inside its %s",
			   r->len < GST_DIRECTORY_OFFSET ? "counters" : "directory");
	reader_rewind(r);
	return order_segments(r, e);
}

static struct reader *reader_new(const char *name, struct error *e)
{
	struct reader *r = calloc(1, sizeof(*r));

	if (!r) {
		err_set(e, ERR_SYSTEM, name, ERR_NO_BYTE, "out of memory");
		return NULL;
	}
	strncpy(r->name, name, sizeof(r->name) - 1);
	return r;
}

/* Entries that lie in the file's first `len` bytes. */
static size_t directory_entries(size_t len)
{
	size_t bytes = len > GST_DIRECTORY_OFFSET ? len - GST_DIRECTORY_OFFSET : 0;

	return bytes / 4 < GST_SEGMENT_CAPACITY ? bytes / 4 : GST_SEGMENT_CAPACITY;
}

enum err_kind reader_open_mem(struct reader **out, const void *buf, size_t len, const char *name, struct error *e)
{
	struct reader *r = reader_new(name, e);
	uint32_t *directory;
	size_t entries = directory_entries(len);
	enum err_kind kind = ERR_SYSTEM;

	*out = NULL;
	if (!r)
		return ERR_SYSTEM;
	r->bytes = buf;
	r->len = len;
	if (len >= GST_COUNTERS_OFFSET + sizeof(r->counters))
		memcpy(&r->counters, r->bytes + GST_COUNTERS_OFFSET, sizeof(r->counters));
	directory = array_new(entries, 4);
	if (!directory)
		err_set(e, ERR_SYSTEM, name, ERR_NO_BYTE, "out of memory");
	else if (entries)
		memcpy(directory, r->bytes + GST_DIRECTORY_OFFSET, entries * 4);
	if (directory)
		kind = check_header(r, e);
	if (kind == ERR_NONE)
		kind = check_layout(r, directory, entries, e);
	free(directory);
	if (kind != ERR_NONE) {
		reader_free(r);
		return kind;
	}
	*out = r;
	return ERR_NONE;
}

/* The counters first, then the directory, then the length: check_layout. */
static enum err_kind read_live_parts(struct reader *r, int fd, uint32_t *directory, size_t *entries, struct error *e)
{
	ssize_t got = pread(fd, &r->counters, sizeof(r->counters), GST_COUNTERS_OFFSET);

	if (got >= 0 && (size_t)got < sizeof(r->counters))
		memset(&r->counters, 0, sizeof(r->counters));
	if (got >= 0)
		got = pread(fd, directory, 4 * GST_SEGMENT_CAPACITY, GST_DIRECTORY_OFFSET);
	if (got < 0)
		return err_set(e, ERR_SYSTEM, r->name, GST_DIRECTORY_OFFSET, "cannot read: %s", strerror(errno));
	*entries = (size_t)got / 4;
	return ERR_NONE;
}

/* Mapped, not copied: a trace may be larger than memory. The recorder only ever makes a file longer. */
static enum err_kind map_file(struct reader *r, int fd, struct error *e)
{
	struct stat st;
	void *at;

	if (fstat(fd, &st) < 0)
		return err_set(e, ERR_SYSTEM, r->name, ERR_NO_BYTE, "cannot stat: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_FORMAT, r->name, ERR_NO_BYTE, "not a regular file");
	if (st.st_size == 0)
		return err_set(e, ERR_FORMAT, r->name, 0, "the file is empty");
	at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return err_set(e, ERR_SYSTEM, r->name, ERR_NO_BYTE, "cannot map: %s", strerror(errno));
	r->bytes = at;
	r->len = (size_t)st.st_size;
	r->mapped = true;
	return ERR_NONE;
}

static enum err_kind open_fd(struct reader *r, int fd, struct error *e)
{
	uint32_t *directory = array_new(GST_SEGMENT_CAPACITY, 4);
	size_t entries = 0;
	enum err_kind kind;

	if (!directory)
		return err_set(e, ERR_SYSTEM, r->name, ERR_NO_BYTE, "out of memory");
	kind = read_live_parts(r, fd, directory, &entries, e);
	if (kind == ERR_NONE)
		kind = map_file(r, fd, e);
	if (kind == ERR_NONE)
		kind = check_header(r, e);
	if (kind == ERR_NONE)
		kind = check_layout(r, directory, entries, e);
	free(directory);
	return kind;
}

enum err_kind reader_open(struct reader **out, const char *path, struct error *e)
{
	struct reader *r = reader_new(path, e);
	enum err_kind kind = ERR_SYSTEM;
	int fd;

	*out = NULL;
	if (!r)
		return ERR_SYSTEM;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* not blocking: a FIFO in the directory must not hang us */
	if (fd < 0) {
		err_set(e, ERR_SYSTEM, path, ERR_NO_BYTE, "cannot open: %s", strerror(errno));
	} else {
		kind = open_fd(r, fd, e);
		close(fd);
	}
	if (kind != ERR_NONE) {
		reader_free(r);
		return kind;
	}
	*out = r;
	return ERR_NONE;
}

void reader_free(struct reader *r)
{
	if (!r)
		return;
	if (r->mapped)
		munmap((void *)(uintptr_t)r->bytes, r->len);
	free(r->segments);
	free(r);
}

const struct gst_file_header *reader_header(const struct reader *r)
{
	return &r->header;
}

const struct gst_counters *reader_counters(const struct reader *r)
{
	return &r->counters;
}

const struct damage *reader_damage(const struct reader *r)
{
	return r->damaged ? &r->damage : NULL;
}

/* ---- records --------------------------------------------------------------------------------------- */

void reader_rewind(struct reader *r)
{
	r->segment = 0;
	r->offset = 0;
	memset(&r->counts, 0, sizeof(r->counts));
}

struct reader_counts reader_counts(const struct reader *r)
{
	return r->counts;
}

/* The size a type must have; 0 for a type that is not known here. A name or list is longer than its smallest. */
static uint16_t type_size(uint16_t type)
{
	static const uint16_t size[] = {
		[GST_CALL] = sizeof(struct gst_call),
		[GST_NAME] = sizeof(struct gst_name),
		[GST_STREAM] = sizeof(struct gst_stream),
		[GST_DEVICE] = sizeof(struct gst_device),
		[GST_ANCHOR] = sizeof(struct gst_anchor),
		[GST_EDGE] = sizeof(struct gst_edge),
		[GST_POLL] = sizeof(struct gst_poll),
		[GST_SAMPLE] = sizeof(struct gst_sample),
		[GST_USAGE] = sizeof(struct gst_usage),
		[GST_THREAD] = sizeof(struct gst_thread),
		[GST_GRAPH] = sizeof(struct gst_graph),
		[GST_GRAPH_NODES] = sizeof(struct gst_graph_list),
		[GST_GRAPH_EDGES] = sizeof(struct gst_graph_list),
		[GST_COMM] = sizeof(struct gst_comm),
		[GST_NCCL] = sizeof(struct gst_nccl),
	};

	return type < sizeof(size) / sizeof(size[0]) ? size[type] : 0;
}

/* When the record was complete, as far as it says so itself; 0 where it does not. */
static uint64_t record_ticks(const struct gst_record *h)
{
	switch (h->type) {
	case GST_CALL:
		return ((const struct gst_call *)h)->end;
	case GST_POLL:
		return ((const struct gst_poll *)h)->end;
	case GST_USAGE:
		return ((const struct gst_usage *)h)->ticks;
	case GST_SAMPLE:
		return ((const struct gst_sample *)h)->ticks;
	case GST_GRAPH:
		return ((const struct gst_graph *)h)->end;
	case GST_COMM:
		return ((const struct gst_comm *)h)->ticks;
	case GST_NCCL:
		return ((const struct gst_nccl *)h)->end;
	default:
		return 0;
	}
}

static bool list_fits(const struct gst_record *h, size_t each)
{
	return h->size >= sizeof(struct gst_graph_list) &&
	       (!h->commit ||
		((const struct gst_graph_list *)h)->count == (h->size - sizeof(struct gst_graph_list)) / each);
}

/* Does the payload's size suit the type? A name's text and a list's entries lie inside their record, everything else has one size. */
static bool size_suits_type(const struct gst_record *h)
{
	uint16_t size = type_size(h->type);

	if (h->type == GST_NAME)
		return h->size >= size && (!h->commit || ((const struct gst_name *)h)->length <= h->size - size);
	if (h->type == GST_GRAPH_NODES)
		return list_fits(h, sizeof(struct gst_graph_node));
	if (h->type == GST_GRAPH_EDGES)
		return list_fits(h, sizeof(struct gst_graph_edge));
	return size == 0 || h->size == size;
}

/* Sets damage and returns false where the header at `at` cannot be trusted. */
static bool record_holds(struct reader *r, const struct gst_record *h, uint32_t at, uint32_t left, uint64_t byte)
{
	if (h->check != gst_record_check(h->type, h->size, at))
		damage_set(r, r->good_ticks, byte, "the record's check value does not hold (type %u, size %u)", h->type,
			   h->size);
	else if (h->size % 8 == 0 && h->size > left && h->size <= GST_SEGMENT_BYTES - at)
		damage_set(r, r->good_ticks, r->len, "the file ends inside a record of %u bytes", h->size);
	else if (h->size < sizeof(*h) || h->size % 8 || h->size > left)
		damage_set(r, r->good_ticks, byte, "record of %u bytes, %u left", h->size, left);
	else if (h->commit != 0 && h->commit != GST_COMMIT)
		damage_set(r, r->good_ticks, byte, "the record's commit field is 0x%04x", h->commit);
	else if (!size_suits_type(h))
		damage_set(r, r->good_ticks, byte, "record of type %u does not fit its %u bytes", h->type, h->size);
	else
		return true;
	return false;
}

static void next_segment(struct reader *r)
{
	r->segment++;
	r->offset = 0;
}

static const uint8_t *segment_bytes(const struct reader *r)
{
	return r->bytes + GST_SEGMENTS_OFFSET + (size_t)GST_SEGMENT_BYTES * r->segments[r->segment];
}

/* How much of the segment the file holds. */
static uint32_t segment_room(const struct reader *r)
{
	size_t room = r->len - (size_t)(segment_bytes(r) - r->bytes);

	return room < GST_SEGMENT_BYTES ? (uint32_t)room : GST_SEGMENT_BYTES;
}

const struct gst_segment_header *reader_segment(const struct reader *r)
{
	return (const struct gst_segment_header *)(const void *)segment_bytes(r);
}

static void enter_segment(struct reader *r)
{
	struct gst_segment_header s;

	memcpy(&s, segment_bytes(r), sizeof(s));
	r->offset = sizeof(s);
	r->tid = s.tid;
	r->good_ticks = s.begin_ticks;
}

bool reader_next(struct reader *r, struct record_view *out)
{
	while (r->segment < r->n_segments) {
		const struct gst_record *h;
		uint32_t at, room = segment_room(r);
		uint64_t word;

		if (r->offset == 0)
			enter_segment(r);
		at = r->offset;
		if (room - at < sizeof(*h)) {
			if (room < GST_SEGMENT_BYTES)
				damage_set(r, r->good_ticks, r->len, "the file ends inside segment %u's records",
					   r->segments[r->segment]);
			next_segment(r);
			continue;
		}
		h = (const struct gst_record *)(const void *)(segment_bytes(r) + at);
		memcpy(&word, h, sizeof(word));
		if (word == 0 || !record_holds(r, h, at, room - at, (uint64_t)((const uint8_t *)h - r->bytes))) {
			next_segment(r);
			continue;
		}
		r->offset = at + h->size;
		/* acquire: in a live file the payload is whole once the commit is seen */
		if (__atomic_load_n(&h->commit, __ATOMIC_ACQUIRE) != GST_COMMIT) {
			r->counts.unfinished++;
			continue;
		}
		if (!type_size(h->type)) {
			r->counts.unknown++;
			continue;
		}
		if (h->type == GST_THREAD)
			r->tid = ((const struct gst_thread *)h)->tid;
		if (record_ticks(h) > r->good_ticks)
			r->good_ticks = record_ticks(h);
		r->counts.records++;
		out->record = h;
		out->byte = (uint64_t)((const uint8_t *)h - r->bytes);
		out->segment = r->segments[r->segment];
		out->tid = r->tid;
		return true;
	}
	return false;
}
