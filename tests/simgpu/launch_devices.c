/* SPDX-License-Identifier: BSD-2-Clause */
/* launch_devices.c: one cooperative kernel on several devices. All of them wait for the work of all the streams, and whatever
 * comes next in any of the streams waits for all of them, unless the flags say otherwise. No capture can hold it. */
#include "call.h"
#include "function.h"
#include "launch.h"
#include "settings.h"
#include "stream.h"

static CUDA_KERNEL_NODE_PARAMS_v3 kernel_of(const CUDA_LAUNCH_PARAMS *p)
{
	return (CUDA_KERNEL_NODE_PARAMS_v3){ .func = p->function,
					     .gridDimX = p->gridDimX,
					     .gridDimY = p->gridDimY,
					     .gridDimZ = p->gridDimZ,
					     .blockDimX = p->blockDimX,
					     .blockDimY = p->blockDimY,
					     .blockDimZ = p->blockDimZ,
					     .sharedMemBytes = p->sharedMemBytes,
					     .kernelParams = p->kernelParams,
					     .ctx = p->hStream->context };
}

static bool same_shape(const CUDA_LAUNCH_PARAMS *one, const CUDA_LAUNCH_PARAMS *other)
{
	return one->gridDimX == other->gridDimX && one->gridDimY == other->gridDimY &&
	       one->gridDimZ == other->gridDimZ && one->blockDimX == other->blockDimX &&
	       one->blockDimY == other->blockDimY && one->blockDimZ == other->blockDimZ &&
	       one->sharedMemBytes == other->sharedMemBytes;
}

static CUresult check(const struct call *call, const CUDA_LAUNCH_PARAMS *p, unsigned at)
{
	CUDA_KERNEL_NODE_PARAMS_v3 kernel;
	struct CUstream_st *stream;
	CUresult result;

	if (!p[at].hStream || p[at].hStream == CU_STREAM_LEGACY || p[at].hStream == CU_STREAM_PER_THREAD)
		return CUDA_ERROR_INVALID_HANDLE;
	result = stream_resolve(call, p[at].hStream, &stream);
	if (result)
		return result;
	kernel = kernel_of(&p[at]);
	result = launch_check(&kernel);
	if (!result && launch_function(&kernel)->module->context != stream->context)
		result = CUDA_ERROR_INVALID_HANDLE;
	for (unsigned i = 0; i < at && !result; i++)
		if (!same_shape(&p[i], &p[at]) || p[i].hStream->context->device == stream->context->device)
			result = CUDA_ERROR_INVALID_VALUE;
	return result;
}

static CUresult make_ops(const CUDA_LAUNCH_PARAMS *p, unsigned count, struct op **ops)
{
	CUresult result = CUDA_SUCCESS;

	for (unsigned i = 0; i < count && !result; i++) {
		CUDA_KERNEL_NODE_PARAMS_v3 kernel = kernel_of(&p[i]);

		result = launch_op(&kernel, &ops[i]);
	}
	return result;
}

/* begin stands behind all the streams, end behind all the kernels. Nothing is submitted before all hang together. */
static void submit_ops(const struct call *call, const CUDA_LAUNCH_PARAMS *p, unsigned count, unsigned flags,
		       struct op **ops, struct op *begin, struct op *end)
{
	for (unsigned i = 0; i < count; i++) {
		op_after(begin, p[i].hStream->last);
		if (!(flags & CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC))
			op_after(ops[i], begin);
		op_after(end, ops[i]);
	}
	for (unsigned i = 0; i < count; i++)
		stream_submit(call, p[i].hStream, ops[i]);
	op_submit(begin);
	if (flags & CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_POST_LAUNCH_SYNC)
		return;
	for (unsigned i = 0; i < count; i++) {
		op_unref(p[i].hStream->last);
		p[i].hStream->last = op_ref(end);
	}
}

static CUresult submit(const struct call *call, const CUDA_LAUNCH_PARAMS *p, unsigned count, unsigned flags)
{
	struct op *begin = op_new(OP_WAIT, 0), *end = op_new(OP_WAIT, 0), *ops[SIM_MAX_DEVICES] = { NULL };
	CUresult result = begin && end ? make_ops(p, count, ops) : CUDA_ERROR_OUT_OF_MEMORY;

	if (!result)
		submit_ops(call, p, count, flags, ops, begin, end);
	for (unsigned i = 0; i < count; i++)
		op_unref(ops[i]);
	op_unref(begin);
	op_unref(end);
	return result;
}

CUresult api_launch_devices(CALL, CUDA_LAUNCH_PARAMS *launches, unsigned int count, unsigned int flags)
{
	const unsigned known = CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC |
			       CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_POST_LAUNCH_SYNC;
	CUresult result = CUDA_SUCCESS;

	if (!launches || !count || (flags & ~known))
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	for (unsigned i = 0; i < count && !result; i++)
		result = check(call, launches, i);
	if (!result)
		result = submit(call, launches, count, flags);
	sim_unlock();
	if (!result)
		clock_spin_until(call->entry_ns + settings()->launch_ns * count);
	return result;
}
