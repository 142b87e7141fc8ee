/* SPDX-License-Identifier: BSD-2-Clause */
/* old_abi_copies.c: the copies and memsets of CUDA 3.1: the same with narrow addresses and sizes. */
#include "copy.h"

static CUDA_MEMCPY2D from_2d(const CUDA_MEMCPY2D_v1 *p)
{
	return (CUDA_MEMCPY2D){ .srcXInBytes = p->srcXInBytes,
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
				.Height = p->Height };
}

static CUDA_MEMCPY3D from_3d(const CUDA_MEMCPY3D_v1 *p)
{
	return (CUDA_MEMCPY3D){ .srcXInBytes = p->srcXInBytes,
				.srcY = p->srcY,
				.srcZ = p->srcZ,
				.srcLOD = p->srcLOD,
				.srcMemoryType = p->srcMemoryType,
				.srcHost = p->srcHost,
				.srcDevice = p->srcDevice,
				.srcArray = p->srcArray,
				.reserved0 = p->reserved0,
				.srcPitch = p->srcPitch,
				.srcHeight = p->srcHeight,
				.dstXInBytes = p->dstXInBytes,
				.dstY = p->dstY,
				.dstZ = p->dstZ,
				.dstLOD = p->dstLOD,
				.dstMemoryType = p->dstMemoryType,
				.dstHost = p->dstHost,
				.dstDevice = p->dstDevice,
				.dstArray = p->dstArray,
				.reserved1 = p->reserved1,
				.dstPitch = p->dstPitch,
				.dstHeight = p->dstHeight,
				.WidthInBytes = p->WidthInBytes,
				.Height = p->Height,
				.Depth = p->Depth };
}

CUresult api_old_copy_2d(CALL, const CUDA_MEMCPY2D_v1 *params)
{
	CUDA_MEMCPY2D wide;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	wide = from_2d(params);
	return api_copy_2d(call, &wide);
}

CUresult api_old_copy_2d_async(CALL, const CUDA_MEMCPY2D_v1 *params, CUstream s)
{
	CUDA_MEMCPY2D wide;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	wide = from_2d(params);
	return api_copy_2d_async(call, &wide, s);
}

CUresult api_old_copy_3d(CALL, const CUDA_MEMCPY3D_v1 *params)
{
	CUDA_MEMCPY3D wide;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	wide = from_3d(params);
	return api_copy_3d(call, &wide);
}

CUresult api_old_copy_3d_async(CALL, const CUDA_MEMCPY3D_v1 *params, CUstream s)
{
	CUDA_MEMCPY3D wide;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	wide = from_3d(params);
	return api_copy_3d_async(call, &wide, s);
}

/* The rest is the new call with its arguments widened by the compiler. */
#define WIDEN(noun, params, ...)                      \
	CUresult api_old_##noun params                \
	{                                             \
		return api_##noun(call, __VA_ARGS__); \
	}
WIDEN(copy_to_device, (CALL, CUdeviceptr_v1 to, const void *from, unsigned int bytes), to, from, bytes)
WIDEN(copy_to_device_async, (CALL, CUdeviceptr_v1 to, const void *from, unsigned int bytes, CUstream s), to, from,
      bytes, s)
WIDEN(copy_to_host, (CALL, void *to, CUdeviceptr_v1 from, unsigned int bytes), to, from, bytes)
WIDEN(copy_to_host_async, (CALL, void *to, CUdeviceptr_v1 from, unsigned int bytes, CUstream s), to, from, bytes, s)
WIDEN(copy_on_device, (CALL, CUdeviceptr_v1 to, CUdeviceptr_v1 from, unsigned int bytes), to, from, bytes)
WIDEN(copy_on_device_async, (CALL, CUdeviceptr_v1 to, CUdeviceptr_v1 from, unsigned int bytes, CUstream s), to, from,
      bytes, s)
WIDEN(copy_device_to_array, (CALL, CUarray to, unsigned int offset, CUdeviceptr_v1 from, unsigned int bytes), to,
      offset, from, bytes)
WIDEN(copy_array_to_device, (CALL, CUdeviceptr_v1 to, CUarray from, unsigned int offset, unsigned int bytes), to, from,
      offset, bytes)
WIDEN(copy_host_to_array, (CALL, CUarray to, unsigned int offset, const void *from, unsigned int bytes), to, offset,
      from, bytes)
WIDEN(copy_host_to_array_async,
      (CALL, CUarray to, unsigned int offset, const void *from, unsigned int bytes, CUstream s), to, offset, from,
      bytes, s)
WIDEN(copy_array_to_host, (CALL, void *to, CUarray from, unsigned int offset, unsigned int bytes), to, from, offset,
      bytes)
WIDEN(copy_array_to_host_async, (CALL, void *to, CUarray from, unsigned int offset, unsigned int bytes, CUstream s), to,
      from, offset, bytes, s)
WIDEN(copy_array_to_array,
      (CALL, CUarray to, unsigned int to_offset, CUarray from, unsigned int from_offset, unsigned int bytes), to,
      to_offset, from, from_offset, bytes)
WIDEN(set_8, (CALL, CUdeviceptr_v1 to, unsigned char value, unsigned int count), to, value, count)
WIDEN(set_16, (CALL, CUdeviceptr_v1 to, unsigned short value, unsigned int count), to, value, count)
WIDEN(set_32, (CALL, CUdeviceptr_v1 to, unsigned int value, unsigned int count), to, value, count)
WIDEN(set_plane_8,
      (CALL, CUdeviceptr_v1 to, unsigned int pitch, unsigned char value, unsigned int width, unsigned int height), to,
      pitch, value, width, height)
WIDEN(set_plane_16,
      (CALL, CUdeviceptr_v1 to, unsigned int pitch, unsigned short value, unsigned int width, unsigned int height), to,
      pitch, value, width, height)
WIDEN(set_plane_32,
      (CALL, CUdeviceptr_v1 to, unsigned int pitch, unsigned int value, unsigned int width, unsigned int height), to,
      pitch, value, width, height)
