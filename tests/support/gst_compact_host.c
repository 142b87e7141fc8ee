/* SPDX-License-Identifier: BSD-2-Clause */
#include "gst_compact_host.h"

size_t compact_host_size(uint8_t type)
{
	static const uint8_t sizes[] = {
		[GST_PROBES] = sizeof(struct gst_probes),     [GST_TASK] = sizeof(struct gst_task),
		[GST_TASK_END] = sizeof(struct gst_task_end), [GST_WAIT] = sizeof(struct gst_wait),
		[GST_STALLS] = sizeof(struct gst_stalls),     [GST_REQUEST] = sizeof(struct gst_request),
		[GST_RECLAIM] = sizeof(struct gst_reclaim),   [GST_PIPE_END] = sizeof(struct gst_pipe_end),
		[GST_PRESSURE] = sizeof(struct gst_pressure), [GST_ON_CPU] = sizeof(struct gst_on_cpu),
		[GST_WRITTEN] = sizeof(struct gst_written),
	};

	return type < sizeof(sizes) ? sizes[type] : 0;
}

size_t compact_host_rest(void *record, uint16_t type)
{
	struct gst_on_cpu *on_cpu = record;

	return type == GST_ON_CPU ? (on_cpu->count %= 16) * sizeof(on_cpu->frames[0]) : 0;
}

static void add_task(struct gst_image *image, const struct small *s, uint64_t begin)
{
	struct gst_task task = { .begin = begin,
				 .start_ns = s->extra[0] ? begin - s->extra[0] : 0,
				 .pid_ns = s->extra[1] % 2u,
				 .tid = 1u + s->stream % 8u,
				 .pid = 1u + s->seq % 8u,
				 .own_tid = s->extra[1] % 9u,
				 .own_pid = s->extra[2] % 9u,
				 .creator = s->result % 9u,
				 .flags = s->flags % 32u,
				 .name = "fuzz" };

	gst_image_add(image, GST_TASK, &task, sizeof(task), true);
}

static struct gst_wait_for what_for(const struct small *s)
{
	static const int32_t syscalls[] = { -2, -1, 0, 1, 7, 17, 35, 42, 61, 74, 202, 230, 232, 271 };

	return (struct gst_wait_for){ .arg = s->extra[0] % 4u,
				      .offset = s->extra[1] & 1 ? s->extra[1] * 4096ull : UINT64_MAX,
				      .bytes = s->extra[1] * 512ull,
				      .inode = s->extra[1] % 4u,
				      .file = s->extra[0] % 4u,
				      .syscall = syscalls[s->extra[0] % (sizeof(syscalls) / sizeof(syscalls[0]))],
				      .flags = (uint16_t)(s->flags | (s->result & 1u) << 8),
				      .fd_kind = s->extra[0] % 5u };
}

static void add_rest(struct gst_image *image, const struct small *s, uint64_t begin, uint64_t end)
{
	struct gst_task_end task_end = { .at = end, .tid = 1u + s->stream % 8u };
	struct gst_request request = { .queued = begin,
				       .issued = begin + s->extra[0],
				       .done = end,
				       .tid = 1u + s->stream % 8u,
				       .inode = s->extra[1] % 4u,
				       .flags = s->flags };
	struct gst_reclaim reclaim = {
		.begin = begin, .end = end, .tid = 1u + s->stream % 8u, .pages = s->seq, .group = s->flags & 1u
	};
	struct gst_pipe_end pipe_end = { .at = begin,
					 .inode = s->extra[1] % 4u,
					 .peer = s->extra[2] % 4u,
					 .pid = 1u + s->stream % 8u,
					 .flags = s->flags % 4u,
					 .fd_kind = s->extra[0] % 5u };
	struct gst_pressure pressure = { .begin = begin, .end = end, .cpu_some_us = s->seq, .throttled_us = s->flags };
	struct gst_written written = {
		.begin = begin, .end = end, .tid = 1u + s->stream % 8u, .count = s->seq, .what = what_for(s)
	};

	switch (s->what % 6u) {
	case 0:
		gst_image_add(image, GST_TASK_END, &task_end, sizeof(task_end), true);
		break;
	case 1:
		gst_image_add(image, GST_REQUEST, &request, sizeof(request), true);
		break;
	case 2:
		gst_image_add(image, GST_RECLAIM, &reclaim, sizeof(reclaim), true);
		break;
	case 3:
		gst_image_add(image, GST_PIPE_END, &pipe_end, sizeof(pipe_end), true);
		break;
	case 4:
		gst_image_add(image, GST_WRITTEN, &written, sizeof(written), true);
		break;
	default:
		gst_image_add(image, GST_PRESSURE, &pressure, sizeof(pressure), true);
		break;
	}
}

void compact_host_small(struct gst_image *image, const struct small *s, uint64_t *now)
{
	uint64_t begin = *now + s->wait_us * 1000ull;
	uint64_t length = (s->last_us[0] | (uint64_t)s->last_us[1] << 8) * 100, end = begin + length;
	struct gst_wait wait = { .out = begin,
				 .wake = s->result & 2 ? 0 : begin + length * (s->seq % 5u) / 4,
				 .in = end,
				 .throttled_ns = s->extra[2] * 1000ull,
				 .tid = 1u + s->stream % 8u,
				 .waker = s->seq % 9u,
				 .by = s->result >> 2 & 3,
				 .what = what_for(s) };
	struct gst_stalls stalls = { .begin = begin,
				     .end = end,
				     .blocked_ns = s->extra[2] * 1000ull,
				     .queued_ns = s->seq * 1000ull,
				     .throttled_ns = s->result * 1000ull,
				     .tid = 1u + s->stream % 8u,
				     .count = s->seq,
				     .last_offset = s->extra[2] * 4096ull,
				     .what = what_for(s) };

	switch (s->what >> 6) {
	case 0:
		add_task(image, s, begin);
		break;
	case 1:
		gst_image_add(image, GST_WAIT, &wait, sizeof(wait), !(s->result & 0x80));
		break;
	case 2:
		gst_image_add(image, GST_STALLS, &stalls, sizeof(stalls), true);
		break;
	default:
		add_rest(image, s, begin, end);
		break;
	}
	*now = s->result & 0x40 ? begin : end;
	image->last_ticks = *now;
}
