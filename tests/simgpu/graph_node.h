/* SPDX-License-Identifier: BSD-2-Clause */
/* graph_node.h: making nodes and changing those of executable graphs. */
#pragma once

#include "objects.h"

/* Locked. graph_add for parameters of any kind, checked already; an allocation's address is left in them. */
CUresult graph_node_add(CUgraph graph, const struct node_list *before, CUgraphNodeParams *params, CUgraphNode *node);

CUresult graph_exec_set(CUgraphExec exec, CUgraphNode original, const CUgraphNodeParams *params); /* takes the lock */
