/* SPDX-License-Identifier: BSD-2-Clause */
/* api_collectives.c: the calls that move data. Each checks its arguments, then joins the group. */
#include "api.h"

#include <string.h>

static ncclResult_t check(struct ncclComm *comm, const struct item *item)
{
	ncclResult_t result = comm_check(comm);

	if (result)
		return result;
	if (comm->revoked || comm->finalized || comm->suspended)
		return comm_failed(comm, ncclInvalidUsage, "the communicator takes no more work");
	if ((unsigned)item->type >= ncclNumTypes)
		return comm_failed(comm, ncclInvalidArgument, "no such data type");
	if (item->peer < 0 || item->peer >= comm->nranks)
		return comm_failed(comm, ncclInvalidArgument, "no such root or peer");
	if (item->function > FUNCTION_REDUCE_SCATTER)
		return ncclSuccess;
	if (item->op < 0 || item->op >= (ncclRedOp_t)(ncclNumOps + MAX_OPS) ||
	    (item->op >= ncclNumOps && !comm->ops[item->op - ncclNumOps].used))
		return comm_failed(comm, ncclInvalidArgument, "no such reduction");
	return ncclSuccess;
}

/* With one rank there is nobody to talk to: a copy, or nothing. */
static ncclResult_t alone(const struct item *item, CUstream stream)
{
	const CUdeviceptr to = (CUdeviceptr)(uintptr_t)item->recv, from = (CUdeviceptr)(uintptr_t)item->send;

	if (to == from)
		return ncclSuccess;
	return driver.cuMemcpyDtoDAsync(to, from, item->count * type_bytes(item->type), stream) ? ncclUnhandledCudaError
												: ncclSuccess;
}

static ncclResult_t enqueue(struct ncclComm *comm, const struct item *item, CUstream stream)
{
	bool pair = item->function >= FUNCTION_SEND;

	if (!item->count && !pair)
		return ncclSuccess;
	if (comm->nranks == 1 && !pair)
		return alone(item, stream);
	return group_add_item(comm, item, stream);
}

static ncclResult_t move(const char *name, ncclComm_t comm, struct item item, CUstream stream)
{
	struct log_call call = log_begin(name, comm);
	ncclResult_t result = check(comm, &item);

	call.moves = true;
	call.count = item.count;
	call.type = (int)item.type;
	call.op = item.function <= FUNCTION_REDUCE_SCATTER ? (int)item.op : -1;
	call.peer = item.function == FUNCTION_ALL_REDUCE || item.function == FUNCTION_REDUCE_SCATTER ||
				    item.function == FUNCTION_ALL_GATHER || item.function == FUNCTION_ALL_TO_ALL
			    ? -1
			    : item.peer;
	call.stream = stream;
	if (!result && item.function < FUNCTION_SEND)
		call.sequence = (long long)comm->sequence++;
	if (!result && item.function <= FUNCTION_REDUCE_SCATTER && item.op >= ncclNumOps)
		item.by = comm->ops[item.op - ncclNumOps];
	if (!result)
		result = enqueue(comm, &item, stream);
	else
		group_error(result);
	return log_end(&call, result);
}

#define ITEM(function, send, recv, count, type, op, peer) \
	((struct item){ function, send, recv, count, type, op, peer, { .used = false } })

