/* SPDX-License-Identifier: BSD-2-Clause */
/* graph_exec.h: executable graphs. Locked. */
#pragma once

#include "objects.h"

struct CUgraphExec_st {
	CUgraph graph;   /* a copy of what was instantiated */
	unsigned number; /* in the truth log */
	unsigned nodes;  /* child graphs' too */
	cuuint64_t flags;
	uint64_t source; /* serial of what was instantiated */
	struct CUgraphExec_st *next; /* of those with memory nodes: there may be one of a graph */
	struct op *last; /* the end of its last launch; NULL: none */
};

extern struct slab exec_slab;
