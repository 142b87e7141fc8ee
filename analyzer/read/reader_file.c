/* SPDX-License-Identifier: BSD-2-Clause */
#include "reader_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int64_t reader_file_get(const struct reader_file *f, void *to, size_t size, uint64_t at)
{
	size_t got = 0;

	if (f->bytes) {
		if (at < f->len)
			got = size < f->len - at ? size : (size_t)(f->len - at);
		if (got)
			memcpy(to, f->bytes + at, got);
		return (int64_t)got;
	}
	while (got < size) {
		ssize_t n = pread(f->fd, (char *)to + got, size - got, (off_t)(at + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (int64_t)got;
}

/* Where the last byte that is not zero lies, and one; in steps of 8. */
static int64_t last_written(const uint8_t *bytes, int64_t room)
{
	uint64_t word = 0;

	while (room >= 8) {
		memcpy(&word, bytes + room - 8, sizeof(word));
		if (word)
			break;
		room -= 8;
	}
	return room;
}

/* The first copy may have been taken of a page before, and of the next page after, a record was written to both: what looks like empty
 * room in it need not be. But what is in it anywhere was written before the second copy was begun, and so were the headers before it:
 * these are taken from the second. A record's payload is whole where its commit is seen: so commits are taken from the first copy,
 * payloads from the second. What was written behind the end of the first is left for another time. */
static void merge(uint8_t *first, const uint8_t *second, int64_t end)
{
	int64_t known = last_written(first, end);

	for (int64_t i = sizeof(struct gst_segment_header); i + 8 <= known;) {
		struct gst_record h, before;

		memcpy(&h, second + i, sizeof(h));
		memcpy(&before, first + i, sizeof(before));
		if (h.type == 0 && h.size == 0 && h.check == 0) {
			i += 8; /* room that was left empty */
			continue;
		}
		if (h.size < sizeof(h) || h.size % 8 || h.size > end - i)
			break;
		h.commit =
			before.type == h.type && before.size == h.size && before.check == h.check ? before.commit : 0;
		memcpy(first + i, &h, sizeof(h));
		if (h.commit)
			memcpy(first + i + sizeof(h), second + i + sizeof(h), h.size - sizeof(h));
		i += h.size;
	}
}

static int64_t look_again(const struct reader_file *f, uint64_t at, int64_t room)
{
	uint8_t *after = malloc((size_t)room);
	int64_t got = after ? reader_file_get(f, after, (size_t)room, at) : -1;
	int64_t end = got < room ? got : room;

	if (end > 0)
		merge(f->buffer, after, end);
	free(after);
	return after ? end : -1;
}

const uint8_t *reader_file_segment(struct reader_file *f, uint32_t index, bool open, uint32_t *room)
{
	uint64_t at = GST_SEGMENTS_OFFSET + (uint64_t)GST_SEGMENT_BYTES * index;
	int64_t got;

	*room = 0;
	if (f->bytes) {
		if (at >= f->len)
			return NULL;
		*room = f->len - at < GST_SEGMENT_BYTES ? (uint32_t)(f->len - at) : GST_SEGMENT_BYTES;
		return f->bytes + at;
	}
	if (!f->buffer)
		f->buffer = malloc(GST_SEGMENT_BYTES);
	got = f->buffer ? reader_file_get(f, f->buffer, GST_SEGMENT_BYTES, at) : -1;
	if (got > 0 && open)
		got = look_again(f, at, got);
	if (got < 0)
		return NULL;
	*room = (uint32_t)got;
	return f->buffer;
}

void reader_file_close(struct reader_file *f)
{
	if (!f->bytes && f->fd >= 0)
		close(f->fd);
	free(f->buffer);
	f->buffer = NULL;
	f->fd = -1;
}
