/* SPDX-License-Identifier: BSD-2-Clause */
/* graph_params.c: a node owns what its parameters point to: a kernel's arguments, a child graph, its part of an allocation. */
#include "graph_params.h"

#include "graph.h"
#include "graph_kernel.h"
#include "graph_memory.h"
#include "graph_op.h"
#include "launch.h"
#include "memory.h"

#include <stdlib.h>
#include <string.h>

static CUresult check_child(const CUDA_CHILD_GRAPH_NODE_PARAMS *child)
{
	if (!graph_valid(child->graph))
		return CUDA_ERROR_INVALID_VALUE;
	if (child->ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE || graph_has_memory(child->graph))
		return CUDA_ERROR_NOT_SUPPORTED;
	return CUDA_SUCCESS;
}

CUresult graph_params_check(const CUgraphNodeParams *params)
{
	switch (params->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return graph_kernel_check(&params->kernel);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return graph_op_check_copy(&params->memcpy);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return graph_op_check_set(&params->memset);
	case CU_GRAPH_NODE_TYPE_HOST:
		return params->host.fn ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return check_child(&params->graph);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return graph_memory_check(&params->alloc);
	case CU_GRAPH_NODE_TYPE_MEM_FREE: /* whose address is claimed when the node is made */
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return CUDA_SUCCESS;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD: /* the event stands at the same place in both */
		return slab_holds(&event_slab, params->eventRecord.event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return CUDA_ERROR_NOT_SUPPORTED;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static bool access_copy(CUDA_MEM_ALLOC_NODE_PARAMS_v2 *to, const CUDA_MEM_ALLOC_NODE_PARAMS_v2 *from)
{
	size_t bytes = from->accessDescCount * sizeof(*from->accessDescs);
	CUmemAccessDesc *copy = bytes ? malloc(bytes) : NULL;

	to->accessDescs = copy;
	if (copy)
		memcpy(copy, from->accessDescs, bytes);
	return copy || !bytes;
}

bool graph_params_copy(CUgraphNodeParams *to, const CUgraphNodeParams *from)
{
	*to = *from;
	switch (from->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return graph_kernel_copy(to, from);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		to->graph.graph = graph_copy(from->graph.graph, false);
		return to->graph.graph;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		graph_memory_ref(to->alloc.dptr);
		return access_copy(&to->alloc, &from->alloc);
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		graph_memory_ref(to->free.dptr);
		return true;
	default:
		return true;
	}
}

void graph_params_free(CUgraphNodeParams *params)
{
	switch (params->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		graph_kernel_free(params);
		break;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		if (params->graph.graph)
			graph_free(params->graph.graph);
		break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		free((void *)params->alloc.accessDescs);
		graph_memory_unref(params->alloc.dptr);
		break;
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		graph_memory_unref(params->free.dptr);
		break;
	default:
		break;
	}
}

CUresult graph_params_replace(CUgraphNodeParams *old, const CUgraphNodeParams *params)
{
	CUgraphNodeParams copy;

	if (!graph_params_copy(&copy, params)) {
		graph_params_free(&copy);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	graph_params_free(old);
	*old = copy;
	return CUDA_SUCCESS;
}

/* ---- what cuda.h lets an executable graph's node become ------------------------------------------------------ */

static bool same_context(const CUDA_KERNEL_NODE_PARAMS_v3 *one, const CUDA_KERNEL_NODE_PARAMS_v3 *other)
{
	CUfunction f = launch_function(one), g = launch_function(other);

	return f && g && f->module->context == g->module->context;
}

/* The same allocation's context, or both no allocation of ours. */
static bool same_owner(uintptr_t one, uintptr_t other)
{
	const struct memory_range *range = memory_find(one);
	CUcontext context = range ? range->context : NULL;

	range = memory_find(other);
	return context == (range ? range->context : NULL);
}

static uintptr_t side(CUmemorytype type, const void *host, CUdeviceptr device)
{
	return type == CU_MEMORYTYPE_HOST ? (uintptr_t)host : (uintptr_t)device;
}

static bool copy_may_become(const CUDA_MEMCPY3D *old, const CUDA_MEMCPY3D *new)
{
	if (old->Height > 1 || old->Depth > 1 || new->Height > 1 || new->Depth > 1)
		return false;
	if (old->srcMemoryType != new->srcMemoryType || old->dstMemoryType != new->dstMemoryType)
		return false;
	return same_owner(side(old->srcMemoryType, old->srcHost, old->srcDevice),
			  side(new->srcMemoryType, new->srcHost, new->srcDevice)) &&
	       same_owner(side(old->dstMemoryType, old->dstHost, old->dstDevice),
			  side(new->dstMemoryType, new->dstHost, new->dstDevice));
}

static bool set_may_become(const CUDA_MEMSET_NODE_PARAMS_v2 *old, const CUDA_MEMSET_NODE_PARAMS_v2 *new)
{
	if (old->height != new->height || !same_owner((uintptr_t)old->dst, (uintptr_t) new->dst))
		return false;
	return old->height == 1 ||
	       (old->width == new->width && old->elementSize == new->elementSize && old->pitch == new->pitch);
}

bool graph_params_may_become(const CUgraphNodeParams *old, const CUgraphNodeParams *params)
{
	switch (params->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return same_context(&old->kernel, &params->kernel);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return copy_may_become(&old->memcpy.copyParams, &params->memcpy.copyParams);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return set_may_become(&old->memset, &params->memset);
	default:
		return true;
	}
}
