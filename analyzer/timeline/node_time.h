/* SPDX-License-Identifier: BSD-2-Clause */
/* node_time.h: what the nodes of a graph take, where bursts have timed the same kernels outside of graphs. */
#pragma once

#include "work_class.h"

/* Between the end of a node and the start of one that depends on it, on current devices. */
#define NODE_LEAST_NS 300.0
#define NODE_MOST_NS 1500.0

struct node_time { /* ns, of one launch */
	double low, middle, high; /* of all nodes, one after another, without what lies between them */
	bool known;  /* every node that works is a kernel of which there are samples */
	bool chain;  /* no two of them can run side by side */
};

/* What each kernel takes, of the trace that was asked about last. Zeroed at first; holds as long as the means of `classes` do. */
struct node_kernels {
	const struct trace *trace;
	struct node_kernel *at; /* by name */
};
void node_kernels_free(struct node_kernels *k);

/* With the means that `classes` has now. False: no memory. */
bool node_time_find(struct node_time *out, struct node_kernels *kernels, const struct classes *c, const struct trace *t,
		    const struct graph *g);
