/* SPDX-License-Identifier: BSD-2-Clause */
/* primary.c: each device's one primary context: started when first retained, stopped when released as often. */
#include "call.h"
#include "context.h"
#include "device.h"

struct primary {
	CUcontext context; /* made once, then reused: its handle never changes */
	unsigned retained;
	unsigned flags;
};

static struct primary primaries[SIM_MAX_DEVICES];

CUresult api_primary_retain(CALL, CUcontext *ctx, CUdevice dev)
{
	struct primary *primary;
	CUresult result = CUDA_SUCCESS;

	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_exists(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	primary = &primaries[dev];
	sim_lock();
	if (!primary->context) {
		primary->context = slab_take(&context_slab);
		if (primary->context)
			*primary->context = (struct CUctx_st){ .primary = true, .destroyed = true };
	}
	if (!primary->context) {
		result = CUDA_ERROR_OUT_OF_MEMORY;
	} else {
		if (primary->context->destroyed)
			context_start(primary->context, dev, primary->flags);
		primary->retained++;
		*ctx = primary->context;
	}
	sim_unlock();
	return result;
}

CUresult api_primary_release(CALL, CUdevice dev)
{
	CUresult result = CUDA_SUCCESS;

	if (!device_exists(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	sim_lock();
	if (!primaries[dev].retained)
		result = CUDA_ERROR_INVALID_CONTEXT;
	else if (--primaries[dev].retained == 0)
		context_stop(primaries[dev].context);
	sim_unlock();
	return result;
}

CUresult api_primary_reset(CALL, CUdevice dev)
{
	if (!device_exists(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	sim_lock();
	if (primaries[dev].context && !primaries[dev].context->destroyed)
		context_stop(primaries[dev].context);
	primaries[dev].retained = 0;
	sim_unlock();
	return CUDA_SUCCESS;
}

CUresult api_primary_set_flags(CALL, CUdevice dev, unsigned int flags)
{
	if (!device_exists(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!context_flags_valid(flags))
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	primaries[dev].flags = flags;
	if (primaries[dev].context && !primaries[dev].context->destroyed)
		primaries[dev].context->flags = flags;
	sim_unlock();
	return CUDA_SUCCESS;
}

CUresult api_primary_state(CALL, CUdevice dev, unsigned int *flags, int *active)
{
	if (!flags || !active)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_exists(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	sim_lock();
	*flags = primaries[dev].flags;
	*active = primaries[dev].retained > 0;
	sim_unlock();
	return CUDA_SUCCESS;
}
