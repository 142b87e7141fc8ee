/* SPDX-License-Identifier: BSD-2-Clause */
/* vmm_memory.c: allocations and what is behind them. Memory of the host, memory that can be exported and memory for sparse arrays
 * is CUDA_ERROR_NOT_SUPPORTED. */
#define _GNU_SOURCE
#include "vmm.h"

#include "call.h"
#include "device.h"
#include "device_memory.h"
#include "memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define FILE_BYTES ((off_t)1 << 45) /* it is sparse: no offset is ever used again */

static struct slab allocation_slab = SLAB(struct allocation, 1 << 18);
static int file = -1;
static uint64_t file_used;

struct allocation *vmm_allocation(CUmemGenericAllocationHandle handle)
{
	struct allocation *allocation = (struct allocation *)(uintptr_t)handle;

	return slab_holds(&allocation_slab, allocation) && allocation->handles ? allocation : NULL;
}

void vmm_allocation_unref(struct allocation *allocation)
{
	if (allocation->handles || allocation->mappings)
		return;
	device_memory_give(allocation->props.location.id, allocation->bytes);
	fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)allocation->offset,
		  (off_t)allocation->bytes);
	slab_give(&allocation_slab, allocation);
}

bool vmm_map(uintptr_t address, size_t bytes, const struct allocation *allocation)
{
	return mmap((void *)address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
		    (off_t)allocation->offset) != MAP_FAILED;
}

void vmm_unmap(uintptr_t address, size_t bytes)
{
	mmap((void *)address, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
	     -1, 0);
}

static bool file_open(void)
{
	if (file >= 0)
		return true;
	file = memfd_create("simgpu", MFD_CLOEXEC);
	if (file < 0)
		return false;
	if (ftruncate(file, FILE_BYTES) == 0)
		return true;
	close(file);
	file = -1;
	return false;
}

static CUresult check(const CUmemAllocationProp *props)
{
	switch ((int)props->location.type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		break;
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
		return CUDA_ERROR_NOT_SUPPORTED;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (props->type != CU_MEM_ALLOCATION_TYPE_PINNED || props->win32HandleMetaData)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_exists(props->location.id))
		return CUDA_ERROR_INVALID_DEVICE;
	return props->requestedHandleTypes || props->allocFlags.usage ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

static CUresult create(const CUmemAllocationProp *props, size_t bytes, CUmemGenericAllocationHandle *handle)
{
	struct allocation *made;

	if (!file_open() || !device_memory_take(props->location.id, bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	made = slab_take(&allocation_slab);
	if (!made) {
		device_memory_give(props->location.id, bytes);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	made->props = *props;
	made->props.allocFlags.compressionType =
		CU_MEM_ALLOCATION_COMP_NONE; /* asked for or not: the device has none */
	made->bytes = bytes;
	made->offset = file_used;
	made->handles = 1;
	file_used += bytes;
	*handle = (uintptr_t)made;
	return CUDA_SUCCESS;
}

CUresult api_vmm_create(CALL, CUmemGenericAllocationHandle *handle, size_t bytes, const CUmemAllocationProp *props,
			unsigned long long flags)
{
	CUresult result;

	if (!handle || !props || flags || !bytes || bytes % VMM_GRANULARITY)
		return CUDA_ERROR_INVALID_VALUE;
	result = check(props);
	if (result)
		return result;
	sim_lock();
	result = create(props, bytes, handle);
	sim_unlock();
	return result;
}

CUresult api_vmm_release(CALL, CUmemGenericAllocationHandle handle)
{
	struct allocation *allocation;

	sim_lock();
	allocation = vmm_allocation(handle);
	if (allocation) {
		allocation->handles--;
		vmm_allocation_unref(allocation);
	}
	sim_unlock();
	return allocation ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult api_vmm_granularity(CALL, size_t *granularity, const CUmemAllocationProp *props,
			     CUmemAllocationGranularity_flags option)
{
	CUresult result;

	if (!granularity || !props ||
	    (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM && option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
		return CUDA_ERROR_INVALID_VALUE;
	result = check(props);
	if (!result)
		*granularity = VMM_GRANULARITY;
	return result;
}

CUresult api_vmm_properties(CALL, CUmemAllocationProp *props, CUmemGenericAllocationHandle handle)
{
	const struct allocation *allocation;

	if (!props)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	allocation = vmm_allocation(handle);
	if (allocation)
		*props = allocation->props;
	sim_unlock();
	return allocation ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The handle lives again even if all its owners had released it: the mapping kept the memory. */
CUresult api_vmm_retain(CALL, CUmemGenericAllocationHandle *handle, void *address)
{
	const struct memory_range *range;
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	if (!handle)
		return result;
	sim_lock();
	range = memory_find((uintptr_t)address);
	if (range && range->mapped) {
		range->mapped->handles++;
		*handle = (uintptr_t)range->mapped;
		result = CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}

/* No allocation was made with a handle type to export. */
CUresult api_vmm_export(CALL, void *shareable, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
			unsigned long long flags)
{
	(void)shareable;
	(void)handle;
	(void)type;
	(void)flags;
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult api_vmm_import(CALL, CUmemGenericAllocationHandle *handle, void *shareable, CUmemAllocationHandleType type)
{
	(void)handle;
	(void)shareable;
	(void)type;
	return CUDA_ERROR_NOT_SUPPORTED;
}
