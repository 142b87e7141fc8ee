/* SPDX-License-Identifier: BSD-2-Clause */
/* graph_params.c: a node owns what its parameters point to: a kernel's `extra` bytes, a child graph, its part of
 * an allocation.
 * An array of kernelParams has no length here, because a simulated kernel has no signature: the client's pointer is kept and
 * given back, not what it points to. */
#include "graph_params.h"

#include "graph.h"
#include "graph_memory.h"
#include "graph_op.h"
#include "launch.h"
#include "memory.h"

#include <stdlib.h>
#include <string.h>

enum { EXTRA_WORDS = 16 }; /* an `extra` array this long has lost its end */

/* What `extra` becomes in a node: one block. */
struct extra_copy {
	void *words[5];
	size_t bytes;
	unsigned char buffer[];
};

/* False: not an array as cuLaunchKernel documents it. */
static bool extra_parse(void **extra, const void **buffer, size_t *bytes)
{
	*buffer = NULL;
	*bytes = 0;
	for (unsigned i = 0; i < EXTRA_WORDS; i += 2) {
		if (extra[i] == CU_LAUNCH_PARAM_END)
			return true;
		if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			*buffer = extra[i + 1];
		else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE)
			*bytes = *(const size_t *)extra[i + 1];
		else
			return false;
	}
	return false;
}

static bool extra_copy(void ***to, void **from)
{
	const void *buffer;
	struct extra_copy *copy;
	size_t bytes;

	if (!from || !extra_parse(from, &buffer, &bytes)) {
		*to = NULL;
		return true;
	}
	copy = malloc(sizeof(*copy) + bytes);
	if (!copy)
		return false;
	copy->bytes = bytes;
	if (buffer)
		memcpy(copy->buffer, buffer, bytes);
	copy->words[0] = CU_LAUNCH_PARAM_BUFFER_POINTER;
	copy->words[1] = copy->buffer;
	copy->words[2] = CU_LAUNCH_PARAM_BUFFER_SIZE;
	copy->words[3] = &copy->bytes;
	copy->words[4] = CU_LAUNCH_PARAM_END;
	*to = copy->words;
	return true;
}

static CUresult check_kernel(const CUDA_KERNEL_NODE_PARAMS_v3 *kernel)
{
	const void *buffer;
	size_t bytes;

	if (kernel->extra && !extra_parse(kernel->extra, &buffer, &bytes))
		return CUDA_ERROR_INVALID_VALUE;
	return launch_check(kernel);
}

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
		return check_kernel(&params->kernel);
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
		return extra_copy(&to->kernel.extra, from->kernel.extra);
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
		free(params->kernel.extra);
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

	if (!graph_params_copy(&copy, params))
		return CUDA_ERROR_OUT_OF_MEMORY;
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
