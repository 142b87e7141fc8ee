/* SPDX-License-Identifier: BSD-2-Clause */
/* objects.h: what the driver's opaque handles point to. All locked. */
#pragma once

#include "slab.h"
#include "timeline.h"

struct capture;

/* Nodes of one graph, each once. Zeroed is empty. */
struct node_list {
	CUgraphNode *nodes;
	unsigned count, room;
};

/* A stream is the last operation submitted to it: whatever comes next waits for that one. */
struct CUstream_st {
	CUcontext context;
	struct op *last; /* a reference; NULL: nothing pending that anybody must wait for */
	unsigned number; /* in the truth log; 0: legacy default */
	unsigned flags;
	int priority;
	bool legacy;
	uint64_t owner;  /* per-thread default stream of that thread; 0: an ordinary stream */
	struct capture *capture;   /* NULL: operations are enqueued */
	struct node_list frontier; /* what the capture's next node here depends on */
	struct CUstream_st *next_captured; /* in the same capture */
	struct CUstream_st *next; /* in its context */
};

/* The last operation of a stream that was destroyed with work pending. */
struct orphan {
	struct op *op;
	bool blocking;
};

struct CUctx_st {
	unsigned long long id;
	int device;
	unsigned flags;
	bool primary;
	bool destroyed;
	CUresult sticky; /* the error every call returns from now on */
	unsigned long long limits[CU_LIMIT_MAX];
	struct CUstream_st legacy;
	struct CUstream_st *streams;
	struct orphan *orphans;
	unsigned orphan_count, orphan_room;
	struct CUmod_st *modules;
};

struct CUevent_st {
	CUcontext context;
	struct op *op; /* the last record; NULL: never recorded */
	unsigned flags;
	uint64_t capture_id;     /* the last record was captured by that one; 0: it was not */
	struct node_list recorded; /* the stream's frontier at that time */
};

struct CUfunc_st {
	struct CUmod_st *module;
	const char *name; /* interned */
	uint64_t duration_ns;
	int max_dynamic_shared, carveout;
	struct CUfunc_st *next; /* in its module */
};

struct module_global {
	const char *name;
	CUdeviceptr address;
	struct module_global *next;
};

struct CUmod_st {
	CUcontext context;
	struct CUfunc_st *functions;
	struct module_global *globals;
	struct CUmod_st *next; /* in its context */
};

extern struct slab context_slab, stream_slab, event_slab, module_slab, function_slab;
