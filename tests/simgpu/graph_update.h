/* SPDX-License-Identifier: BSD-2-Clause */
/* graph_update.h: new parameters for a whole executable graph. Locked. */
#pragma once

#include "objects.h"

CUresult graph_update_child(CUgraphNode node, CUgraph graph); /* node: a child graph node of an executable graph */
