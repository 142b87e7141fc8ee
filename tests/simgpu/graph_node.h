/* SPDX-License-Identifier: BSD-2-Clause */
/* graph_node.h: for the calls that name a node of an executable graph. */
#pragma once

#include "objects.h"

CUresult graph_exec_set(CUgraphExec exec, CUgraphNode original, const CUgraphNodeParams *params); /* takes the lock */
