/* SPDX-License-Identifier: BSD-2-Clause */
#include "gst_compact.h"

#include "gst_compact_host.h"

#include <stdlib.h>
#include <string.h>

#define NEW_SEGMENT 0xff
#define WHOLE_RECORD 0xfe
#define KEPT_SEGMENT 0xfd
#define RECYCLED 0x40 /* in the mode: 32 bits follow, microseconds after the begin */
#define HOST 0x20     /* … a file of host probes */
#define SMALL_BYTES 11

struct input {
	const uint8_t *at;
	size_t left;
};

/* Bytes beyond the end read as zero. */
static void take(struct input *in, void *to, size_t n)
{
	size_t have = n < in->left ? n : in->left;

	memset(to, 0, n);
	if (have)
		memcpy(to, in->at, have);
	in->at += have;
	in->left -= have;
}

static uint8_t take_byte(struct input *in)
{
	uint8_t byte;

	take(in, &byte, 1);
	return byte;
}

_Static_assert(sizeof(struct gst_comm) == sizeof(struct gst_nccl), "one size for both below");

static size_t size_of(uint8_t type)
{
	static const uint8_t sizes[] = { 0,
					 sizeof(struct gst_call),
					 sizeof(struct gst_name),
					 sizeof(struct gst_stream),
					 sizeof(struct gst_device),
					 sizeof(struct gst_anchor),
					 sizeof(struct gst_edge),
					 sizeof(struct gst_poll),
					 sizeof(struct gst_sample),
					 sizeof(struct gst_usage),
					 sizeof(struct gst_thread) };

	if (type == GST_COMM || type == GST_NCCL)
		return sizeof(struct gst_nccl);
	switch (type) {
	case GST_BUSY:
		return sizeof(struct gst_busy);
	case GST_RANGE:
		return sizeof(struct gst_range);
	case GST_RANGE_DATA:
		return sizeof(struct gst_range_data);
	case GST_NVTX:
		return sizeof(struct gst_nvtx);
	case GST_STACK_AT:
		return sizeof(struct gst_stack_at);
	case GST_OBJECT:
		return sizeof(struct gst_object);
	case GST_CODE:
		return sizeof(struct gst_code);
	case GST_STACK_COST:
		return sizeof(struct gst_stack_cost);
	case GST_BLOCK:
		return sizeof(struct gst_block);
	case GST_MAPPING:
		return sizeof(struct gst_mapping);
	case GST_POOL:
		return sizeof(struct gst_pool);
	case GST_MEMORY_LEFT:
		return sizeof(struct gst_memory_left);
	default:
		break;
	}
	if (compact_host_size(type))
		return compact_host_size(type);
	return type < sizeof(sizes) ? sizes[type] : 16;
}

/* What follows a record of stacks, and one of host probes, as its own fields say, kept small; 0 for others. */
static size_t stack_rest(void *record, uint16_t type)
{
	struct gst_stack *stack = record;
	struct gst_object *object = record;
	struct gst_code *code = record;

	switch (type) {
	case GST_STACK:
		return (stack->count %= 16) * sizeof(stack->frames[0]);
	case GST_OBJECT:
		return object->path_bytes %= 256;
	case GST_CODE:
		return (code->file_bytes %= 128) + (code->name_bytes %= 128);
	default:
		return compact_host_rest(record, type);
	}
}

/* A record as it stands in the input, header left out. Names bring their length. */
static void add_whole(struct gst_image *image, struct input *in)
{
	uint8_t record[512] = { 0 }, type = take_byte(in);
	size_t size = size_of(type);

	if (size < sizeof(struct gst_record))
		return;
	take(in, record + sizeof(struct gst_record), size - sizeof(struct gst_record));
	if (type == GST_BUSY) {
		struct gst_busy *busy = (void *)record;

		busy->count %= 8;
		take(in, busy->streams, 4 * busy->count);
		size += 4 * busy->count;
	}
	if (type == GST_RANGE_DATA) {
		struct gst_range_data *data = (void *)record;

		data->kept %= 128;
		take(in, data->data, data->kept);
		size += data->kept;
	}
	if (type == GST_NAME) {
		struct gst_name *name = (void *)record;

		name->length %= sizeof(record) - sizeof(*name);
		take(in, name->text, name->length);
		size += name->length;
	}
	if (stack_rest(record, type)) {
		take(in, record + size, stack_rest(record, type));
		size += stack_rest(record, type);
	}
	gst_image_add(image, type, record, size, true);
}

