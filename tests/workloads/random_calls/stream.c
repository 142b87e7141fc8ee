/* SPDX-License-Identifier: BSD-2-Clause */
#include "calls.h"

static void destroy_stream(void)
{
	CUstream s = (CUstream)pool_take(&streams);

	SHOW(cuStreamDestroy_v2, s);
	switch (below(4)) {
	case 0:
		SHOW(cuStreamDestroy_v2, s);
		break;
	case 1:
		SHOW(cuStreamSynchronize, s);
		break;
	case 2:
		SHOW(cuLaunchHostFunc, s, nothing, NULL);
		break;
	default:
		SHOW_QUERY(cuStreamQuery, s);
		break;
	}
}

void call_stream(void)
{
	CUstream s = (CUstream)UNTOUCHED;
	CUcontext context = (CUcontext)UNTOUCHED;
	unsigned flags = (unsigned)UNTOUCHED;
	int priority = (int)UNTOUCHED;

	switch (below(10)) {
	case 0:
	case 1:
		if (SHOW(cuStreamCreate, one_in(10) ? NULL : &s, one_in(8) ? 0xff : below(2)) == CUDA_SUCCESS)
			pool_add(&streams, (uintptr_t)s);
		show_handle((uintptr_t)s);
		break;
	case 2:
		if (SHOW(cuStreamCreateWithPriority, &s, below(2), (int)below(20) - 10) == CUDA_SUCCESS)
			pool_add(&streams, (uintptr_t)s);
		show_handle((uintptr_t)s);
		break;
	case 3:
		destroy_stream();
		break;
	case 4:
		SHOW_QUERY(cuStreamQuery, a_stream());
		break;
	case 5:
		SHOW(cuStreamGetFlags, a_stream(), &flags);
		show_number(flags);
		break;
	case 6:
		SHOW(cuStreamGetPriority, a_stream(), &priority);
		show_number(priority);
		break;
	case 7:
		SHOW(cuStreamGetCtx, a_stream(), &context);
		show_context(context);
		break;
	default:
		SHOW(cuStreamSynchronize, a_stream());
	}
}

static void destroy_event(void)
{
	CUevent event = (CUevent)pool_take(&events);

	SHOW(cuEventDestroy_v2, event);
	switch (below(4)) {
	case 0:
		SHOW(cuEventDestroy_v2, event);
		break;
	case 1:
		SHOW(cuEventRecord, event, NULL);
		break;
	case 2:
		SHOW(cuStreamWaitEvent, NULL, event, 0);
		break;
	default:
		SHOW_QUERY(cuEventQuery, event);
		break;
	}
}

void call_event(void)
{
	CUevent event = (CUevent)UNTOUCHED;
	float ms;

	switch (below(10)) {
	case 0:
	case 1:
		if (SHOW(cuEventCreate, one_in(10) ? NULL : &event, one_in(8) ? 0xfff : below(4)) == CUDA_SUCCESS)
			pool_add(&events, (uintptr_t)event);
		show_handle((uintptr_t)event);
		break;
	case 2:
	case 3:
		SHOW(cuEventRecord, (CUevent)pick(&events), a_stream());
		break;
	case 4:
		SHOW_QUERY(cuEventQuery, (CUevent)pick(&events));
		break;
	case 5:
		SHOW(cuEventSynchronize, (CUevent)pick(&events));
		break;
	case 6:
		SHOW_QUERY(cuEventElapsedTime, &ms, (CUevent)pick(&events), (CUevent)pick(&events));
		break;
	case 7:
		destroy_event();
		break;
	default:
		SHOW(cuStreamWaitEvent, a_stream(), (CUevent)pick(&events), one_in(8) ? 7 : 0);
	}
}
