/* SPDX-License-Identifier: BSD-2-Clause */
#include "reader_types.h"

#include <stddef.h>
#include <string.h>

/* One size, and nothing about it that the reader must note. */
#define PLAIN(type, name, ticks_field) [type] = { sizeof(struct name), offsetof(struct name, ticks_field), true }
#define TIMED(type, name, ticks_field) [type] = { sizeof(struct name), offsetof(struct name, ticks_field), false }
#define TIMELESS(type, name) [type] = { sizeof(struct name), 0, false }

static const struct record_form process_forms[RECORD_FORMS] = {
	PLAIN(GST_CALL, gst_call, end),
	TIMELESS(GST_NAME, gst_name),
	TIMELESS(GST_STREAM, gst_stream),
	TIMELESS(GST_DEVICE, gst_device),
	TIMELESS(GST_ANCHOR, gst_anchor),
	TIMELESS(GST_EDGE, gst_edge),
	PLAIN(GST_POLL, gst_poll, end),
	PLAIN(GST_SAMPLE, gst_sample, ticks),
	PLAIN(GST_USAGE, gst_usage, ticks),
	TIMELESS(GST_THREAD, gst_thread),
	TIMED(GST_GRAPH, gst_graph, end),
	TIMELESS(GST_GRAPH_NODES, gst_graph_list),
	TIMELESS(GST_GRAPH_EDGES, gst_graph_list),
	TIMED(GST_BUSY, gst_busy, ticks),
	TIMELESS(GST_KEPT, gst_kept),
	TIMELESS(GST_ACTIVITY, gst_activity),
	TIMED(GST_BURST, gst_burst, end),
	TIMELESS(GST_LEVEL, gst_level),
	TIMED(GST_COMM, gst_comm, ticks),
	TIMED(GST_NCCL, gst_nccl, end),
	TIMED(GST_RANGE, gst_range, end),
	TIMELESS(GST_RANGE_DATA, gst_range_data),
	TIMED(GST_NVTX, gst_nvtx, ticks),
	TIMELESS(GST_STACK, gst_stack),
	TIMELESS(GST_STACK_AT, gst_stack_at),
	TIMELESS(GST_OBJECT, gst_object),
	TIMELESS(GST_CODE, gst_code),
	TIMELESS(GST_STACK_COST, gst_stack_cost),
	PLAIN(GST_BLOCK, gst_block, ticks),
	TIMED(GST_MAPPING, gst_mapping, ticks),
	TIMED(GST_POOL, gst_pool, ticks),
	TIMED(GST_MEMORY_LEFT, gst_memory_left, ticks),
};

static const struct record_form host_forms[RECORD_FORMS] = {
	TIMELESS(GST_NAME, gst_name),           TIMELESS(GST_KEPT, gst_kept),
	TIMELESS(GST_PROBES, gst_probes),       TIMED(GST_TASK, gst_task, begin),
	TIMED(GST_TASK_END, gst_task_end, at),  PLAIN(GST_WAIT, gst_wait, in),
	PLAIN(GST_STALLS, gst_stalls, end),     TIMED(GST_REQUEST, gst_request, done),
	TIMED(GST_RECLAIM, gst_reclaim, end),   TIMED(GST_PIPE_END, gst_pipe_end, at),
	TIMED(GST_PRESSURE, gst_pressure, end), TIMED(GST_ON_CPU, gst_on_cpu, at),
	TIMED(GST_WRITTEN, gst_written, end),
};

const struct record_form *record_forms(uint32_t kind)
{
	return kind == GST_FILE_HOST ? host_forms : process_forms;
}

uint16_t record_size(uint32_t kind, uint16_t type)
{
	return type < RECORD_FORMS ? record_forms(kind)[type].size : 0;
}

uint64_t record_ticks(const struct gst_record *h)
{
	uint8_t at = 0;
	uint64_t ticks = 0;

	if (h->type < RECORD_FORMS)
		at = process_forms[h->type].size ? process_forms[h->type].ticks_at : host_forms[h->type].ticks_at;
	if (at)
		memcpy(&ticks, (const char *)h + at, sizeof(ticks));
	/* a range that was open when its thread ended */
	return ticks || h->type != GST_RANGE ? ticks : ((const struct gst_range *)h)->begin;
}

static bool rest_fits(const struct gst_record *h, uint16_t size)
{
	uint32_t rest = h->size - (uint32_t)size;

	switch (h->type) {
	case GST_NAME:
		return ((const struct gst_name *)h)->length <= rest;
	case GST_BUSY:
		return ((const struct gst_busy *)h)->count <= rest / 4;
	case GST_RANGE_DATA:
		return ((const struct gst_range_data *)h)->kept <= rest;
	case GST_STACK:
		return ((const struct gst_stack *)h)->count * sizeof(struct gst_frame) <= rest;
	case GST_OBJECT:
		return ((const struct gst_object *)h)->path_bytes <= rest;
	case GST_CODE:
		return (uint32_t)((const struct gst_code *)h)->file_bytes + ((const struct gst_code *)h)->name_bytes <=
		       rest;
	case GST_GRAPH_NODES:
		return ((const struct gst_graph_list *)h)->count == rest / sizeof(struct gst_graph_node);
	case GST_GRAPH_EDGES:
		return ((const struct gst_graph_list *)h)->count == rest / sizeof(struct gst_graph_edge);
	case GST_ON_CPU:
		return ((const struct gst_on_cpu *)h)->count <= rest / sizeof(uint64_t);
	default:
		return false;
	}
}

static bool has_rest(uint16_t type)
{
	switch (type) {
	case GST_NAME:
	case GST_BUSY:
	case GST_RANGE_DATA:
	case GST_STACK:
	case GST_OBJECT:
	case GST_CODE:
	case GST_GRAPH_NODES:
	case GST_GRAPH_EDGES:
	case GST_ON_CPU:
		return true;
	default:
		return false;
	}
}

bool record_fits(uint32_t kind, const struct gst_record *h)
{
	uint16_t size = record_size(kind, h->type);

	if (size == 0)
		return true;
	if (!has_rest(h->type))
		return h->size == size;
	return h->size >= size && (!h->commit || rest_fits(h, size));
}