/* Few streams, near times, near sequence numbers. */
static void add_small(struct gst_image *image, const struct small *s, uint64_t *now)
{
	uint64_t begin = *now + s->wait_us * 1000ull,
		 end = begin + (s->last_us[0] | (uint64_t)s->last_us[1] << 8) * 100;
	struct gst_call call = { .begin = begin,
				 .end = end,
				 .seq = s->seq,
				 .family = s->what % GST_FAMILY_COUNT,
				 .flags = s->flags,
				 .result = s->result == 1   ? 600
					   : s->result == 2 ? 700
							    : 0,
				 .stream = s->stream % 4u,
				 .detail = s->extra[0],
				 .name = s->extra[1],
				 .args = { s->extra[2] % 4u, s->extra[1] } };
	struct gst_edge edge = { .edge = s->extra[0],
				 .base = s->extra[1],
				 .stream = s->stream % 4u,
				 .covers = s->seq,
				 .begin = begin,
				 .end = begin + 1000,
				 .done = s->flags & 1 ? end : 0,
				 .elapsed_ms = (float)s->extra[2] * 0.01f,
				 .kind = s->result % 6u };
	struct gst_poll poll = {
		.stream = s->stream % 4u, .covers = s->seq, .begin = begin, .end = begin + 1000, .ready = s->flags & 1
	};
	struct gst_stream stream = { .id = s->stream % 4u,
				     .device = s->extra[0] % 2u,
				     .kind = s->extra[1] % 3u,
				     .context = s->extra[2] % 4u,
				     .flags = s->flags };
	struct gst_usage usage = { .ticks = begin, .cpu_ns = end, .run_delay_ns = s->extra[0] * 1000ull };

	switch (s->what >> 5) {
	case 5:
		gst_image_add(image, GST_EDGE, &edge, sizeof(edge), true);
		break;
	case 6:
		gst_image_add(image, GST_POLL, &poll, sizeof(poll), true);
		break;
	case 7:
		if (s->what & 1)
			gst_image_add(image, GST_STREAM, &stream, sizeof(stream), true);
		else
			gst_image_add(image, GST_USAGE, &usage, sizeof(usage), true);
		break;
	default:
		gst_image_add(image, GST_CALL, &call, sizeof(call), !(s->result & 0x80));
		break;
	}
	*now = s->result & 0x40 ? begin : end;
	image->last_ticks = *now;
}

static bool add_events(struct gst_image *image, struct input *in)
{
	uint64_t now = image->last_ticks;
	uint32_t tid = 1;

	if (!gst_image_segment(image, tid, "fuzz"))
		return false;
	while (in->left) {
		uint8_t what = take_byte(in);
		struct small s = { .what = what };

		if (what == NEW_SEGMENT) {
			if (image->n_segments < 4 && !gst_image_segment(image, ++tid, "fuzz"))
				return false;
		} else if (what == KEPT_SEGMENT) {
			const struct gst_segment_header kept = { .previous = GST_NONE, .flags = GST_SEGMENT_KEPT };

			if (image->n_segments < 4 && !gst_image_segment_as(image, 0, "", &kept))
				return false;
		} else if (what == WHOLE_RECORD) {
			add_whole(image, in);
		} else {
			take(in, &s.stream, SMALL_BYTES - 1);
			if (gst_image_header(image)->kind == GST_FILE_HOST)
				compact_host_small(image, &s, &now);
			else
				add_small(image, &s, &now);
		}
	}
	return true;
}

static void set_recycled(struct gst_image *out, struct input *in)
{
	struct gst_counters *c = gst_image_counters(out);
	uint32_t until_us;

	take(in, &until_us, sizeof(until_us));
	gst_image_header(out)->version = GST_VERSION_RECYCLED;
	c->recycled_until = gst_image_header(out)->start_ticks + until_us * 1000ull;
	c->segments_recycled = 1;
	c->definitions_lost = until_us % 3;
}

