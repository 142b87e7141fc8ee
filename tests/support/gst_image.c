/* SPDX-License-Identifier: BSD-2-Clause */
#include "gst_image.h"

#include <stdlib.h>
#include <string.h>

bool gst_image_new(struct gst_image *image)
{
	struct gst_file_header *h;

	*image = (struct gst_image){ .len = GST_SEGMENTS_OFFSET };
	image->bytes = calloc(1, image->len);
	if (!image->bytes)
		return false;
	h = gst_image_header(image);
	memcpy(h->magic, GST_MAGIC, sizeof(h->magic));
	h->version = GST_VERSION;
	h->segment_bytes = GST_SEGMENT_BYTES;
	h->segment_capacity = GST_SEGMENT_CAPACITY;
	h->clock = GST_CLOCK_MONOTONIC;
	h->device_level = GST_LEVEL_EDGES;
	h->pid = 100;
	h->start_ticks = h->start_mono_ns = image->last_ticks = 1000000000;
	memcpy(h->host, "host", 5);
	gst_image_seal(image);
	return true;
}

void gst_image_free(struct gst_image *image)
{
	free(image->bytes);
	*image = (struct gst_image){ 0 };
}

struct gst_file_header *gst_image_header(struct gst_image *image)
{
	return (struct gst_file_header *)(void *)image->bytes;
}

struct gst_counters *gst_image_counters(struct gst_image *image)
{
	return (struct gst_counters *)(void *)(image->bytes + GST_COUNTERS_OFFSET);
}

void gst_image_seal(struct gst_image *image)
{
	struct gst_file_header *h = gst_image_header(image);

	h->check = gst_hash32(h, sizeof(*h), offsetof(struct gst_file_header, check));
}

bool gst_image_segment(struct gst_image *image, uint32_t tid, const char *name)
{
	const struct gst_segment_header plain = { .previous = GST_NONE };

	return gst_image_segment_as(image, tid, name, &plain);
}

void gst_image_give_up(struct gst_image *image, uint32_t segment)
{
	((uint32_t *)(void *)(image->bytes + GST_DIRECTORY_OFFSET))[segment] = 0;
	memset(image->bytes + GST_SEGMENTS_OFFSET + (size_t)GST_SEGMENT_BYTES * segment, 0, GST_SEGMENT_BYTES);
}

bool gst_image_segment_as(struct gst_image *image, uint32_t tid, const char *name,
			  const struct gst_segment_header *more)
{
	uint32_t index = image->n_segments;
	struct gst_segment_header s = { .magic = GST_SEGMENT_MAGIC,
					.index = index,
					.tid = tid,
					.begin_ticks = image->last_ticks,
					.thread_seq = more->thread_seq,
					.previous = more->previous,
					.recycles = more->recycles,
					.previous_recycles = more->previous_recycles,
					.flags = more->flags };
	uint8_t *bigger;

	if (index >= sizeof(image->offset) / sizeof(image->offset[0]))
		return false;
	bigger = realloc(image->bytes, image->len + GST_SEGMENT_BYTES);
	if (!bigger)
		return false;
	image->bytes = bigger;
	memset(image->bytes + image->len, 0, GST_SEGMENT_BYTES);
	strncpy(s.thread_name, name, sizeof(s.thread_name) - 1);
	s.check = gst_hash32(&s, sizeof(s), offsetof(struct gst_segment_header, check));
	memcpy(image->bytes + image->len, &s, sizeof(s));
	((uint32_t *)(void *)(image->bytes + GST_DIRECTORY_OFFSET))[index] = gst_directory_check(index);
	image->len += GST_SEGMENT_BYTES;
	image->offset[index] = sizeof(s);
	image->segment = index;
	image->n_segments++;
	return true;
}

void gst_image_select(struct gst_image *image, uint32_t segment)
{
	image->segment = segment;
}

uint64_t gst_image_add(struct gst_image *image, uint16_t type, const void *record, size_t size, bool finished)
{
	uint32_t padded = (uint32_t)(size + 7) / 8 * 8, at = image->n_segments ? image->offset[image->segment] : 0;
	uint64_t byte = GST_SEGMENTS_OFFSET + (uint64_t)GST_SEGMENT_BYTES * image->segment + at;
	struct gst_record h = { .type = type, .size = (uint16_t)padded, .commit = finished ? GST_COMMIT : 0 };

	if (at == 0 || padded > UINT16_MAX || at + padded > GST_SEGMENT_BYTES)
		return 0;
	h.check = gst_record_check(type, h.size, at);
	memcpy(image->bytes + byte, record, size);
	memcpy(image->bytes + byte, &h, sizeof(h));
	image->offset[image->segment] = at + padded;
	return byte;
}

uint64_t gst_image_name(struct gst_image *image, uint16_t space, uint32_t id, const char *text, size_t length)
{
	uint8_t record[sizeof(struct gst_name) + 4096] = { 0 };
	struct gst_name *name = (struct gst_name *)(void *)record;

	if (length > 4096)
		length = 4096;
	name->id = id;
	name->space = space;
	name->length = (uint16_t)length;
	memcpy(name->text, text, length);
	return gst_image_add(image, GST_NAME, record, sizeof(*name) + length, true);
}
