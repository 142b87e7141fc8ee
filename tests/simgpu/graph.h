/* SPDX-License-Identifier: BSD-2-Clause */
/* graph.h: graphs as data: nodes, edges, copies of graphs. Locked. */
#pragma once

#include "objects.h"

struct CUgraphNode_st {
	CUgraph graph;
	uint64_t serial; /* of this node; never used again, as its handle may be */
	uint64_t origin; /* serial of the node this one is a copy of */
	CUgraphNodeParams params;  /* a child graph's is owned; so are a kernel's `extra` bytes */
	struct node_attributes *attributes; /* graph_attributes.h; NULL: none was set */
	struct node_list before, after;
	bool disabled;             /* in an executable graph */
	bool marked;               /* by graph_mark_before */
	unsigned waits;            /* for graph_order */
	struct op *begin, *end;    /* while a launch is put together: the same, or the markers around a child graph */
};

struct CUgraph_st {
	struct node_list nodes; /* in order of creation */
	CUgraphNode owner;      /* of an embedded graph: the child graph node; else NULL */
	bool capturing;         /* not to be destroyed or instantiated */
	bool executable;        /* inside a CUgraphExec; no handle of it is given out */
	struct object_hold *objects; /* user_object.h */
	struct node_list order; /* of an executable one: dependencies first */
	uint64_t serial, origin; /* as a node's */
};

extern struct slab graph_slab, node_slab;

bool node_list_has(const struct node_list *list, CUgraphNode node);
bool node_list_push(struct node_list *list, CUgraphNode node); /* a node that is not there; false: out of memory */
bool node_list_add(struct node_list *list, CUgraphNode node); /* unless it is there; false: out of memory */
bool node_list_add_all(struct node_list *list, const struct node_list *more);
void node_list_remove(struct node_list *list, CUgraphNode node); /* the others keep their order */
void node_list_clear(struct node_list *list);

struct CUgraph_st *graph_new(void); /* NULL: out of memory */
void graph_free(struct CUgraph_st *graph);
struct CUgraph_st *graph_copy(CUgraph graph, bool executable); /* child graphs too */
CUgraphNode graph_find_copy(CUgraph graph, CUgraphNode original); /* in child graphs too; NULL: none */
/* The nodes, each behind all it depends on; false: out of memory, or the offender is in a cycle or depends on one. */
bool graph_order(CUgraph graph, struct node_list *order, CUgraphNode *offender);
bool graph_valid(CUgraph graph);    /* a handle the client may use */
bool node_valid(CUgraphNode node);

/* A client's list of nodes of this graph, each at most once. Only plain edges exist here: others are not supported. */
CUresult graph_take_list(CUgraph graph, const CUgraphNode *nodes, const CUgraphEdgeData *data, size_t count,
			 struct node_list *list);
bool graph_edges_plain(const CUgraphEdgeData *data, size_t count);
const CUgraphEdgeData *graph_plain_edges(size_t count); /* that many; NULL: more than there are; valid until the next call */

/* A node behind `before`, with a copy of the parameters, which are as graph_params_check wants them. */
CUresult graph_add(CUgraph graph, const struct node_list *before, const CUgraphNodeParams *params, CUgraphNode *node);
bool graph_connect(CUgraphNode from, CUgraphNode to); /* false: out of memory */
void graph_disconnect(CUgraphNode from, CUgraphNode to);
void graph_remove(CUgraphNode node); /* and its edges */
bool graph_has_memory(CUgraph graph); /* allocates or frees: not to be copied, embedded or cut */
bool graph_mark_before(CUgraph graph, const struct node_list *last); /* sets `marked` of these and of all they depend on,
									clears it elsewhere; false: out of memory */
