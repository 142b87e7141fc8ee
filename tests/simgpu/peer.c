/* SPDX-License-Identifier: BSD-2-Clause */
/* peer.c: peer access, and the copies that name two contexts. Every device reaches every other one, as over NVSwitch.
 * Addresses are the same on all devices, so a copy needs no access to be enabled first: without it, it goes through the host
 * and is slower (cuCtxEnablePeerAccess). */
#include "peer.h"

#include "call.h"
#include "context.h"
#include "copy.h"
#include "device.h"
#include "stream.h"

enum { MAX_PEERS = SIM_MAX_DEVICES, LINK_RANK = 0 };

/* `context` has access to `peer`; contexts are known by their ids, because handles are used again. */
struct access {
	unsigned long long context, peer;
	int device, peer_device;
};

static struct access accesses[SIM_MAX_DEVICES * SIM_MAX_DEVICES * 4];
static unsigned access_count;

bool peer_linked(int device, int other)
{
	for (unsigned i = 0; i < access_count; i++)
		if ((accesses[i].device == device && accesses[i].peer_device == other) ||
		    (accesses[i].device == other && accesses[i].peer_device == device))
			return true;
	return false;
}

void peer_forget(CUcontext context)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < access_count; i++)
		if (accesses[i].context != context->id && accesses[i].peer != context->id)
			accesses[kept++] = accesses[i];
	access_count = kept;
}

static struct access *find(CUcontext context, CUcontext peer)
{
	for (unsigned i = 0; i < access_count; i++)
		if (accesses[i].context == context->id && accesses[i].peer == peer->id)
			return &accesses[i];
	return NULL;
}

static CUresult enable(CUcontext context, CUcontext peer)
{
	if (!context_valid(peer) || peer == context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (peer->device == context->device)
		return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
	if (find(context, peer))
		return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
	if (access_count == sizeof(accesses) / sizeof(*accesses))
		return CUDA_ERROR_TOO_MANY_PEERS;
	accesses[access_count++] = (struct access){ context->id, peer->id, context->device, peer->device };
	return CUDA_SUCCESS;
}

CUresult api_peer_enable(CALL, CUcontext peer, unsigned int flags)
{
	CUresult result;

	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	result = enable(call->context, peer);
	sim_unlock();
	return result;
}

CUresult api_peer_disable(CALL, CUcontext peer)
{
	CUresult result = CUDA_SUCCESS;
	struct access *access = NULL;

	sim_lock();
	if (!context_valid(peer))
		result = CUDA_ERROR_INVALID_CONTEXT;
	else if (!(access = find(call->context, peer)))
		result = CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
	else
		*access = accesses[--access_count];
	sim_unlock();
	return result;
}

CUresult api_device_can_access_peer(CALL, int *can, CUdevice dev, CUdevice peer)
{
	if (!can)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_exists(dev) || !device_exists(peer))
		return CUDA_ERROR_INVALID_DEVICE;
	*can = dev != peer;
	return CUDA_SUCCESS;
}

