/* SPDX-License-Identifier: BSD-2-Clause */
/* edge_pool.h: the timing events that edges are made of, a pool for each context. edge.c puts them into streams, edge_read.c reads them; what
 * both need is here, and is no other's.
 *
 * A slot holds an event. NEW (none yet) -> TAKEN (a thread is about to record it) -> PENDING (recorded; from now on the harvester's) -> FREE, or
 * BASE (others are measured against it) and then FREE. A thread that is torn from between leaves it TAKEN for good. */
#pragma once

#include "edge.h"

#define EDGE_POOLS 32 /* contexts */
#define EDGE_POOL_EVENTS 256

enum edge_slot_state { SLOT_NEW, SLOT_FREE, SLOT_TAKEN, SLOT_PENDING, SLOT_BASE };

struct edge_slot {
	uint32_t state;
	CUevent event;
	struct gst_edge edge; /* what is known of it so far */
	uint64_t number;      /* of which edge.edge is the lower half */
	struct stream *stream;
	uint64_t covers;
	bool stalls; /* behind a wait that only the program, or somebody else, can end */
};

#define EDGE_POOL_GONE 1 /* its context is destroyed: free, but not the end of the list */

struct edge_pool {
	uint64_t context; /* 0: never used, nor any behind it */
	struct edge_slot slots[EDGE_POOL_EVENTS];
	uint32_t pending;
	uint32_t anchors;
	uint64_t last_anchor;   /* ticks */
	uint64_t last_edge;     /* ticks */
	uint64_t full_until;    /* ticks: before that none is read to make room */
	struct edge_slot *base; /* harvester's own */
};
extern struct edge_pool edge_pools[EDGE_POOLS];

/* NULL: there are too many contexts. */
struct edge_pool *edge_pool_of(uint64_t context);

/* Inside the gate, with the pool's context current: a slot with an event, TAKEN. make: one may be created. NULL: none is free. */
struct edge_slot *edge_slot_take(struct edge_pool *p, bool make);

/* So many events are there and free, or as many as there is room for. Inside the gate. */
void edge_pool_reserve(struct edge_pool *p, uint32_t count);

/* How many of the pool's that stand in s are not known to have fired. */
uint32_t edge_pool_unfired(const struct edge_pool *p, const struct stream *s);

/* PENDING edges, of all pools, that stall. */
extern uint32_t edges_stalling;

/* Reads a few edges of the current context that have fired, into ring r: what the program's thread may take for an event. */
void edges_harvest_few(struct ring *r, struct edge_pool *p);

void edge_pools_forget(void);
void edges_read_forget(void);
