/* SPDX-License-Identifier: BSD-2-Clause */
#include "calls.h"

void call_memory(void)
{
	CUdeviceptr p = UNTOUCHED;
	size_t bytes = UNTOUCHED, total = UNTOUCHED;
	unsigned value = (unsigned)UNTOUCHED;
	CUdeviceptr from;

	switch (below(9)) {
	case 0:
	case 1:
	case 2:
		if (SHOW(cuMemAlloc_v2, one_in(10) ? NULL : &p, a_size()) == CUDA_SUCCESS)
			pool_add(&pointers, (uintptr_t)p);
		show_handle((uintptr_t)p);
		break;
	case 3:
		if (SHOW(cuMemAllocPitch_v2, &p, &bytes, below(3000), below(20), one_in(8) ? 5 : 4u << below(3)) ==
		    CUDA_SUCCESS)
			pool_add(&pointers, (uintptr_t)p);
		show_handle((uintptr_t)p);
		show_number((long long)bytes);
		break;
	case 4:
		if (SHOW(cuMemAllocManaged, &p, 1 + a_size() % 100000, one_in(8) ? 0 : CU_MEM_ATTACH_GLOBAL) ==
		    CUDA_SUCCESS)
			pool_add(&pointers, (uintptr_t)p);
		show_handle((uintptr_t)p);
		break;
	case 5:
		SHOW(cuMemFree_v2, a_pointer());
		break;
	case 6:
		from = a_pointer();
		SHOW(cuMemGetAddressRange_v2, &p, &bytes, from);
		show_number(p == UNTOUCHED ? -1 : (long long)(from - p));
		show_number((long long)bytes);
		break;
	case 7:
		SHOW(cuMemGetInfo_v2, &bytes, &total);
		show_number((long long)bytes);
		show_number((long long)total);
		break;
	default:
		SHOW(cuPointerGetAttribute, &value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		     one_in(3) ? (CUdeviceptr)(uintptr_t)pageable : a_pointer());
		show_number(value);
	}
}

void call_pinned(void)
{
	unsigned i = below(HANDLES), flags = (unsigned)UNTOUCHED;
	void *p = (void *)UNTOUCHED;

	switch (below(5)) {
	case 0:
		if (pinned[i])
			return;
		if (SHOW(cuMemAllocHost_v2, one_in(10) ? NULL : &p, one_in(10) ? 0 : 65536) == CUDA_SUCCESS)
			pinned[i] = p;
		show_handle((uintptr_t)p);
		break;
	case 1:
		p = one_in(6) ? pageable : pinned[i];
		if (SHOW(cuMemFreeHost, p) == CUDA_SUCCESS)
			pinned[i] = NULL;
		break;
	case 2:
		SHOW(cuMemHostGetFlags, &flags, one_in(3) ? pageable : pinned[i]);
		show_number(flags);
		break;
	case 3:
		SHOW(cuMemHostRegister_v2, one_in(8) ? NULL : pageable, one_in(8) ? 0 : 4096u << below(6),
		     one_in(8) ? 0xff : 0);
		break;
	default:
		SHOW(cuMemHostUnregister, one_in(8) ? NULL : pageable);
	}
}

static void settle(CUstream s)
{
	SHOW(cuStreamSynchronize, s);
}

void call_copy(void)
{
	size_t bytes = a_size();
	void *host = host_memory(bytes);
	CUdeviceptr p = a_pointer(), from = a_pointer();
	CUstream s = a_stream();

	if (bytes > HOST_BYTES && bytes < SIZE_MAX / 4)
		bytes = HOST_BYTES; /* larger than any buffer is an error; larger than the host buffer alone would crash */
	if (host)
		random_fill(&rng, host, bytes < 4096 ? bytes : 4096);
	switch (below(10)) {
	case 0:
		SHOW(cuMemcpyHtoD_v2, p, host, bytes);
		settle(NULL);
		break;
	case 1:
	case 2:
		SHOW(cuMemcpyHtoDAsync_v2, p, host, bytes, s);
		settle(s);
		break;
	case 3:
	case 4:
		if (SHOW(cuMemcpyDtoH_v2, host, p, bytes) == CUDA_SUCCESS && host)
			show_data(host, bytes);
		break;
	case 5:
	case 6:
		SHOW(cuMemcpyDtoHAsync_v2, host, p, bytes, s);
		settle(s);
		if (host)
			show_data(host, bytes < 4096 ? bytes : 4096);
		break;
	case 7:
		SHOW(cuMemcpyDtoDAsync_v2, p, from, bytes, s);
		settle(s);
		break;
	case 8:
		SHOW(cuMemcpy, a_real_pointer(), one_in(2) ? a_real_pointer() : (CUdeviceptr)(uintptr_t)host, bytes);
		settle(NULL);
		break;
	default:
		SHOW(cuMemcpyAsync, a_real_pointer(), one_in(2) ? a_real_pointer() : (CUdeviceptr)(uintptr_t)host,
		     bytes, s);
		settle(s);
	}
}

void call_set(void)
{
	CUdeviceptr p = a_pointer();
	CUstream s = a_stream();

	switch (below(4)) {
	case 0:
		SHOW(cuMemsetD8_v2, p, (unsigned char)below(256), a_size());
		settle(NULL);
		break;
	case 1:
		SHOW(cuMemsetD32_v2, p, below(1u << 30), a_size());
		settle(NULL);
		break;
	case 2:
		SHOW(cuMemsetD16Async, p, (unsigned short)below(1 << 16), a_size(), s);
		settle(s);
		break;
	default:
		SHOW(cuMemsetD8Async, p, (unsigned char)below(256), a_size(), s);
		settle(s);
	}
}
