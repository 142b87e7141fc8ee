/* SPDX-License-Identifier: BSD-2-Clause */
/* graph_op.c: each kind of node. A node that does nothing on the device is a marker. */
#include "graph_op.h"

#include "context.h"
#include "copy.h"
#include "graph.h"
#include "graph_memory.h"
#include "launch.h"
#include "memset.h"

static CUresult resolve_copy(const CUDA_MEMCPY_NODE_PARAMS *node, struct copy *copy)
{
	CUresult result =
		context_valid(node->copyCtx) ? copy_resolve(&node->copyParams, copy) : CUDA_ERROR_INVALID_VALUE;

	if (!result && !copy->width)
		result = CUDA_ERROR_INVALID_VALUE;
	return result;
}

CUresult graph_op_check_copy(const CUDA_MEMCPY_NODE_PARAMS *node)
{
	struct copy copy;

	return resolve_copy(node, &copy);
}

/* Between two host buffers no device has work: the bytes move, and that is all. */
static CUresult new_copy(const CUDA_MEMCPY_NODE_PARAMS *node, struct op **op)
{
	struct copy copy;
	CUresult result = resolve_copy(node, &copy);

	if (result)
		return result;
	*op = copy_op(&copy, node->copyCtx->device);
	if (!*op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (copy.host_only) {
		(*op)->kind = OP_WAIT;
		(*op)->takes_real_time = false;
	}
	return CUDA_SUCCESS;
}

static CUresult resolve_set(const CUDA_MEMSET_NODE_PARAMS_v2 *node, struct set *set)
{
	CUresult result = context_valid(node->ctx) ? set_resolve(node, set) : CUDA_ERROR_INVALID_VALUE;

	if (!result && !set->params.width)
		result = CUDA_ERROR_INVALID_VALUE;
	return result;
}

CUresult graph_op_check_set(const CUDA_MEMSET_NODE_PARAMS_v2 *node)
{
	struct set set;

	return resolve_set(node, &set);
}

static CUresult new_set(const CUDA_MEMSET_NODE_PARAMS_v2 *node, struct op **op)
{
	struct set set;
	CUresult result = resolve_set(node, &set);

	if (result)
		return result;
	*op = set_op(&set, node->ctx->device);
	return *op ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult marker(enum op_kind kind, int device, struct op **op)
{
	*op = op_new(kind, device);
	return *op ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult graph_op_new(CUgraphNode node, int device, struct op **op)
{
	const CUgraphNodeParams *params = &node->params;
	CUresult result;

	if (node->disabled)
		return marker(OP_WAIT, device, op);
	switch (params->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return launch_op(&params->kernel, op);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return new_copy(&params->memcpy, op);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return new_set(&params->memset, op);
	case CU_GRAPH_NODE_TYPE_HOST:
		return launch_host_op(
			&(struct host_call){ .function = params->host.fn, .argument = params->host.userData }, device,
			op);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return marker(OP_EVENT, device, op);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		result = graph_memory_allocate(params->alloc.dptr);
		return result ? result : marker(OP_WAIT, device, op);
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		result = graph_memory_free(params->free.dptr);
		return result ? result : marker(OP_WAIT, device, op);
	default:
		return marker(OP_WAIT, device, op);
	}
}
