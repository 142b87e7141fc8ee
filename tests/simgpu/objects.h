/* SPDX-License-Identifier: BSD-2-Clause */
/* objects.h: what the driver's opaque handles point to. All locked. */
#pragma once

#include "slab.h"
#include "timeline.h"

struct capture;
struct kernel_body_call;

/* Nodes of one graph, each once. Zeroed is empty. */
struct node_list {
	CUgraphNode *nodes;
	unsigned count, room;
};

/* What cuStreamSetAttribute keeps. Zeroed is the default. */
struct stream_attributes {
	CUaccessPolicyWindow window;
	CUsynchronizationPolicy policy; /* 0: CU_SYNC_POLICY_AUTO */
	CUlaunchMemSyncDomainMap map;
	CUlaunchMemSyncDomain domain;
};

/* A stream is the last operation submitted to it: whatever comes next waits for that one. */
struct CUstream_st {
	CUcontext context;
	struct op *last; /* a reference; NULL: nothing pending that anybody must wait for */
	unsigned number; /* in the truth log; 0: legacy default */
	unsigned flags;
	int priority;
	struct stream_attributes attributes;
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
	unsigned attached; /* by cuCtxAttach */
	CUresult sticky; /* the error every call returns from now on */
	unsigned long long limits[CU_LIMIT_MAX];
	struct CUstream_st legacy;
	struct CUstream_st *streams;
	struct orphan *orphans;
	unsigned orphan_count, orphan_room;
	struct CUmod_st *modules;
	struct op *barrier; /* of cuCtxWaitEvent: what streams created later wait for; NULL: nothing */
};

struct CUevent_st {
	CUcontext context;
	struct op *op; /* the last record; NULL: never recorded */
	unsigned flags;
	uint64_t capture_id;     /* the last record was captured by that one; 0: it was not */
	struct node_list recorded; /* the stream's frontier at that time */
};

/* What cuFuncSetAttribute sets; of a kernel, for each device. */
struct function_settings {
	int max_dynamic_shared, carveout;
};

/* The state of the calls of CUDA 3: cuFuncSetBlockShape, cuParamSet*, cuFuncSetSharedSize. */
struct function_legacy {
	int bx, by, bz;
	unsigned shared, parameter_bytes;
};

struct CUfunc_st {
	struct CUmod_st *module;
	const char *name; /* interned */
	bool loaded;      /* it has been launched */
	uint64_t duration_ns;
	struct function_settings own, *settings; /* its own, or the kernel's it belongs to */
	struct function_legacy legacy;
	struct CUfunc_st *next; /* in its module */
};

/* A function of no context yet. */
struct CUkern_st {
	struct CUlib_st *library;
	const char *name; /* interned */
	struct function_settings settings[SIM_MAX_DEVICES];
	struct CUkern_st *next; /* in its library */
};

struct CUlib_st {
	struct image *image; /* NULL: nothing is known of it */
	uint64_t (*body)(struct kernel_body_call *); /* of its kernels (kernel_body.h); NULL: they do nothing */
	struct CUkern_st *kernels;
	struct CUmod_st *modules; /* one in each context that asked */
};

struct module_global {
	const char *name;
	CUdeviceptr address;
	struct module_global *next;
};

struct CUmod_st {
	CUcontext context;
	struct image *image;      /* NULL: nothing is known of it; that of its library, if it has one */
	struct CUlib_st *library; /* NULL: loaded by itself */
	struct CUmod_st *sibling; /* in its library */
	struct CUfunc_st *functions;
	struct module_global *globals;
	struct CUmod_st *next; /* in its context */
};

extern struct slab context_slab, stream_slab, event_slab, module_slab, function_slab, kernel_slab, library_slab;