bool gst_expand(struct gst_image *out, const uint8_t *data, size_t len)
{
	struct input in = { data, len };
	uint8_t n_flips = take_byte(&in) % 4, mode = take_byte(&in);
	struct {
		uint32_t position;
		uint8_t bit;
	} flips[4];

	for (int i = 0; i < n_flips; i++) {
		take(&in, &flips[i].position, 4);
		flips[i].bit = take_byte(&in);
	}
	if (!gst_image_new(out))
		return false;
	gst_image_header(out)->device_level = 1 + mode % 4u;
	gst_image_header(out)->clock = mode & 0x80 ? GST_CLOCK_TSC : GST_CLOCK_MONOTONIC;
	gst_image_header(out)->kind = mode & HOST ? GST_FILE_HOST : GST_FILE_PROCESS;
	if (mode & HOST)
		gst_image_header(out)->clock = GST_CLOCK_MONOTONIC;
	if (mode & RECYCLED)
		set_recycled(out, &in);
	gst_image_seal(out);
	if (!add_events(out, &in)) {
		gst_image_free(out);
		return false;
	}
	for (int i = 0; i < n_flips; i++) /* half of them where the records are */
		out->bytes[i % 2 ? flips[i].position % out->len
				 : GST_SEGMENTS_OFFSET + flips[i].position % (out->offset[0] + 8)] ^=
			(uint8_t)(1u << flips[i].bit % 8);
	return true;
}

/* One segment's records, as WHOLE_RECORD events. */
static size_t compact_segment(uint8_t *to, const uint8_t *segment, uint32_t end)
{
	size_t n = 0;

	for (uint32_t at = sizeof(struct gst_segment_header); at < end;) {
		struct gst_record h;
		uint16_t size;

		memcpy(&h, segment + at, sizeof(h));
		size = h.size;
		if (h.type == GST_NAME) { /* its padding is not in the compact form */
			struct gst_name name;

			memcpy(&name, segment + at, sizeof(name));
			size = (uint16_t)(sizeof(name) + name.length);
		}
		if (h.type == GST_RANGE_DATA) {
			struct gst_range_data data;

			memcpy(&data, segment + at, sizeof(data));
			size = (uint16_t)(sizeof(data) + data.kept % 128);
		}
		if (h.type == GST_BUSY) {
			struct gst_busy busy;

			memcpy(&busy, segment + at, sizeof(busy));
			size = (uint16_t)(sizeof(busy) + 4 * (busy.count % 8));
		}
		if (h.type == GST_STACK || h.type == GST_OBJECT || h.type == GST_CODE || h.type == GST_ON_CPU) {
			uint8_t record[sizeof(struct gst_object)] = { 0 };

			memcpy(record, segment + at, h.size < sizeof(record) ? h.size : sizeof(record));
			size = (uint16_t)(size_of((uint8_t)h.type) + stack_rest(record, h.type));
		}
		to[n++] = WHOLE_RECORD;
		to[n++] = (uint8_t)h.type;
		memcpy(to + n, segment + at + sizeof(h), size - sizeof(h));
		n += size - sizeof(h);
		at += h.size;
	}
	return n;
}

size_t gst_compact(uint8_t **out, const struct gst_image *image)
{
	const struct gst_file_header *h = (const void *)image->bytes;
	const struct gst_counters *c = (const void *)(image->bytes + GST_COUNTERS_OFFSET);
	size_t n = 2, most = 6;

	for (uint32_t i = 0; i < image->n_segments; i++)
		most += image->offset[i] + 1;
	*out = calloc(1, most);
	if (!*out)
		return 0;
	(*out)[1] = GST_LEVEL_EDGES - 1;
	(*out)[1] |= h->kind == GST_FILE_HOST ? HOST : 0;
	if (h->version == GST_VERSION_RECYCLED) {
		uint32_t until_us = (uint32_t)((c->recycled_until - h->start_ticks) / 1000);

		(*out)[1] |= RECYCLED;
		memcpy(*out + n, &until_us, sizeof(until_us));
		n += sizeof(until_us);
	}
	for (uint32_t i = 0; i < image->n_segments; i++) {
		const struct gst_segment_header *s =
			(const void *)(image->bytes + GST_SEGMENTS_OFFSET + (size_t)GST_SEGMENT_BYTES * i);

		if (i || (s->flags & GST_SEGMENT_KEPT))
			(*out)[n++] = s->flags & GST_SEGMENT_KEPT ? KEPT_SEGMENT : NEW_SEGMENT;
		n += compact_segment(*out + n, image->bytes + GST_SEGMENTS_OFFSET + (size_t)GST_SEGMENT_BYTES * i,
				     image->offset[i]);
	}
	return n;
}
