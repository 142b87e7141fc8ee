/* SPDX-License-Identifier: BSD-2-Clause */
#include "calls.h"

void call_context_make(void)
{
	CUcontext context = (CUcontext)UNTOUCHED;
	static unsigned made;

	if (one_in(2)) {
		if (SHOW(cuDevicePrimaryCtxRetain, &context, (CUdevice)below(2)) == CUDA_SUCCESS)
			pool_add(&contexts, (uintptr_t)context);
	} else if (made < 30) { /* a real context takes memory */
		made++;
		if (SHOW(cuCtxCreate_v2, one_in(8) ? NULL : &context, one_in(8) ? 0xffff : below(5),
			 (CUdevice)below(2)) == CUDA_SUCCESS)
			pool_add(&contexts, (uintptr_t)context);
	}
	show_handle((uintptr_t)context);
}

/* Pinned memory, streams and events may go with their context. */
static void forget_objects(void)
{
	memset(pinned, 0, sizeof(pinned));
	streams.count = events.count = 0;
}

void call_context_end(void)
{
	CUcontext context = (CUcontext)pick(&contexts);

	if (!one_in(4))
		return;
	forget_objects();
	if (one_in(2)) {
		SHOW(cuDevicePrimaryCtxRelease_v2, (CUdevice)below(2));
		return;
	}
	SHOW(cuCtxDestroy_v2, context);
}

void call_context(void)
{
	CUcontext context = (CUcontext)UNTOUCHED;
	unsigned flags = (unsigned)UNTOUCHED;
	size_t bytes = UNTOUCHED;
	int value = (int)UNTOUCHED, other = (int)UNTOUCHED;

	switch (below(12)) {
	case 0:
	case 1:
	case 2:
		SHOW(cuCtxSetCurrent, (CUcontext)pick(&contexts));
		break;
	case 3:
		SHOW(cuCtxPushCurrent_v2, (CUcontext)pick(&contexts));
		break;
	case 4:
		SHOW(cuCtxPopCurrent_v2, one_in(4) ? NULL : &context);
		show_context(context);
		break;
	case 5:
		SHOW(cuCtxGetCurrent, one_in(6) ? NULL : &context);
		show_context(context);
		break;
	case 6:
		SHOW(cuCtxGetDevice, &value);
		show_number(value);
		break;
	case 7:
		SHOW(cuCtxGetFlags, &flags);
		show_number(flags);
		break;
	case 8:
		SHOW(cuCtxGetApiVersion, (CUcontext)pick(&contexts), &flags);
		show_number(flags);
		break;
	case 9:
		SHOW(cuCtxGetLimit, &bytes, (CUlimit)below(9));
		show_number((long long)bytes);
		break;
	case 10:
		SHOW(cuDevicePrimaryCtxGetState, (CUdevice)below(2), &flags, &value);
		show_number(flags);
		show_number(value);
		break;
	default:
		SHOW(cuCtxGetStreamPriorityRange, &value, &other);
		show_number(value);
		show_number(other);
	}
}

void call_synchronize(void)
{
	show("cuCtxSynchronize", CU(cuCtxSynchronize));
}
