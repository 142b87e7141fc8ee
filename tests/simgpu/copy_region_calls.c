/* SPDX-License-Identifier: BSD-2-Clause */
/* copy_region_calls.c: the calls that copy rectangles, boxes and parts of arrays. Pitches that cuMemAllocPitch would not have
 * chosen are fine with all of them, so cuMemcpy2DUnaligned does the same as cuMemcpy2D. */
#include "copy.h"

static CUDA_MEMCPY3D from_2d(const CUDA_MEMCPY2D *p)
{
	return (CUDA_MEMCPY3D){ .srcXInBytes = p->srcXInBytes,
				.srcY = p->srcY,
				.srcMemoryType = p->srcMemoryType,
				.srcHost = p->srcHost,
				.srcDevice = p->srcDevice,
				.srcArray = p->srcArray,
				.srcPitch = p->srcPitch,
				.dstXInBytes = p->dstXInBytes,
				.dstY = p->dstY,
				.dstMemoryType = p->dstMemoryType,
				.dstHost = p->dstHost,
				.dstDevice = p->dstDevice,
				.dstArray = p->dstArray,
				.dstPitch = p->dstPitch,
				.WidthInBytes = p->WidthInBytes,
				.Height = p->Height,
				.Depth = 1 };
}

static CUresult run_2d(const struct call *call, const CUDA_MEMCPY2D *params, CUstream s, bool async)
{
	CUDA_MEMCPY3D full;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	full = from_2d(params);
	return copy_run(call, &full, s, async);
}

CUresult api_copy_2d(CALL, const CUDA_MEMCPY2D *params)
{
	return run_2d(call, params, NULL, false);
}

CUresult api_copy_2d_async(CALL, const CUDA_MEMCPY2D *params, CUstream s)
{
	return run_2d(call, params, s, true);
}

static CUresult run_3d(const struct call *call, const CUDA_MEMCPY3D *params, CUstream s, bool async)
{
	if (!params || params->reserved0 || params->reserved1)
		return CUDA_ERROR_INVALID_VALUE;
	return copy_run(call, params, s, async);
}

CUresult api_copy_3d(CALL, const CUDA_MEMCPY3D *params)
{
	return run_3d(call, params, NULL, false);
}

CUresult api_copy_3d_async(CALL, const CUDA_MEMCPY3D *params, CUstream s)
{
	return run_3d(call, params, s, true);
}

/* ---- arrays: bytes of the first row ---------------------------------------------------------------------- */

static CUDA_MEMCPY3D into_array(CUarray array, size_t offset, CUmemorytype type, uintptr_t from, size_t bytes)
{
	CUDA_MEMCPY3D params = copy_of_bytes(CU_MEMORYTYPE_ARRAY, 0, type, from, bytes);

	params.dstArray = array;
	params.dstXInBytes = offset;
	return params;
}

static CUDA_MEMCPY3D out_of_array(CUmemorytype type, uintptr_t to, CUarray array, size_t offset, size_t bytes)
{
	CUDA_MEMCPY3D params = copy_of_bytes(type, to, CU_MEMORYTYPE_ARRAY, 0, bytes);

	params.srcArray = array;
	params.srcXInBytes = offset;
	return params;
}

CUresult api_copy_host_to_array(CALL, CUarray to, size_t offset, const void *from, size_t bytes)
{
	const CUDA_MEMCPY3D params = into_array(to, offset, CU_MEMORYTYPE_HOST, (uintptr_t)from, bytes);

	return copy_run(call, &params, NULL, false);
}

CUresult api_copy_host_to_array_async(CALL, CUarray to, size_t offset, const void *from, size_t bytes, CUstream s)
{
	const CUDA_MEMCPY3D params = into_array(to, offset, CU_MEMORYTYPE_HOST, (uintptr_t)from, bytes);

	return copy_run(call, &params, s, true);
}

CUresult api_copy_array_to_host(CALL, void *to, CUarray from, size_t offset, size_t bytes)
{
	const CUDA_MEMCPY3D params = out_of_array(CU_MEMORYTYPE_HOST, (uintptr_t)to, from, offset, bytes);

	return copy_run(call, &params, NULL, false);
}

CUresult api_copy_array_to_host_async(CALL, void *to, CUarray from, size_t offset, size_t bytes, CUstream s)
{
	const CUDA_MEMCPY3D params = out_of_array(CU_MEMORYTYPE_HOST, (uintptr_t)to, from, offset, bytes);

	return copy_run(call, &params, s, true);
}

CUresult api_copy_device_to_array(CALL, CUarray to, size_t offset, CUdeviceptr from, size_t bytes)
{
	const CUDA_MEMCPY3D params = into_array(to, offset, CU_MEMORYTYPE_DEVICE, from, bytes);

	return copy_run(call, &params, NULL, false);
}

CUresult api_copy_array_to_device(CALL, CUdeviceptr to, CUarray from, size_t offset, size_t bytes)
{
	const CUDA_MEMCPY3D params = out_of_array(CU_MEMORYTYPE_DEVICE, to, from, offset, bytes);

	return copy_run(call, &params, NULL, false);
}

CUresult api_copy_array_to_array(CALL, CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t bytes)
{
	CUDA_MEMCPY3D params = out_of_array(CU_MEMORYTYPE_ARRAY, 0, from, from_offset, bytes);

	params.dstArray = to;
	params.dstXInBytes = to_offset;
	return copy_run(call, &params, NULL, false);
}
