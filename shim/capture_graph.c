/* SPDX-License-Identifier: BSD-2-Clause */
/* Captures and graphs: see capture.h. */
#include "capture.h"
#include "captures.h"
#include "gate.h"
#include "graph.h"
#include "names.h"

/* ---- captures -------------------------------------------------------------------------------------------------------- */

void capture_begin(struct call *c)
{
	if (c->thread)
		gate_close();
}

void capture_began(struct call *c, CUresult rc, CUstream s)
{
	struct stream_key key;

	if (!c->thread)
		return;
	if (rc == CUDA_SUCCESS) {
		struct stream *stream = stream_get(c->thread, s);

		key = stream_key_of(c->thread, s);
		key.context = stream ? stream->context : thread_context(c->thread);
		captures_add(&key);
	}
	gate_open();
}

/* A capture that was invalidated ends with an error; an end asked for in the wrong thread ends nothing. The stream knows. */
void capture_ended(struct call *c, CUresult rc, CUstream s)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	struct stream_key key;

	if (!c->thread || !__atomic_load_n(&gate.captures, __ATOMIC_SEQ_CST))
		return;
	key = stream_key_of(c->thread, s);
	if (captures_has(&key) && (rc == CUDA_SUCCESS || (INJECT(cuStreamIsCapturing, s, &status) == CUDA_SUCCESS &&
							  status == CU_STREAM_CAPTURE_STATUS_NONE)))
		captures_remove(&key);
}

/* ---- executable graphs ------------------------------------------------------------------------------------------------- */

void graph_instantiated(struct call *c, CUresult rc, const CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	if (!c->thread || rc != CUDA_SUCCESS || !exec || !*exec)
		return;
	c->record.end = clock_ticks(); /* what we ask now is not the call's doing */
	graph_describe(c->thread, *exec, graph, 0, flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH,
		       c->record.end - c->record.begin);
}

void graph_updated(struct call *c, CUresult rc, CUgraphExec exec, CUgraph graph)
{
	uint32_t base = c->thread && rc == CUDA_SUCCESS ? graph_of(exec) : 0;

	if (!base)
		return;
	c->record.end = clock_ticks();
	graph_describe(c->thread, exec, graph, base, false, c->record.end - c->record.begin);
}

/* Before: as soon as it is gone, another thread may get the handle for a graph of its own. */
void graph_exec_destroy(struct call *c, CUgraphExec exec)
{
	if (c->thread)
		c->record.seq = graph_drop(exec);
}

void graph_exec_destroyed(struct call *c, CUresult rc, CUgraphExec exec)
{
	if (c->thread && rc != CUDA_SUCCESS && c->record.seq)
		graph_keep(exec, c->record.seq);
	c->record.seq = 0; /* it was ours to remember, not the record's */
}

/* ---- changes of one node ----------------------------------------------------------------------------------------------- */

static void change(struct call *c, CUgraphExec exec, CUgraphNode node, uint64_t argument)
{
	if (!c->thread)
		return;
	c->record.seq = graph_of(exec);
	c->record.args[0] = (uintptr_t)node;
	c->record.args[1] = argument;
}

void change_event(struct call *c, CUgraphExec exec, CUgraphNode node, CUevent event)
{
	change(c, exec, node, (uintptr_t)event);
}

void change_enabled(struct call *c, CUgraphExec exec, CUgraphNode node, bool on)
{
	change(c, exec, node, 0);
	if (c->thread)
		c->record.detail = on ? GST_CHANGE_ON : GST_CHANGE_OFF;
}

static void kernel_is(struct call *c, CUgraphExec exec, CUgraphNode node, const void *function)
{
	if (!c->thread)
		return;
	change(c, exec, node, 0);
	c->record.name = names_kernel(c->thread, function);
}

void change_kernel_v1(struct call *c, CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	if (p)
		kernel_is(c, exec, node, p->func);
}

void change_kernel(struct call *c, CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p)
{
	if (p)
		kernel_is(c, exec, node, p->func ? (const void *)p->func : (const void *)p->kern);
}

void change_copy(struct call *c, CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *p)
{
	if (!c->thread || !p)
		return;
	change(c, exec, node, p->WidthInBytes * p->Height * p->Depth);
	c->record.detail = (uint16_t)copy_kind_3d(c->thread, p);
}

void change_memset(struct call *c, CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *p)
{
	if (p)
		change(c, exec, node, p->width * p->height * p->elementSize);
}

void change_any(struct call *c, CUgraphExec exec, CUgraphNode node, const CUgraphNodeParams *p)
{
	if (!p)
		return;
	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		kernel_is(c, exec, node, p->kernel.func ? (const void *)p->kernel.func : (const void *)p->kernel.kern);
		break;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		change_copy(c, exec, node, &p->memcpy.copyParams);
		break;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		change(c, exec, node, p->memset.width * p->memset.height * p->memset.elementSize);
		break;
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		change_event(c, exec, node, p->eventRecord.event);
		break;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		change_event(c, exec, node, p->eventWait.event);
		break;
	default: /* nothing of it is written down */
		break;
	}
}

/* The new child graph has the old one's shape, or the driver refuses it. */
void changed_child(struct call *c, CUresult rc, CUgraphExec exec)
{
	if (c->thread && rc == CUDA_SUCCESS)
		graph_same(c->thread, exec, graph_of(exec));
}
