/* SPDX-License-Identifier: BSD-2-Clause */
/* graph_launch.c: a launch submits every node as an operation between two markers:
 *
 *   the stream's last operation ─┐                  ┌> roots ─> … ─> leaves ─┐
 *   this graph's last launch ────┴─> begin marker ──┴> roots ────> leaves ───┴─> end marker ─> what the stream does next
 *
 * A child graph stands between two markers likewise. Nothing is submitted until all operations exist; then the begin marker
 * is, and all others hang from it. What has dependencies starts GRAPH_GAP_NS after the last of them ended: the device is told
 * by the device, which takes less than a launch. */
#include "call.h"
#include "capture.h"
#include "graph.h"
#include "graph_exec.h"
#include "graph_memory.h"
#include "graph_op.h"
#include "settings.h"
#include "stream.h"

enum {
	GRAPH_GAP_NS = 500,
	GRAPH_LAUNCH_NS = 1000, /* host time of a launch, on top of SIMGPU_LAUNCH_NS */
	GRAPH_NODE_NS = 10      /* and for each node */
};

static void drop_ops(CUgraph graph)
{
	for (unsigned i = 0; i < graph->order.count; i++) {
		CUgraphNode node = graph->order.nodes[i];

		if (node->begin != node->end)
			op_unref(node->begin);
		op_unref(node->end);
		node->begin = node->end = NULL;
		if (node->params.type == CU_GRAPH_NODE_TYPE_GRAPH)
			drop_ops(node->params.graph.graph);
	}
}

static CUresult make_ops(CUgraph graph, int device)
{
	CUresult result = CUDA_SUCCESS;

	for (unsigned i = 0; i < graph->order.count && !result; i++) {
		CUgraphNode node = graph->order.nodes[i];

		result = graph_op_new(node, device, &node->end);
		node->begin = node->end;
		if (result || node->params.type != CU_GRAPH_NODE_TYPE_GRAPH)
			continue;
		node->begin = op_new(OP_WAIT, device);
		result = node->begin ? make_ops(node->params.graph.graph, device) : CUDA_ERROR_OUT_OF_MEMORY;
	}
	return result;
}

/* What the operations of one launch have in common. */
struct launch {
	uint64_t submit_ns;
	unsigned stream, graph;
};

static void stamp(struct op *op, const struct launch *launch)
{
	op->submit_ns = launch->submit_ns;
	op->stream_number = launch->stream;
	op->graph = launch->graph;
}

static void connect_event(CUgraphNode node)
{
	CUevent event = node->params.eventRecord.event;

	if (!slab_holds(&event_slab, event)) /* destroyed since: nothing to record or to wait for */
		return;
	if (node->params.type == CU_GRAPH_NODE_TYPE_WAIT_EVENT) {
		op_after(node->end, event->op);
	} else if (node->params.type == CU_GRAPH_NODE_TYPE_EVENT_RECORD) {
		capture_forget_event(event);
		op_unref(event->op);
		event->op = op_ref(node->end);
	}
}

static bool does_work(const struct op *op)
{
	return op->kind != OP_WAIT && op->kind != OP_EVENT;
}

/* first: nothing of the launch comes before this graph's roots. */
static void connect(CUgraph graph, const struct launch *launch, bool first, struct op *begin, struct op *end)
{
	for (unsigned i = 0; i < graph->order.count; i++) {
		CUgraphNode node = graph->order.nodes[i];

		stamp(node->begin, launch);
		stamp(node->end, launch);
		node->begin->node = node->end->node = (uintptr_t)node;
		if (does_work(node->begin) && !(first && !node->before.count))
			node->begin->gap_ns = GRAPH_GAP_NS;
		if (!node->before.count)
			op_after(node->begin, begin);
		for (unsigned k = 0; k < node->before.count; k++)
			op_after(node->begin, node->before.nodes[k]->end);
		if (node->params.type == CU_GRAPH_NODE_TYPE_GRAPH) {
			op_after(node->end, node->begin);
			connect(node->params.graph.graph, launch, first && !node->before.count, node->begin, node->end);
		}
		connect_event(node);
		if (!node->after.count)
			op_after(end, node->end);
	}
}

