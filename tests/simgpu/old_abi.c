/* SPDX-License-Identifier: BSD-2-Clause */
/* old_abi.c: the calls of CUDA 3.1, whose device addresses and sizes have 32 bits. Memory they allocate lies where such an
 * address reaches; the others' does not, and an address that does not fit is CUDA_ERROR_NOT_SUPPORTED. Amounts that do not fit
 * are given as the most that does. */
#include "array.h"
#include "call.h"
#include "memory.h"
#include "settings.h"

static unsigned fitting(uint64_t value)
{
	return value > UINT32_MAX ? UINT32_MAX : (unsigned)value;
}

static CUresult give_address(CUresult result, CUdeviceptr found, CUdeviceptr_v1 *address)
{
	if (result)
		return result;
	if (found > UINT32_MAX)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (address)
		*address = (CUdeviceptr_v1)found;
	return CUDA_SUCCESS;
}

CUresult api_old_device_memory(CALL, unsigned int *bytes, CUdevice dev)
{
	size_t all;
	CUresult result = bytes ? api_device_memory(call, &all, dev) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*bytes = fitting(all);
	return result;
}

CUresult api_old_memory_info(CALL, unsigned int *free_bytes, unsigned int *total)
{
	size_t left, all;
	CUresult result = free_bytes && total ? api_memory_info(call, &left, &all) : CUDA_ERROR_INVALID_VALUE;

	if (!result) {
		*free_bytes = fitting(left);
		*total = fitting(all);
	}
	return result;
}

CUresult api_old_module_global(CALL, CUdeviceptr_v1 *address, unsigned int *bytes, CUmodule module, const char *name)
{
	CUdeviceptr found;
	size_t size;
	CUresult result =
		address || bytes ? api_module_global(call, &found, &size, module, name) : CUDA_ERROR_INVALID_VALUE;

	if (!result && bytes)
		*bytes = (unsigned)size;
	return address ? give_address(result, found, address) : result;
}

CUresult api_old_memory_alloc(CALL, CUdeviceptr_v1 *address, unsigned int bytes)
{
	CUdeviceptr found = 0;
	CUresult result;

	if (!address || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	result = memory_take_low(call->context, bytes, &found);
	sim_unlock();
	return give_address(result, found, address);
}

CUresult api_old_memory_alloc_pitch(CALL, CUdeviceptr_v1 *address, unsigned int *pitch, unsigned int width,
				    unsigned int height, unsigned int element)
{
	if (!pitch || !width || !height || (element != 4 && element != 8 && element != 16))
		return CUDA_ERROR_INVALID_VALUE;
	*pitch = (width + 511) & ~511u;
	if (*pitch < width || (uint64_t)*pitch * height > UINT32_MAX)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return api_old_memory_alloc(call, address, *pitch * height);
}

CUresult api_old_memory_free(CALL, CUdeviceptr_v1 address)
{
	return api_memory_free(call, address);
}

CUresult api_old_memory_range(CALL, CUdeviceptr_v1 *base, unsigned int *bytes, CUdeviceptr_v1 address)
{
	CUdeviceptr found;
	size_t size;
	CUresult result = api_memory_range(call, &found, &size, address);

	if (!result && bytes)
		*bytes = fitting(size);
	return give_address(result, found, base);
}

CUresult api_old_host_alloc(CALL, void **address, unsigned int bytes)
{
	return api_host_alloc_plain(call, address, bytes);
}

CUresult api_old_host_device_pointer(CALL, CUdeviceptr_v1 *device, void *host, unsigned int flags)
{
	CUdeviceptr found = 0;
	CUresult result = device ? api_host_device_pointer(call, &found, host, flags) : CUDA_ERROR_INVALID_VALUE;

	return give_address(result, found, device);
}

/* ---- arrays ---------------------------------------------------------------------------------------------- */

CUresult api_old_array_create(CALL, CUarray *array, const CUDA_ARRAY_DESCRIPTOR_v1 *d)
{
	CUDA_ARRAY_DESCRIPTOR wide;

	if (!d)
		return CUDA_ERROR_INVALID_VALUE;
	wide = (CUDA_ARRAY_DESCRIPTOR){ d->Width, d->Height, d->Format, d->NumChannels };
	return api_array_create(call, array, &wide);
}

CUresult api_old_array_create_3d(CALL, CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR_v1 *d)
{
	CUDA_ARRAY3D_DESCRIPTOR wide;

	if (!d)
		return CUDA_ERROR_INVALID_VALUE;
	wide = (CUDA_ARRAY3D_DESCRIPTOR){ d->Width, d->Height, d->Depth, d->Format, d->NumChannels, d->Flags };
	return api_array_create_3d(call, array, &wide);
}

CUresult api_old_array_descriptor(CALL, CUDA_ARRAY_DESCRIPTOR_v1 *d, CUarray array)
{
	CUDA_ARRAY_DESCRIPTOR wide;
	CUresult result = d ? api_array_descriptor(call, &wide, array) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*d = (CUDA_ARRAY_DESCRIPTOR_v1){ fitting(wide.Width), fitting(wide.Height), wide.Format,
						 wide.NumChannels };
	return result;
}

CUresult api_old_array_descriptor_3d(CALL, CUDA_ARRAY3D_DESCRIPTOR_v1 *d, CUarray array)
{
	CUDA_ARRAY3D_DESCRIPTOR wide;
	CUresult result = d ? api_array_descriptor_3d(call, &wide, array) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*d = (CUDA_ARRAY3D_DESCRIPTOR_v1){ fitting(wide.Width), fitting(wide.Height), fitting(wide.Depth),
						   wide.Format,         wide.NumChannels,     wide.Flags };
	return result;
}
