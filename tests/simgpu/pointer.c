/* SPDX-License-Identifier: BSD-2-Clause */
/* pointer.c: what can be asked of an address. */
#include "call.h"
#include "memory.h"

#include <string.h>

CUresult api_memory_range(CALL, CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
	const struct memory_range *range;

	sim_lock();
	range = memory_find((uintptr_t)address);
	if (range && base)
		*base = range->base;
	if (range && bytes)
		*bytes = range->bytes;
	sim_unlock();
	return range ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

static bool is_host(const struct memory_range *range)
{
	return range && (range->kind == MEMORY_PINNED || range->kind == MEMORY_REGISTERED);
}

CUresult api_host_device_pointer(CALL, CUdeviceptr *device, void *host, unsigned int flags)
{
	bool found;

	if (!device || flags)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	found = is_host(memory_find((uintptr_t)host));
	sim_unlock();
	if (!found)
		return CUDA_ERROR_INVALID_VALUE;
	*device = (uintptr_t)host;
	return CUDA_SUCCESS;
}

CUresult api_host_flags(CALL, unsigned int *flags, void *host)
{
	const struct memory_range *range;
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	range = memory_find((uintptr_t)host);
	if (range && range->kind == MEMORY_PINNED) {
		*flags = range->flags;
		result = CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}

/* Host memory says which device's context asked for it. */
static int owner_device(const struct memory_range *range)
{
	return range->device == NO_DEVICE ? range->context->device : range->device;
}

/* Of the device the memory is on. */
static int access_flags(const struct memory_range *range)
{
	if (!range->mapped || (range->writable & 1u << range->device))
		return CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
	return range->readable & 1u << range->device ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ
						     : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE;
}

/* The attribute's bytes, or how many there are if the address is not ours: zeroes then. */
static size_t read_attribute(const struct memory_range *range, CUpointer_attribute attribute, CUdeviceptr address,
			     uint64_t *value)
{
	*value = 0;
	switch ((int)attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*value = range ? (uintptr_t)range->context : 0;
		return sizeof(CUcontext);
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*value = is_host(range) ? CU_MEMORYTYPE_HOST : range ? CU_MEMORYTYPE_DEVICE : 0;
		return sizeof(int);
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		*value = range ? address : 0;
		return sizeof(CUdeviceptr);
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		*value = is_host(range) || (range && range->kind == MEMORY_MANAGED) ? address : 0;
		return sizeof(void *);
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		*value = range && range->synchronous;
		return sizeof(int);
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		*value = range ? range->id : 0;
		return sizeof(unsigned long long);
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*value = range && range->kind == MEMORY_MANAGED;
		return sizeof(bool);
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*value = range ? (unsigned)owner_device(range) : (unsigned)CU_DEVICE_INVALID;
		return sizeof(int);
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		*value = range ? range->base : 0;
		return sizeof(void *);
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
		*value = range ? range->bytes : 0;
		return sizeof(size_t);
	case CU_POINTER_ATTRIBUTE_MAPPED:
		*value = range != NULL;
		return sizeof(bool);
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		*value = range && range->mapped ? (uintptr_t)range->mapped : range ? range->id : 0;
		return sizeof(unsigned long long);
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		*value = range ? access_flags(range) : 0;
		return sizeof(int);
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
		return sizeof(bool);
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		return sizeof(unsigned long long);
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		*value = range ? (uintptr_t)range->pool : 0;
		return sizeof(void *);
	default:
		return 0;
	}
}

CUresult api_pointer_attribute(CALL, void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
	const struct memory_range *range;
	uint64_t value = 0;
	size_t bytes;

	if (!data)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	range = memory_find((uintptr_t)address);
	bytes = range ? read_attribute(range, attribute, address, &value) : 0;
	if (attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER && !value)
		bytes = 0; /* "if there exists no such pointer"; cuPointerGetAttributes gives NULL */
	if (bytes)
		memcpy(data, &value, bytes);
	sim_unlock();
	return bytes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult api_pointer_attributes(CALL, unsigned int count, CUpointer_attribute *attributes, void **data,
				CUdeviceptr address)
{
	CUresult result = CUDA_SUCCESS;

	if (count && (!attributes || !data))
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	for (unsigned i = 0; i < count && !result; i++) {
		uint64_t value;
		size_t bytes =
			data[i] ? read_attribute(memory_find((uintptr_t)address), attributes[i], address, &value) : 0;

		if (bytes)
			memcpy(data[i], &value, bytes);
		else
			result = CUDA_ERROR_INVALID_VALUE;
	}
	sim_unlock();
	return result;
}

CUresult api_pointer_set_attribute(CALL, const void *value, CUpointer_attribute attribute, CUdeviceptr address)
{
	struct memory_range *range;
	unsigned on;

	if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&on, value, sizeof(on));
	sim_lock();
	range = memory_change((uintptr_t)address);
	if (range)
		range->synchronous = on != 0;
	sim_unlock();
	return range ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
