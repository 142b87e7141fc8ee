/* SPDX-License-Identifier: BSD-2-Clause */
/* graphs.h: what executable graphs hold: from the records of FORMAT.md's "GST_GRAPH" to one structure per contents, and each launch
 * to the structure it ran. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/format.h"
#include "tools/error.h"

enum graph_node_type { /* CUgraphNodeType, the CUDA driver's numbers */
	NODE_KERNEL = 0,
	NODE_COPY = 1,
	NODE_MEMSET = 2,
	NODE_HOST = 3,
	NODE_CHILD = 4,
	NODE_EMPTY = 5,
	NODE_WAIT_EVENT = 6,
	NODE_EVENT_RECORD = 7,
	NODE_SEMAPHORE_WAIT = 9,
	NODE_MEM_OP = 12, /* and all above: conditional nodes and what is to come */
};

struct graph_node {
	uint64_t node, parent; /* handles, the recorder's */
	uint64_t arg;          /* bytes; event */
	uint32_t name;         /* index into trace.kernels, 0 none */
	uint16_t kind;         /* enum gst_copy_kind */
	uint32_t behind;       /* what it waits for last: index + 1 in graph.nodes of one that works or may stand still; 0 none, or not known */
	uint8_t type;          /* enum graph_node_type */
	uint8_t device, other; /* ordinal + 1, 0 not known; of a copy between two devices the other one's */
	bool off;              /* switched off: does nothing */
};

/* One version of what an executable graph holds. Index 0 of trace.graphs is the one of which nothing is known. */
struct graph {
	uint32_t id;             /* the recorder's; 0 unknown */
	uint32_t base;           /* index of the version it replaced, 0 none */
	uint32_t root;           /* id of the first version of the same executable graph, 0 unknown: handles are used again */
	bool counted;            /* `work` is right */
	bool whole;              /* all nodes are in `nodes` */
	bool open;               /* what a launch runs is decided on the device */
	bool unsure;             /* nodes were switched, before the records begin */
	bool stalls;             /* a launch may stand still: for the host, an event, memory, or nobody knows */
	bool anywhere;           /* it may use devices that are not in `devices` */
	uint64_t devices;        /* that its nodes use, those too that are switched off: a bit for each ordinal */
	uint32_t work;           /* kernels, copies and memsets that a launch runs */
	uint32_t levels;         /* nodes on the longest way through it, each of which may begin a little after the one before */
	uint32_t last;           /* like graph_node.behind: of what is behind the whole graph */
	bool shared;             /* other versions have these `nodes` too */
	bool lent;               /* the nodes are another version's, which frees them */
	struct graph_node *nodes; size_t n; /* in an order that respects the dependencies */
};

static inline bool graph_node_works(const struct graph_node *n)
{
	return n->type <= NODE_MEMSET && !n->off;
}

/* It may stand still, for the host, an event, a semaphore or memory. */
static inline bool graph_node_stalls(const struct graph_node *n)
{
	return n->type == NODE_HOST || n->type == NODE_WAIT_EVENT || n->type == NODE_SEMAPHORE_WAIT || n->type >= NODE_MEM_OP;
}

/* Ordinals from here on are not known. */
#define GRAPH_DEVICES 64u

static inline uint64_t graph_device_bit(uint32_t device)
{
	return device < GRAPH_DEVICES ? 1ull << device : 0;
}

/* The device that a node counts on; home: that of the stream it was launched in, where those count that are not known. */
static inline uint32_t graph_node_device(const struct graph_node *n, uint32_t home)
{
	return n->device ? n->device - 1u : home;
}

/* Kernels, copies and memsets that count on this device when launched in a stream of `home`. Over all devices they are g->work. */
uint32_t graph_work_on(const struct graph *g, uint32_t device, uint32_t home);
/* Its nodes are there, or have changed: what they add up to (work, devices, stalls, anywhere). */
void graph_count(struct graph *g);

struct trace;
struct names;
struct graphs; /* while a file is decoded */

enum err_kind graphs_new(struct graphs **out, struct error *e);
void graphs_free(struct graphs *g);
/* A record of one of the three types, its size checked. kept: it was copied, it stands before those of its structure that were not. False: no
 * memory. */
bool graphs_add(struct graphs *g, const struct gst_record *r, bool kept);
/* Nodes of it were switched off or on, nobody knows which: neither it nor what replaced it is known. False: no memory. */
bool graphs_unsure(struct graphs *g, uint32_t id);
/* After the last one: fills trace.graphs. */
bool graphs_publish(struct graphs *g, struct trace *t, const struct names *names);
/* Index of a structure by its id; 0 not known. */
uint32_t graphs_index(const struct trace *t, uint32_t id);
/* Gives every launch the version in force; changes of single nodes make new ones (graph_changes.c). Calls must be in the order of time. */
bool graphs_apply(struct trace *t);
void graphs_release(struct trace *t);
