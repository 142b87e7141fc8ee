/* SPDX-License-Identifier: BSD-2-Clause */
#include "graph_attributes.h"

#include "call.h"

#include <stdlib.h>

static const struct node_attributes none;

static const struct node_attributes *attributes_of(CUgraphNode node)
{
	return node->attributes ? node->attributes : &none;
}

static struct node_attributes *make(CUgraphNode node)
{
	if (!node->attributes)
		node->attributes = calloc(1, sizeof(*node->attributes));
	return node->attributes;
}

bool attributes_copy(CUgraphNode to, CUgraphNode from)
{
	if (!from->attributes && !to->attributes)
		return true;
	if (!make(to))
		return false;
	*to->attributes = *attributes_of(from);
	return true;
}

bool attributes_set_priority(CUgraphNode node, int priority)
{
	if (!priority)
		return true;
	if (!make(node))
		return false;
	node->attributes->values[CU_LAUNCH_ATTRIBUTE_PRIORITY].priority = priority;
	return true;
}

bool attributes_may_become(CUgraphNode old, CUgraphNode new, bool node_priorities)
{
	const CUlaunchAttributeValue *one = attributes_of(old)->values, *other = attributes_of(new)->values;

	if (!one[CU_LAUNCH_ATTRIBUTE_COOPERATIVE].cooperative != !other[CU_LAUNCH_ATTRIBUTE_COOPERATIVE].cooperative)
		return false;
	return !node_priorities ||
	       one[CU_LAUNCH_ATTRIBUTE_PRIORITY].priority == other[CU_LAUNCH_ATTRIBUTE_PRIORITY].priority;
}

/* Those that cuda.h calls valid for graph nodes. */
static bool known(CUkernelNodeAttrID id)
{
	switch ((int)id) {
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
	case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
	case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
		return true;
	default:
		return false;
	}
}

bool attributes_set_launch(CUgraphNode node, const CUlaunchAttribute *attributes, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		if (!known(attributes[i].id))
			continue;
		if (!make(node))
			return false;
		node->attributes->values[attributes[i].id] = attributes[i].value;
	}
	return true;
}

static CUresult check(CUgraphNode node)
{
	if (!node_valid(node))
		return CUDA_ERROR_INVALID_HANDLE;
	return node->params.type == CU_GRAPH_NODE_TYPE_KERNEL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult api_graph_copy_attributes(CALL, CUgraphNode to, CUgraphNode from)
{
	CUresult result;

	sim_lock();
	result = check(to);
	if (!result)
		result = check(from);
	if (!result && !attributes_copy(to, from))
		result = CUDA_ERROR_OUT_OF_MEMORY;
	sim_unlock();
	return result;
}

CUresult api_graph_attribute(CALL, CUgraphNode node, CUkernelNodeAttrID id, CUkernelNodeAttrValue *value)
{
	CUresult result;

	if (!value || !known(id))
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	result = check(node);
	if (!result)
		*value = attributes_of(node)->values[id];
	sim_unlock();
	return result;
}

CUresult api_graph_set_attribute(CALL, CUgraphNode node, CUkernelNodeAttrID id, const CUkernelNodeAttrValue *value)
{
	CUresult result;

	if (!value || !known(id))
		return CUDA_ERROR_INVALID_VALUE;
	if (id == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE)
		return CUDA_ERROR_NOT_SUPPORTED; /* nothing runs on the device that could update */
	sim_lock();
	result = check(node);
	if (!result && !make(node))
		result = CUDA_ERROR_OUT_OF_MEMORY;
	if (!result)
		node->attributes->values[id] = *value;
	sim_unlock();
	return result;
}
