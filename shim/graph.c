/* SPDX-License-Identifier: BSD-2-Clause */
#include "graph.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "copy_kind.h"
#include "file.h"
#include "gate.h"
#include "names.h"
#include "self_time.h"
#include "stream.h"

#define EXECS 4096 /* power of two: executable graphs that are remembered */
#define PROBES 16
#define DESCRIBED_MAX 32768u
#define EDGES_MAX (4u * DESCRIBED_MAX)
#define DEPTH_MAX 8 /* of child graphs within each other */
#define BATCH 64
#define EDGE_BATCH 1024u

/* What the questions may take: this much in all, a share of the run, and a share of the calls that make and update graphs. Beyond it a
 * program that does so in a hot loop gets graphs that are counted only, and updates that are not looked into. */
#define FREE_NS 20000000ull
#define SHARE_OF_RUN 64
#define SHARE_OF_CALLS 4

/* ---- which structure an executable graph has ------------------------------------------------------------------------- */

static struct exec {
	uint64_t handle; /* 0 free */
	uint32_t id;
} execs[EXECS];
static uint32_t last_id;

static struct exec *probe(CUgraphExec exec, unsigned i)
{
	return &execs[(((uintptr_t)exec * 0x9e3779b97f4a7c15u >> 40) + i) % EXECS];
}

static struct exec *find(CUgraphExec exec)
{
	for (unsigned i = 0; exec && i < PROBES; i++) {
		struct exec *e = probe(exec, i);

		if (__atomic_load_n(&e->handle, __ATOMIC_ACQUIRE) == (uintptr_t)exec)
			return e;
	}
	return NULL;
}

uint32_t graph_of(CUgraphExec exec)
{
	const struct exec *e = find(exec);
	uint32_t id = e ? __atomic_load_n(&e->id, __ATOMIC_ACQUIRE) : 0;

	/* the place may have gone to another graph between the two */
	return e && __atomic_load_n(&e->handle, __ATOMIC_ACQUIRE) == (uintptr_t)exec ? id : 0;
}

