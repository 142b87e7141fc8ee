/* SPDX-License-Identifier: BSD-2-Clause */
#include "reader_types.h"

static uint16_t process_size(uint16_t type)
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
		[GST_BUSY] = sizeof(struct gst_busy),
		[GST_KEPT] = sizeof(struct gst_kept),
		[GST_ACTIVITY] = sizeof(struct gst_activity),
		[GST_BURST] = sizeof(struct gst_burst),
		[GST_LEVEL] = sizeof(struct gst_level),
		[GST_COMM] = sizeof(struct gst_comm),
		[GST_NCCL] = sizeof(struct gst_nccl),
		[GST_RANGE] = sizeof(struct gst_range),
		[GST_RANGE_DATA] = sizeof(struct gst_range_data),
		[GST_NVTX] = sizeof(struct gst_nvtx),
		[GST_STACK] = sizeof(struct gst_stack),
		[GST_STACK_AT] = sizeof(struct gst_stack_at),
		[GST_OBJECT] = sizeof(struct gst_object),
		[GST_CODE] = sizeof(struct gst_code),
		[GST_STACK_COST] = sizeof(struct gst_stack_cost),
		[GST_BLOCK] = sizeof(struct gst_block),
		[GST_MAPPING] = sizeof(struct gst_mapping),
		[GST_POOL] = sizeof(struct gst_pool),
		[GST_MEMORY_LEFT] = sizeof(struct gst_memory_left),
	};

	return type < sizeof(size) / sizeof(size[0]) ? size[type] : 0;
}

static uint16_t host_size(uint16_t type)
{
	static const uint16_t size[] = {
		[GST_NAME] = sizeof(struct gst_name),         [GST_KEPT] = sizeof(struct gst_kept),
		[GST_PROBES] = sizeof(struct gst_probes),     [GST_TASK] = sizeof(struct gst_task),
		[GST_TASK_END] = sizeof(struct gst_task_end), [GST_WAIT] = sizeof(struct gst_wait),
		[GST_STALLS] = sizeof(struct gst_stalls),     [GST_REQUEST] = sizeof(struct gst_request),
		[GST_RECLAIM] = sizeof(struct gst_reclaim),   [GST_PIPE_END] = sizeof(struct gst_pipe_end),
		[GST_PRESSURE] = sizeof(struct gst_pressure), [GST_ON_CPU] = sizeof(struct gst_on_cpu),
		[GST_WRITTEN] = sizeof(struct gst_written),
	};

	return type < sizeof(size) / sizeof(size[0]) ? size[type] : 0;
}

uint16_t record_size(uint32_t kind, uint16_t type)
{
	return kind == GST_FILE_HOST ? host_size(type) : process_size(type);
}

uint64_t record_ticks(const struct gst_record *h)
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
	case GST_BUSY:
		return ((const struct gst_busy *)h)->ticks;
	case GST_NCCL:
		return ((const struct gst_nccl *)h)->end;
	case GST_BURST:
		return ((const struct gst_burst *)h)->end;
	case GST_RANGE:
		return ((const struct gst_range *)h)->end ? ((const struct gst_range *)h)->end
							  : ((const struct gst_range *)h)->begin;
	case GST_NVTX:
		return ((const struct gst_nvtx *)h)->ticks;
	case GST_BLOCK:
		return ((const struct gst_block *)h)->ticks;
	case GST_MAPPING:
		return ((const struct gst_mapping *)h)->ticks;
	case GST_POOL:
		return ((const struct gst_pool *)h)->ticks;
	case GST_MEMORY_LEFT:
		return ((const struct gst_memory_left *)h)->ticks;
	case GST_TASK:
		return ((const struct gst_task *)h)->begin;
	case GST_TASK_END:
		return ((const struct gst_task_end *)h)->at;
	case GST_WAIT:
		return ((const struct gst_wait *)h)->in;
	case GST_STALLS:
		return ((const struct gst_stalls *)h)->end;
	case GST_REQUEST:
		return ((const struct gst_request *)h)->done;
	case GST_RECLAIM:
		return ((const struct gst_reclaim *)h)->end;
	case GST_WRITTEN:
		return ((const struct gst_written *)h)->end;
	case GST_PIPE_END:
		return ((const struct gst_pipe_end *)h)->at;
	case GST_PRESSURE:
		return ((const struct gst_pressure *)h)->end;
	case GST_ON_CPU:
		return ((const struct gst_on_cpu *)h)->at;
	default:
		return 0;
	}
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
