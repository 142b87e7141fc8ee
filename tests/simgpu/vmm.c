/* SPDX-License-Identifier: BSD-2-Clause */
/* vmm.c: reservations, mappings, access. Memory nobody was given access to exists, but no copy reaches it. */
#include "vmm.h"

#include "address_space.h"
#include "call.h"
#include "context.h"
#include "device.h"
#include "memory.h"

enum { HOST_PAGE = 4096 };

struct reservation {
	uintptr_t base;
	size_t bytes;
	struct reservation *next;
};

static struct reservation *reservations;

static CUresult reserve(size_t bytes, size_t align, uintptr_t wish, CUdeviceptr *address)
{
	struct reservation *made = malloc(sizeof(*made));

	if (!made)
		return CUDA_ERROR_OUT_OF_MEMORY;
	made->base = address_take(bytes, align > VMM_GRANULARITY ? align : VMM_GRANULARITY, wish);
	if (!made->base) {
		free(made);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	made->bytes = bytes;
	made->next = reservations;
	reservations = made;
	*address = made->base;
	return CUDA_SUCCESS;
}

CUresult api_vmm_reserve(CALL, CUdeviceptr *address, size_t bytes, size_t align, CUdeviceptr wish,
			 unsigned long long flags)
{
	CUresult result;

	if (!address || flags || !bytes || bytes % HOST_PAGE || wish % HOST_PAGE || (align & (align - 1)))
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	result = reserve(bytes, align, (uintptr_t)wish, address);
	sim_unlock();
	return result;
}

CUresult api_vmm_unreserve(CALL, CUdeviceptr address, size_t bytes)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	sim_lock();
	for (struct reservation **at = &reservations; *at; at = &(*at)->next) {
		struct reservation *found = *at;

		if (found->base != address || found->bytes != bytes)
			continue;
		if (memory_range_overlapping(found->base, bytes))
			break; /* still mapped */
		*at = found->next;
		address_give(found->base);
		free(found);
		result = CUDA_SUCCESS;
		break;
	}
	sim_unlock();
	return result;
}

static bool reserved(uintptr_t address, size_t bytes)
{
	for (const struct reservation *r = reservations; r; r = r->next)
		if (address >= r->base && bytes <= r->bytes && address - r->base <= r->bytes - bytes)
			return true;
	return false;
}

static CUresult map(uintptr_t address, size_t bytes, struct allocation *allocation)
{
	if (!allocation || bytes > allocation->bytes || !reserved(address, bytes) ||
	    memory_range_overlapping(address, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	if (!vmm_map(address, bytes, allocation))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!memory_range_add((struct memory_range){ .base = address,
						     .bytes = bytes,
						     .kind = MEMORY_DEVICE,
						     .device = allocation->props.location.id,
						     .mapped = allocation })) {
		vmm_unmap(address, bytes);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	allocation->mappings++;
	return CUDA_SUCCESS;
}

CUresult api_vmm_map(CALL, CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
		     unsigned long long flags)
{
	CUresult result;

	if (flags || offset || !bytes || bytes % VMM_GRANULARITY || address % VMM_GRANULARITY)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	result = map((uintptr_t)address, bytes, vmm_allocation(handle));
	sim_unlock();
	return result;
}

/* The first of the mappings that make up exactly these bytes; NULL: they do not. */
static struct memory_range *whole_mappings(uintptr_t address, size_t bytes)
{
	struct memory_range *first = memory_change(address);
	uintptr_t at = address, end = address + bytes;

	if (!first || first->base != address || end < address)
		return NULL;
	for (const struct memory_range *range = first; at < end; range = memory_range_next(range)) {
		if (!range || !range->mapped || range->base != at || range->bytes > end - at)
			return NULL;
		at += range->bytes;
	}
	return at == end ? first : NULL;
}

static CUresult unmap(uintptr_t address, size_t bytes)
{
	if (!bytes || !whole_mappings(address, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	for (uintptr_t at = address; at < address + bytes;) {
		const struct memory_range *range = memory_find(at);
		struct allocation *allocation = range->mapped;

		at += range->bytes;
		vmm_unmap(range->base, range->bytes);
		memory_range_remove(range);
		allocation->mappings--;
		vmm_allocation_unref(allocation);
	}
	return CUDA_SUCCESS;
}

/* Work that may use the memory comes first. */
CUresult api_vmm_unmap(CALL, CUdeviceptr address, size_t bytes)
{
	CUresult result;

	sim_lock();
	if (call->context)
		context_wait_idle(call->context);
	result = unmap((uintptr_t)address, bytes);
	sim_unlock();
	return result;
}

static CUresult check_access(const CUmemAccessDesc *descriptor)
{
	if (descriptor->location.type == CU_MEM_LOCATION_TYPE_HOST ||
	    descriptor->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (descriptor->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_exists(descriptor->location.id))
		return CUDA_ERROR_INVALID_DEVICE;
	switch ((int)descriptor->flags) {
	case CU_MEM_ACCESS_FLAGS_PROT_NONE:
	case CU_MEM_ACCESS_FLAGS_PROT_READ:
	case CU_MEM_ACCESS_FLAGS_PROT_READWRITE:
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static void set_access(struct memory_range *range, const CUmemAccessDesc *descriptor)
{
	const uint32_t bit = 1u << descriptor->location.id;

	range->readable &= ~bit;
	range->writable &= ~bit;
	if (descriptor->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE)
		range->readable |= bit;
	if (descriptor->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
		range->writable |= bit;
}

CUresult api_vmm_set_access(CALL, CUdeviceptr address, size_t bytes, const CUmemAccessDesc *descriptors, size_t count)
{
	CUresult result = CUDA_SUCCESS;

	if (!bytes || !descriptors || !count)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count && !result; i++)
		result = check_access(&descriptors[i]);
	if (result)
		return result;
	sim_lock();
	if (!whole_mappings((uintptr_t)address, bytes))
		result = CUDA_ERROR_INVALID_VALUE;
	for (uintptr_t at = (uintptr_t)address; !result && at < (uintptr_t)address + bytes;) {
		struct memory_range *range = memory_change(at);

		for (size_t i = 0; i < count; i++)
			set_access(range, &descriptors[i]);
		at += range->bytes;
	}
	sim_unlock();
	return result;
}

CUresult api_vmm_access(CALL, unsigned long long *flags, const CUmemLocation *location, CUdeviceptr address)
{
	const struct memory_range *range;
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	if (!flags || !location || location->type != CU_MEM_LOCATION_TYPE_DEVICE)
		return result;
	if (!device_exists(location->id))
		return CUDA_ERROR_INVALID_DEVICE;
	sim_lock();
	range = memory_find((uintptr_t)address);
	if (range && range->mapped) {
		*flags = range->writable & 1u << location->id   ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
			 : range->readable & 1u << location->id ? CU_MEM_ACCESS_FLAGS_PROT_READ
								: CU_MEM_ACCESS_FLAGS_PROT_NONE;
		result = CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}