void graph_keep(CUgraphExec exec, uint32_t id)
{
	struct exec *e = find(exec), *oldest = probe(exec, 0);
	uint64_t none = 0;

	for (unsigned i = 0; !e && i < PROBES; i++, none = 0) {
		struct exec *place = probe(exec, i);

		if (__atomic_compare_exchange_n(&place->handle, &none, (uintptr_t)exec, false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			e = place;
		else if (__atomic_load_n(&place->id, __ATOMIC_RELAXED) < __atomic_load_n(&oldest->id, __ATOMIC_RELAXED))
			oldest = place;
	}
	if (!e) {
		e = oldest;
		__atomic_store_n(&e->id, 0, __ATOMIC_RELEASE);
		__atomic_store_n(&e->handle, (uintptr_t)exec, __ATOMIC_RELEASE);
		__atomic_fetch_add(&file_counters()->graphs_untracked, 1, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&e->id, id, __ATOMIC_RELEASE);
}

uint32_t graph_drop(CUgraphExec exec)
{
	struct exec *e = find(exec);
	uint32_t id = e ? __atomic_exchange_n(&e->id, 0, __ATOMIC_ACQ_REL) : 0;

	if (e)
		__atomic_store_n(&e->handle, 0, __ATOMIC_RELEASE);
	return id;
}

/* ---- asking ---------------------------------------------------------------------------------------------------------- */

struct walk {
	struct thread *thread;
	struct gst_graph graph;
	bool describe, failed;
	bool several;     /* devices: each node's is asked for */
	uint64_t context; /* of the last kernel, and its device: ordinal + 1, 0 not known */
	uint8_t context_device;
	unsigned batched;
	struct gst_graph_node batch[BATCH];
};

/* Room for n entries of a list, to be filled and committed; NULL: counted as dropped. */
static void *list_new(struct walk *w, uint16_t type, uint32_t n, size_t each)
{
	struct gst_graph_list *list =
		ring_reserve(&w->thread->ring, type, (uint16_t)(sizeof(struct gst_graph_list) + n * each));

	if (!list)
		return NULL;
	list->graph = w->graph.graph;
	list->count = n;
	return list + 1;
}

static void list_end(void *entries)
{
	ring_commit((struct gst_graph_list *)entries - 1);
}

static void flush(struct walk *w)
{
	void *to = w->batched ? list_new(w, GST_GRAPH_NODES, w->batched, sizeof(w->batch[0])) : NULL;

	if (to) {
		memcpy(to, w->batch, w->batched * sizeof(w->batch[0]));
		list_end(to);
	}
	w->batched = 0;
}

/* Room for what the driver answers: a graph of a few nodes needs no pages. */
struct answer {
	void *at;
	size_t bytes;
	CUgraphNode small[96];
};

static bool answer_new(struct answer *a, size_t bytes)
{
	a->bytes = bytes;
	a->at = a->small;
	if (bytes <= sizeof(a->small))
		return true;
	a->at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return a->at != MAP_FAILED;
}

static void answer_free(struct answer *a)
{
	if (a->at != a->small && a->at != MAP_FAILED)
		munmap(a->at, a->bytes);
}

static uint8_t device_number(int ordinal)
{
	return ordinal >= 0 && ordinal < UINT8_MAX ? (uint8_t)(ordinal + 1) : 0;
}

static uint8_t device_of_context(struct walk *w, CUcontext context)
{
	if (!w->several || !context)
		return 0;
	if (w->context != (uintptr_t)context) {
		w->context = (uintptr_t)context;
		w->context_device = device_number(streams_device(w->context));
	}
	return w->context_device;
}

static uint8_t device_of_memory(const struct walk *w, CUdeviceptr pointer)
{
	int ordinal = -1;

	if (!w->several ||
	    INJECT(cuPointerGetAttribute, &ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer) != CUDA_SUCCESS)
		return 0;
	return device_number(ordinal);
}

static void describe_copy(struct walk *w, const CUDA_MEMCPY3D *copy, struct gst_graph_node *n)
{
	uint8_t to;

	n->arg = copy->WidthInBytes * copy->Height * copy->Depth;
	n->kind = (uint8_t)copy_kind_3d(w->thread, copy);
	if (n->kind == GST_COPY_H2D_PAGEABLE || n->kind == GST_COPY_H2D_PINNED)
		n->device = device_of_memory(w, copy->dstDevice);
	if (n->kind == GST_COPY_D2H_PAGEABLE || n->kind == GST_COPY_D2H_PINNED || n->kind == GST_COPY_D2D ||
	    n->kind == GST_COPY_PEER)
		n->device = device_of_memory(w, copy->srcDevice);
	if ((n->kind != GST_COPY_D2D && n->kind != GST_COPY_PEER) || !n->device)
		return;
	to = device_of_memory(w, copy->dstDevice);
	if (!to) {
		n->device = 0;
	} else if (to != n->device) {
		n->other = to;
		n->kind = GST_COPY_PEER;
	}
}

static void describe_kernel(struct walk *w, CUgraphNode node, struct gst_graph_node *n)
{
	CUDA_KERNEL_NODE_PARAMS_v2 p = { 0 };
	CUlaunchAttributeValue updatable = { 0 };

	if (INJECT(cuGraphKernelNodeGetParams_v2, node, &p) == CUDA_SUCCESS) {
		n->name = names_kernel(w->thread, p.func ? (const void *)p.func : (const void *)p.kern);
		n->device = device_of_context(w, p.ctx);
	}
	if (INJECT(cuGraphKernelNodeGetAttribute, node, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &updatable) ==
		    CUDA_SUCCESS &&
	    updatable.deviceUpdatableKernelNode.deviceUpdatable)
		w->graph.flags |= GST_GRAPH_OPEN;
}

static void describe_node(struct walk *w, CUgraphNode node, struct gst_graph_node *n)
{
	CUDA_MEMCPY3D copy = { 0 };
	CUDA_MEMSET_NODE_PARAMS_v1 set = { 0 };
	CUevent event = NULL;

	switch (n->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		describe_kernel(w, node, n);
		break;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		if (INJECT(cuGraphMemcpyNodeGetParams, node, &copy) == CUDA_SUCCESS)
			describe_copy(w, &copy, n);
		break;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		if (INJECT(cuGraphMemsetNodeGetParams, node, &set) != CUDA_SUCCESS)
			break;
		n->arg = set.width * set.height * set.elementSize;
		n->device = device_of_memory(w, set.dst);
		break;
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		if (INJECT(cuGraphEventRecordNodeGetEvent, node, &event) == CUDA_SUCCESS)
			n->arg = (uintptr_t)event;
		break;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		if (INJECT(cuGraphEventWaitNodeGetEvent, node, &event) == CUDA_SUCCESS)
			n->arg = (uintptr_t)event;
		break;
	default:
		break;
	}
}

static void walk_graph(struct walk *w, CUgraph graph, CUgraphNode parent, unsigned depth);

static void add_node(struct walk *w, CUgraphNode node, CUgraphNode parent, unsigned depth)
{
	struct gst_graph_node n = { .node = (uintptr_t)node, .parent = (uintptr_t)parent };
	CUgraphNodeType type;
	CUgraph child = NULL;

	if (INJECT(cuGraphNodeGetType, node, &type) != CUDA_SUCCESS) {
		w->failed = true;
		return;
	}
	n.type = (uint8_t)type;
	w->graph.nodes++;
	w->graph.work += type <= CU_GRAPH_NODE_TYPE_MEMSET;
	if (type >= CU_GRAPH_NODE_TYPE_CONDITIONAL)
		w->graph.flags |= GST_GRAPH_OPEN;
	if (w->describe && w->graph.described < DESCRIBED_MAX) {
		describe_node(w, node, &n);
		w->graph.described++;
		w->batch[w->batched++] = n;
		if (w->batched == BATCH)
			flush(w);
	}
	if (type != CU_GRAPH_NODE_TYPE_GRAPH)
		return;
	if (depth < DEPTH_MAX && INJECT(cuGraphChildGraphNodeGetGraph, node, &child) == CUDA_SUCCESS)
		walk_graph(w, child, node, depth + 1);
	else
		w->failed = true;
}

/* Three arrays one after the other: from, to, and what the driver insists on telling of each edge. */
static bool ask_edges(CUgraph graph, CUgraphNode *from, size_t *n)
{
	CUgraphNode *to = from + *n;

	return INJECT(cuGraphGetEdges_v2, graph, from, to, (CUgraphEdgeData *)(void *)(to + *n), n) == CUDA_SUCCESS ||
	       INJECT(cuGraphGetEdges, graph, from, to, n) == CUDA_SUCCESS;
}

static void write_edges(struct walk *w, const CUgraphNode *from, const CUgraphNode *to, size_t n)
{
	for (size_t i = 0; i < n;) {
		uint32_t count = n - i < EDGE_BATCH ? (uint32_t)(n - i) : EDGE_BATCH;
		struct gst_graph_edge *e = list_new(w, GST_GRAPH_EDGES, count, sizeof(*e));

		for (uint32_t k = 0; e && k < count; k++)
			e[k] = (struct gst_graph_edge){ (uintptr_t)from[i + k], (uintptr_t)to[i + k] };
		if (e)
			list_end(e);
		i += count;
	}
	w->graph.edges += (uint32_t)n;
}

static void walk_edges(struct walk *w, CUgraph graph)
{
	struct answer a;
	size_t n = 0, asked;

	if (!w->describe || (w->graph.flags & GST_GRAPH_NO_EDGES))
		return;
	if ((INJECT(cuGraphGetEdges_v2, graph, NULL, NULL, NULL, &n) != CUDA_SUCCESS &&
	     INJECT(cuGraphGetEdges, graph, NULL, NULL, &n) != CUDA_SUCCESS) ||
	    n > EDGES_MAX - w->graph.edges) {
		w->graph.flags |= GST_GRAPH_NO_EDGES;
		return;
	}
	asked = n;
	if (answer_new(&a, n * (2 * sizeof(CUgraphNode) + sizeof(CUgraphEdgeData))) &&
	    (n == 0 || (ask_edges(graph, a.at, &n) && n <= asked)))
		write_edges(w, a.at, (CUgraphNode *)a.at + asked, n);
	else
		w->graph.flags |= GST_GRAPH_NO_EDGES;
	answer_free(&a);
}

static void walk_graph(struct walk *w, CUgraph graph, CUgraphNode parent, unsigned depth)
{
	struct answer a;
	size_t n = 0, asked;

	if (INJECT(cuGraphGetNodes, graph, NULL, &n) != CUDA_SUCCESS) {
		w->failed = true;
		return;
	}
	asked = n;
	if (answer_new(&a, n * sizeof(CUgraphNode)) &&
	    (n == 0 || (INJECT(cuGraphGetNodes, graph, a.at, &n) == CUDA_SUCCESS && n <= asked))) {
		for (size_t i = 0; i < n && !w->failed; i++)
			add_node(w, ((CUgraphNode *)a.at)[i], parent, depth);
		walk_edges(w, graph);
	} else {
		w->failed = true;
	}
	answer_free(&a);
}

/* ---- writing --------------------------------------------------------------------------------------------------------- */

static uint64_t spent_ticks, earned_ticks, first_ticks;

static bool over_budget(uint64_t call_ticks)
{
	uint64_t now = clock_ticks(), none = 0;
	uint64_t earned = __atomic_add_fetch(&earned_ticks, call_ticks / SHARE_OF_CALLS, __ATOMIC_RELAXED);

	if (__atomic_compare_exchange_n(&first_ticks, &none, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		none = now;
	return __atomic_load_n(&spent_ticks, __ATOMIC_RELAXED) >
	       clock_ticks_in(FREE_NS) + earned + (now - none) / SHARE_OF_RUN;
}

static void publish(struct walk *w)
{
	w->graph.end = clock_ticks();
	ring_append(&w->thread->ring, GST_GRAPH, sizeof(w->graph), &w->graph);
	graph_keep((CUgraphExec)(uintptr_t)w->graph.exec, w->graph.graph);
}

static struct gst_graph graph_new(CUgraphExec exec, uint32_t base, uint16_t flags)
{
	return (struct gst_graph){ .graph = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED),
				   .base = base,
				   .exec = (uintptr_t)exec,
				   .flags = flags };
}

void graph_same(struct thread *t, CUgraphExec exec, uint32_t base)
{
	struct walk w = { .thread = t, .graph = graph_new(exec, base, GST_GRAPH_SAME) };

	if (base)
		publish(&w);
}

static void walk(struct walk *w, CUgraph graph)
{
	uint64_t begin = clock_ticks(), took;
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	uint32_t captures = __atomic_load_n(&gate.captures, __ATOMIC_RELAXED);
	int saved_errno = errno;
	char name[64];

	w->several = INJECT(cuDeviceGetName, name, (int)sizeof(name), 1) == CUDA_SUCCESS; /* there is a second one */
	if (captures) /* somebody's capture in mode `global` must not take our questions amiss */
		INJECT(cuThreadExchangeStreamCaptureMode, &mode);
	walk_graph(w, graph, NULL, 0);
	if (captures)
		INJECT(cuThreadExchangeStreamCaptureMode, &mode);
	flush(w);
	errno = saved_errno;
	took = clock_ticks() - begin;
	__atomic_fetch_add(&spent_ticks, took, __ATOMIC_RELAXED);
	self_time_injected(w->thread, took);
}

void graph_describe(struct thread *t, CUgraphExec exec, CUgraph graph, uint32_t base, bool open, uint64_t call_ticks)
{
	struct walk w = { .thread = t, .describe = !over_budget(call_ticks) };

	if (base && !w.describe) {
		graph_same(t, exec, base);
		return;
	}
	w.graph = graph_new(exec, base, open ? GST_GRAPH_OPEN : 0);
	walk(&w, graph);
	if (!w.failed) {
		publish(&w);
		return;
	}
	graph_drop(exec);
	__atomic_fetch_add(&file_counters()->graphs_untracked, 1, __ATOMIC_RELAXED);
}

void graphs_forget(void)
{
	memset(execs, 0, sizeof(execs));
	last_id = 0;
	spent_ticks = earned_ticks = first_ticks = 0;
}
