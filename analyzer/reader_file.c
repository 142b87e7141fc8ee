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

/* A record's payload is whole where its commit is seen: so the commits are taken from before, the rest from after. What was not finished at
 * the first look, its header included, is left as it was then. */
static int64_t look_again(const struct reader_file *f, uint64_t at, int64_t room)
{
	uint8_t *after = malloc((size_t)room);
	int64_t got = after ? reader_file_get(f, after, (size_t)room, at) : -1;
	int64_t end = got < room ? got : room;

	for (int64_t i = sizeof(struct gst_segment_header); i + 8 <= end;) {
		struct gst_record h;

		memcpy(&h, f->buffer + i, sizeof(h));
		if (h.size < sizeof(h) || h.size > end - i)
			break;
		if (h.commit)
			memcpy(f->buffer + i + sizeof(h), after + i + sizeof(h), h.size - sizeof(h));
		i += h.size;
	}
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
