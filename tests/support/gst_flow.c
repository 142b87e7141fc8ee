/* SPDX-License-Identifier: BSD-2-Clause */
#include "gst_flow.h"

#include <string.h>

/* The image's only segment takes the place in the file, and in its thread's row, that is next. */
static void write_segment(struct gst_flow *flow)
{
	uint8_t *segment = flow->image.bytes + GST_SEGMENTS_OFFSET;
	uint32_t *directory = (uint32_t *)(void *)(flow->image.bytes + GST_DIRECTORY_OFFSET);
	struct gst_segment_header s;

	memcpy(&s, segment, sizeof(s));
	s.index = s.thread_seq = flow->segments;
	s.previous = flow->segments ? flow->segments - 1 : GST_NONE;
	s.check = gst_hash32(&s, sizeof(s), offsetof(struct gst_segment_header, check));
	memcpy(segment, &s, sizeof(s));
	flow->failed |= flow->segments >= GST_SEGMENT_CAPACITY ||
			fwrite(segment, 1, GST_SEGMENT_BYTES, flow->file) != GST_SEGMENT_BYTES;
	if (!flow->failed) {
		directory[flow->segments] = gst_directory_check(flow->segments);
		flow->segments++;
	}
}

static void begin_segment(struct gst_flow *flow)
{
	flow->image.n_segments = 0;
	flow->image.len = GST_SEGMENTS_OFFSET;
	flow->failed |= !gst_image_segment(&flow->image, flow->tid, flow->thread);
}

bool gst_flow_open(struct gst_flow *flow, const char *path, uint32_t pid, const char *command, uint64_t ns)
{
	struct gst_file_header *h;

	*flow = (struct gst_flow){ .tid = pid, .thread = "main" };
	if (!gst_image_new(&flow->image))
		return false;
	h = gst_image_header(&flow->image);
	h->pid = pid;
	h->start_ticks = h->start_mono_ns = ns;
	h->process_start_mono_ns = ns - 10000000;
	h->device_level = GST_LEVEL_CUPTI;
	snprintf(h->cmdline, sizeof(h->cmdline), "%s", command);
	gst_image_seal(&flow->image);
	flow->image.last_ticks = ns;
	flow->file = fopen(path, "wb");
	if (!flow->file || fseek(flow->file, GST_SEGMENTS_OFFSET, SEEK_SET) < 0) {
		gst_image_free(&flow->image);
		return false;
	}
	begin_segment(flow);
	return true;
}

void gst_flow_add(struct gst_flow *flow, uint16_t type, const void *record, size_t size)
{
	if (flow->failed || gst_image_add(&flow->image, type, record, size, true))
		return;
	write_segment(flow);
	begin_segment(flow);
	flow->failed |= gst_image_add(&flow->image, type, record, size, true) == 0;
}

void gst_flow_name(struct gst_flow *flow, uint16_t space, uint32_t id, const char *text)
{
	flow->failed |= gst_image_name(&flow->image, space, id, text, strlen(text)) == 0;
}

bool gst_flow_close(struct gst_flow *flow, uint64_t ns)
{
	struct gst_counters *c = gst_image_counters(&flow->image);

	write_segment(flow);
	c->last_ticks = ns;
	c->exited = 1;
	flow->failed |= fseek(flow->file, 0, SEEK_SET) < 0 ||
			fwrite(flow->image.bytes, 1, GST_SEGMENTS_OFFSET, flow->file) != GST_SEGMENTS_OFFSET;
	flow->failed |= fclose(flow->file) != 0;
	gst_image_free(&flow->image);
	return !flow->failed;
}
