/* SPDX-License-Identifier: BSD-2-Clause */
/* graph_attributes.h: the launch attributes of kernel nodes. Kept and given back; only those that forbid an update mean
 * anything here. Locked. */
#pragma once

#include "graph.h"

enum { ATTRIBUTE_COUNT = CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING + 1 };

struct node_attributes {
	CUlaunchAttributeValue values[ATTRIBUTE_COUNT]; /* zero: as it is unless said otherwise */
};

bool attributes_copy(CUgraphNode to, CUgraphNode from); /* false: out of memory */
bool attributes_set_priority(CUgraphNode node, int priority);
bool attributes_set_launch(CUgraphNode node, const CUlaunchAttribute *attributes, unsigned count); /* of a captured launch */
bool attributes_may_become(CUgraphNode old, CUgraphNode new, bool node_priorities); /* of kernel nodes */