CUresult api_device_p2p_attribute(CALL, int *value, CUdevice_P2PAttribute attribute, CUdevice from, CUdevice to)
{
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_exists(from) || !device_exists(to) || from == to)
		return CUDA_ERROR_INVALID_DEVICE;
	switch ((int)attribute) {
	case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
		*value = LINK_RANK;
		return CUDA_SUCCESS;
	case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
	case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
	case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
		*value = 1;
		return CUDA_SUCCESS;
	case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED:
		*value = 0;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/* ---- copies ---------------------------------------------------------------------------------------------- */

/* The stream goes on when all that was submitted to the context so far is done. */
static CUresult join(const struct call *call, struct CUstream_st *stream, CUcontext context)
{
	struct op *marker;

	if (context == stream->context)
		return CUDA_SUCCESS;
	marker = op_new(OP_WAIT, stream->context->device);
	if (!marker)
		return CUDA_ERROR_OUT_OF_MEMORY;
	context_after_all(context, marker);
	stream_submit(call, stream, marker);
	op_unref(marker);
	return CUDA_SUCCESS;
}

/* The context's legacy stream, and with it what comes later in its blocking streams, waits for the operation. */
static CUresult hold_back(const struct call *call, CUcontext context, struct op *op)
{
	struct op *marker = op_new(OP_WAIT, context->device);

	if (!marker)
		return CUDA_ERROR_OUT_OF_MEMORY;
	op_after(marker, op);
	stream_submit(call, &context->legacy, marker);
	op_unref(marker);
	return CUDA_SUCCESS;
}

/* A call without a stream is in order with all work of three contexts: the current one and those of the two ends. */
static CUresult submit_between(const struct call *call, struct CUstream_st *stream, const CUDA_MEMCPY3D *params,
			       CUcontext to, CUcontext from)
{
	CUresult result = join(call, stream, to);

	if (!result)
		result = join(call, stream, from);
	if (!result)
		result = copy_submit(call, stream, params, false);
	if (!result && to != stream->context && stream->last)
		result = hold_back(call, to, stream->last);
	if (!result && from != stream->context && from != to && stream->last)
		result = hold_back(call, from, stream->last);
	return result;
}

static CUresult run(const struct call *call, const CUDA_MEMCPY3D *params, CUcontext to, CUcontext from, CUstream s,
		    bool async)
{
	struct CUstream_st *stream;
	CUresult result;

	sim_lock();
	if (async)
		result = stream_resolve_capturable(call, s, &stream);
	else
		result = stream_resolve(call, s, &stream);
	if (!result && ((to && !context_valid(to)) || (from && !context_valid(from))))
		result = CUDA_ERROR_INVALID_CONTEXT;
	if (!result && async)
		result = copy_submit(call, stream, params, true);
	else if (!result)
		result = submit_between(call, stream, params, to ? to : stream->context, from ? from : stream->context);
	sim_unlock();
	return result;
}

static CUresult copy_bytes(const struct call *call, CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
			   CUcontext from_context, size_t bytes, CUstream s, bool async)
{
	const CUDA_MEMCPY3D params = copy_of_bytes(CU_MEMORYTYPE_DEVICE, to, CU_MEMORYTYPE_DEVICE, from, bytes);

	if (!to_context || !from_context)
		return CUDA_ERROR_INVALID_CONTEXT;
	return run(call, &params, to_context, from_context, s, async);
}

CUresult api_copy_peer(CALL, CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
		       size_t bytes)
{
	return copy_bytes(call, to, to_context, from, from_context, bytes, NULL, false);
}

CUresult api_copy_peer_async(CALL, CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
			     size_t bytes, CUstream s)
{
	return copy_bytes(call, to, to_context, from, from_context, bytes, s, true);
}

/* An end in an array or in host memory has no need of a context. */
static bool needs_context(CUmemorytype type)
{
	return type == CU_MEMORYTYPE_DEVICE;
}

static CUresult copy_region(const struct call *call, const CUDA_MEMCPY3D_PEER *p, CUstream s, bool async)
{
	CUDA_MEMCPY3D params;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	if ((needs_context(p->srcMemoryType) && !p->srcContext) || (needs_context(p->dstMemoryType) && !p->dstContext))
		return CUDA_ERROR_INVALID_CONTEXT;
	_Static_assert(sizeof(params) == sizeof(*p), "the two differ in what two pointers mean");
	__builtin_memcpy(&params, p, sizeof(params));
	params.reserved0 = params.reserved1 = NULL;
	return run(call, &params, needs_context(p->dstMemoryType) ? p->dstContext : NULL,
		   needs_context(p->srcMemoryType) ? p->srcContext : NULL, s, async);
}

CUresult api_copy_peer_3d(CALL, const CUDA_MEMCPY3D_PEER *params)
{
	return copy_region(call, params, NULL, false);
}

CUresult api_copy_peer_3d_async(CALL, const CUDA_MEMCPY3D_PEER *params, CUstream s)
{
	return copy_region(call, params, s, true);
}