/* Memory that the last launch left allocated stands in the way, or is freed first. */
static CUresult settle_memory(CUgraph graph, bool free_it)
{
	for (unsigned i = 0; i < graph->nodes.count; i++) {
		const CUgraphNodeParams *params = &graph->nodes.nodes[i]->params;

		if (params->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC || !graph_memory_live(params->alloc.dptr))
			continue;
		if (!free_it)
			return CUDA_ERROR_INVALID_VALUE;
		graph_memory_free(params->alloc.dptr);
	}
	return CUDA_SUCCESS;
}

static CUresult prepare(CUgraphExec exec, int device)
{
	CUresult result = settle_memory(exec->graph, exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);

	if (result)
		return result;
	result = make_ops(exec->graph, device);
	if (result)
		settle_memory(exec->graph, true); /* what it did allocate */
	return result;
}

static CUresult submit(const struct call *call, CUgraphExec exec, struct CUstream_st *stream)
{
	const struct launch launch = { call->entry_ns, stream->number, exec->number };
	int device = stream->context->device;
	struct op *begin = op_new(OP_WAIT, device), *end = op_new(OP_WAIT, device);
	CUresult result = begin && end ? prepare(exec, device) : CUDA_ERROR_OUT_OF_MEMORY;

	if (!result) {
		end->counted = true;
		op_after(end, begin);
		connect(exec->graph, &launch, true, begin, end);
		op_after(begin, exec->last);
		stream_submit(call, stream, begin);
		op_unref(stream->last);
		stream->last = op_ref(end);
		op_unref(exec->last);
		exec->last = op_ref(end);
	}
	drop_ops(exec->graph);
	op_unref(begin);
	op_unref(end);
	return result;
}

/* A launch into a stream that captures is a child graph there. */
static CUresult capture_launch(struct CUstream_st *stream, CUgraphExec exec)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_GRAPH };

	if (graph_has_memory(exec->graph))
		return CUDA_ERROR_NOT_SUPPORTED;
	params.graph.graph = exec->graph;
	return capture_add(stream, &params);
}

/* Waiting for room releases the lock: whether stream and graph are still there is asked behind it. */
static CUresult launch(const struct call *call, CUgraphExec exec, CUstream s)
{
	struct CUstream_st *stream;
	CUresult result = stream_resolve_capturable(call, s, &stream);
	int device;

	if (result)
		return result;
	if (!slab_holds(&exec_slab, exec))
		return CUDA_ERROR_INVALID_VALUE;
	if (stream->capture)
		return capture_launch(stream, exec);
	device = stream->context->device;
	timeline_wait_for_room(device);
	result = stream_resolve(call, s, &stream);
	if (!result && !slab_holds(&exec_slab, exec))
		result = CUDA_ERROR_INVALID_VALUE;
	if (!result)
		result = submit(call, exec, stream);
	if (result)
		timeline_return_room(device);
	return result;
}

CUresult api_graph_launch(CALL, CUgraphExec exec, CUstream s)
{
	uint64_t host_ns = 0;
	CUresult result;

	sim_lock();
	result = launch(call, exec, s);
	if (!result)
		host_ns = settings()->launch_ns + GRAPH_LAUNCH_NS + (uint64_t)exec->nodes * GRAPH_NODE_NS;
	sim_unlock();
	clock_spin_until(call->entry_ns + host_ns);
	return result;
}

CUresult api_graph_upload(CALL, CUgraphExec exec, CUstream s)
{
	struct CUstream_st *stream;
	struct op *op;
	CUresult result;

	sim_lock();
	result = stream_resolve(call, s, &stream);
	if (!result && !slab_holds(&exec_slab, exec))
		result = CUDA_ERROR_INVALID_VALUE;
	if (!result) {
		op = op_new(OP_WAIT, stream->context->device);
		if (op) {
			op_after(op, exec->last);
			stream_submit(call, stream, op);
			op_unref(op);
		} else {
			result = CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	sim_unlock();
	if (!result)
		clock_spin_until(call->entry_ns + settings()->launch_ns);
	return result;
}
