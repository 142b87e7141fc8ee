/* SPDX-License-Identifier: BSD-2-Clause */
/* graph_params.h: what a node does, as cuGraphAddNode takes it. Locked. */
#pragma once

#include "objects.h"

static inline bool graph_params_memory(const CUgraphNodeParams *params)
{
	return params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || params->type == CU_GRAPH_NODE_TYPE_MEM_FREE;
}

CUresult graph_params_check(const CUgraphNodeParams *params);
bool graph_params_copy(CUgraphNodeParams *to, const CUgraphNodeParams *from); /* with what it points to; false: out of memory */
CUresult graph_params_replace(CUgraphNodeParams *old, const CUgraphNodeParams *params); /* of a node, by a copy of these */
/* Whether a node of an executable graph may get these parameters of the same type. */
bool graph_params_may_become(const CUgraphNodeParams *old, const CUgraphNodeParams *params);
void graph_params_free(CUgraphNodeParams *params); /* of a copy */
