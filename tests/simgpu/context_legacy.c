/* SPDX-License-Identifier: BSD-2-Clause */
/* context_legacy.c: what contexts are asked by old programs, and for features this device has none of. */
#include "call.h"
#include "context.h"

/* cuCtxAttach counts; the detach after the last one destroys, as cuCtxDestroy would. */
CUresult api_context_attach(CALL, CUcontext *ctx, unsigned int flags)
{
	if (!ctx || flags)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	call->context->attached++;
	sim_unlock();
	*ctx = call->context;
	return CUDA_SUCCESS;
}

CUresult api_context_detach(CALL, CUcontext ctx)
{
	bool last;

	if (ctx != call->context)
		return CUDA_ERROR_INVALID_CONTEXT;
	sim_lock();
	last = ctx->attached == 0;
	ctx->attached -= !last;
	sim_unlock();
	return last ? api_context_destroy(call, ctx) : CUDA_SUCCESS;
}

/* Banks are four bytes wide since long; the setting is taken and means nothing. */
CUresult api_context_shared_config(CALL, CUsharedconfig *config)
{
	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	*config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
	return CUDA_SUCCESS;
}

CUresult api_context_set_shared_config(CALL, CUsharedconfig config)
{
	return (unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult api_context_reset_cache(CALL)
{
	return CUDA_SUCCESS;
}

/* Affinity is a matter of MPS, and there is none. */
CUresult api_context_affinity(CALL, CUexecAffinityParam *affinity, CUexecAffinityType type)
{
	return !affinity || type != CU_EXEC_AFFINITY_TYPE_SM_COUNT ? CUDA_ERROR_INVALID_VALUE
								   : CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
}