/* The calls of 2.32 with a configuration do what the plain ones do. */
#define COLLECTIVE(name, parameters, with_config, item)                 \
	API(ncclResult_t, nccl##name, parameters)                       \
	{                                                               \
		return move("nccl" #name, comm, item, stream);          \
	}                                                               \
	API(ncclResult_t, nccl##name##Config, with_config)              \
	{                                                               \
		(void)config;                                           \
		return move("nccl" #name "Config", comm, item, stream); \
	}

#define LIST(...) (__VA_ARGS__)
#define PARAMETERS(...) LIST(const void *send, void *recv, size_t count, ncclDataType_t type, __VA_ARGS__)
#define END ncclComm_t comm, CUstream stream
#define CONFIG END, const ncclCollConfig_t *config

COLLECTIVE(AllReduce, PARAMETERS(ncclRedOp_t op, END), PARAMETERS(ncclRedOp_t op, CONFIG),
	   ITEM(FUNCTION_ALL_REDUCE, send, recv, count, type, op, 0))
COLLECTIVE(Broadcast, PARAMETERS(int root, END), PARAMETERS(int root, CONFIG),
	   ITEM(FUNCTION_BROADCAST, send, recv, count, type, ncclSum, root))
COLLECTIVE(Reduce, PARAMETERS(ncclRedOp_t op, int root, END), PARAMETERS(ncclRedOp_t op, int root, CONFIG),
	   ITEM(FUNCTION_REDUCE, send, recv, count, type, op, root))
COLLECTIVE(AllGather, PARAMETERS(END), PARAMETERS(CONFIG),
	   ITEM(FUNCTION_ALL_GATHER, send, recv, count, type, ncclSum, 0))
COLLECTIVE(ReduceScatter, PARAMETERS(ncclRedOp_t op, END), PARAMETERS(ncclRedOp_t op, CONFIG),
	   ITEM(FUNCTION_REDUCE_SCATTER, send, recv, count, type, op, 0))
COLLECTIVE(AlltoAll, PARAMETERS(END), PARAMETERS(CONFIG),
	   ITEM(FUNCTION_ALL_TO_ALL, send, recv, count, type, ncclSum, 0))
COLLECTIVE(Gather, PARAMETERS(int root, END), PARAMETERS(int root, CONFIG),
	   ITEM(FUNCTION_GATHER, send, recv, count, type, ncclSum, root))
COLLECTIVE(Scatter, PARAMETERS(int root, END), PARAMETERS(int root, CONFIG),
	   ITEM(FUNCTION_SCATTER, send, recv, count, type, ncclSum, root))

/* By way of the public call, as in the real library. */
API(ncclResult_t, ncclBcast,
    (void *buff, size_t count, ncclDataType_t type, int root, ncclComm_t comm, CUstream stream))
{
	struct log_call call = log_begin("ncclBcast", comm);

	return log_end(&call, ncclBroadcast(buff, buff, count, type, root, comm, stream));
}

API(ncclResult_t, ncclSend,
    (const void *send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream stream))
{
	return move("ncclSend", comm, ITEM(FUNCTION_SEND, send, NULL, count, type, ncclSum, peer), stream);
}

API(ncclResult_t, ncclRecv, (void *recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream stream))
{
	return move("ncclRecv", comm, ITEM(FUNCTION_RECV, NULL, recv, count, type, ncclSum, peer), stream);
}

/* ---- groups ---------------------------------------------------------------------------------------------- */

API(ncclResult_t, ncclGroupStart, (void))
{
	struct log_call call = log_begin("ncclGroupStart", NULL);

	group_start();
	call.group = group_place();
	return log_end(&call, ncclSuccess);
}

API(ncclResult_t, ncclGroupEnd, (void))
{
	struct log_call call = log_begin("ncclGroupEnd", NULL);

	return log_end(&call, group_end());
}

API(ncclResult_t, ncclGroupSimulateEnd, (ncclSimInfo_t * info))
{
	struct log_call call = log_begin("ncclGroupSimulateEnd", NULL);
	ncclResult_t result = group_cancel();

	if (!result && info) {
		if (info->magic != NCCL_SIM_INFO_MAGIC)
			result = ncclInvalidArgument;
		else
			info->estimatedTime = 0;
	}
	return log_end(&call, result);
}

/* ---- reductions of the program's own --------------------------------------------------------------------- */

API(ncclResult_t, ncclRedOpCreatePreMulSum,
    (ncclRedOp_t * op, void *scalar, ncclDataType_t type, ncclScalarResidence_t residence, ncclComm_t comm))
{
	struct log_call call = log_begin("ncclRedOpCreatePreMulSum", comm);
	ncclResult_t result = comm_check(comm);
	unsigned i = 0;

	if (!result && (!op || !scalar || (unsigned)type >= ncclNumTypes))
		result = ncclInvalidArgument;
	while (!result && i < MAX_OPS && comm->ops[i].used)
		i++;
	if (!result && i == MAX_OPS)
		result = ncclSystemError;
	if (!result) {
		comm->ops[i] = (struct premultiply){ true, residence == ncclScalarDevice, scalar, { 0 } };
		if (residence != ncclScalarDevice)
			memcpy(comm->ops[i].value, scalar, type_bytes(type));
		*op = (ncclRedOp_t)(ncclNumOps + i);
	}
	return log_end(&call, result);
}

API(ncclResult_t, ncclRedOpDestroy, (ncclRedOp_t op, ncclComm_t comm))
{
	struct log_call call = log_begin("ncclRedOpDestroy", comm);
	ncclResult_t result = comm_check(comm);
	unsigned i = (unsigned)op - ncclNumOps;

	if (!result && (i >= MAX_OPS || !comm->ops[i].used))
		result = ncclInvalidArgument;
	if (!result)
		comm->ops[i].used = false;
	return log_end(&call, result);
}
