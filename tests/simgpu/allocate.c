/* SPDX-License-Identifier: BSD-2-Clause */
/* allocate.c: the calls that allocate and free. Allocating takes host time; freeing waits for the device, as the real one does. */
#include "call.h"
#include "context.h"
#include "graph_memory.h"
#include "device_memory.h"
#include "memory.h"
#include "pool.h"
#include "settings.h"

#include <sys/mman.h>

enum {
	ALLOC_SMALL_NS = 2000,  /* from what the driver already has */
	ALLOC_LARGE_NS = 60000, /* mapping memory anew */
	ALLOC_LARGE_BYTES = 2 << 20,
	PIN_NS = 40000,
	PIN_PAGE_NS = 100,
	PITCH = 512
};

CUresult api_memory_info(CALL, size_t *free_bytes, size_t *total)
{
	if (!free_bytes || !total)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	*total = settings()->memory_bytes;
	*free_bytes = settings()->memory_bytes - device_memory_used(call->context->device);
	sim_unlock();
	return CUDA_SUCCESS;
}

static CUresult allocate(const struct call *call, CUdeviceptr *address, size_t bytes, enum memory_kind kind)
{
	CUresult result;

	if (!address || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	result = memory_take(call->context, bytes, kind, address);
	sim_unlock();
	clock_spin_until(call->entry_ns + (bytes < ALLOC_LARGE_BYTES ? ALLOC_SMALL_NS : ALLOC_LARGE_NS));
	return result;
}

CUresult api_memory_alloc(CALL, CUdeviceptr *address, size_t bytes)
{
	return allocate(call, address, bytes, MEMORY_DEVICE);
}

CUresult api_memory_alloc_pitch(CALL, CUdeviceptr *address, size_t *pitch, size_t width, size_t height,
				unsigned int element)
{
	if (!pitch || !width || !height || (element != 4 && element != 8 && element != 16))
		return CUDA_ERROR_INVALID_VALUE;
	*pitch = (width + PITCH - 1) & ~(size_t)(PITCH - 1);
	return allocate(call, address, *pitch * height, MEMORY_DEVICE);
}

CUresult api_memory_alloc_managed(CALL, CUdeviceptr *address, size_t bytes, unsigned int flags)
{
	if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
		return CUDA_ERROR_INVALID_VALUE;
	return allocate(call, address, bytes, MEMORY_MANAGED);
}

/* A range that begins at the address and is of one of two kinds. */
static const struct memory_range *find_exact(uintptr_t address, enum memory_kind one, enum memory_kind other)
{
	const struct memory_range *range = memory_find(address);

	return range && range->base == address && (range->kind == one || range->kind == other) ? range : NULL;
}

static CUcontext find_owner(uintptr_t address)
{
	const struct memory_range *range = memory_find(address);

	return range ? range->context : NULL;
}

/* The wait releases the lock: whether the range is still there is asked again afterwards. */
static CUresult free_after_work(const struct call *call, uintptr_t address, enum memory_kind one,
				enum memory_kind other, CUresult otherwise)
{
	const struct memory_range *range;
	CUresult result = otherwise;

	sim_lock();
	range = find_exact(address, one, other);
	if (range && range->pool) {
		pool_free_now(address); /* the caller answers for it that nothing uses it any more */
		result = CUDA_SUCCESS;
	} else if (range && range->graph) {
		context_wait_idle(call->context);
		result = graph_memory_free(address); /* unless somebody else did meanwhile */
	} else if (range && !range->mapped) {
		context_wait_idle(range->context);
		if (call->context != find_owner(address))
			context_wait_idle(call->context); /* memory may be used from a context that does not own it */
		if (find_exact(address, one, other)) {
			memory_release(address);
			result = CUDA_SUCCESS;
		}
	}
	sim_unlock();
	return result;
}

CUresult api_memory_free(CALL, CUdeviceptr address)
{
	if (!address)
		return CUDA_SUCCESS;
	return free_after_work(call, (uintptr_t)address, MEMORY_DEVICE, MEMORY_MANAGED, CUDA_ERROR_INVALID_VALUE);
}

CUresult api_host_alloc(CALL, void **address, size_t bytes, unsigned int flags)
{
	const unsigned known = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
	size_t reserved = (bytes + 4095) & ~(size_t)4095;
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
	void *memory;

	if (!address || !bytes || (flags & ~known))
		return CUDA_ERROR_INVALID_VALUE;
	if (reserved < bytes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memory = mmap(NULL, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	sim_lock();
	if (memory_range_add((struct memory_range){ .base = (uintptr_t)memory,
						    .bytes = bytes,
						    .reserved = reserved,
						    .kind = MEMORY_PINNED,
						    .device = NO_DEVICE,
						    .context = call->context,
						    .flags = flags | CU_MEMHOSTALLOC_DEVICEMAP }))
		result = CUDA_SUCCESS;
	sim_unlock();
	if (result)
		munmap(memory, reserved);
	else
		*address = memory;
	clock_spin_until(call->entry_ns + PIN_NS + reserved / 4096 * PIN_PAGE_NS);
	return result;
}

CUresult api_host_alloc_plain(CALL, void **address, size_t bytes)
{
	return api_host_alloc(call, address, bytes, 0);
}

CUresult api_host_free(CALL, void *address)
{
	return free_after_work(call, (uintptr_t)address, MEMORY_PINNED, MEMORY_PINNED, CUDA_ERROR_INVALID_VALUE);
}

CUresult api_host_register(CALL, void *address, size_t bytes, unsigned int flags)
{
	const unsigned known =
		CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;
	CUresult result = CUDA_SUCCESS;

	if (!address || !bytes || (flags & ~known) || (uintptr_t)address + bytes < (uintptr_t)address)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	if (memory_range_overlapping((uintptr_t)address, bytes))
		result = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	else if (!memory_range_add((struct memory_range){ .base = (uintptr_t)address,
							  .bytes = bytes,
							  .reserved = bytes,
							  .kind = MEMORY_REGISTERED,
							  .device = NO_DEVICE,
							  .context = call->context,
							  .flags = flags | CU_MEMHOSTREGISTER_DEVICEMAP }))
		result = CUDA_ERROR_OUT_OF_MEMORY;
	sim_unlock();
	clock_spin_until(call->entry_ns + PIN_NS + bytes / 4096 * PIN_PAGE_NS);
	return result;
}

CUresult api_host_unregister(CALL, void *address)
{
	if (!address)
		return CUDA_ERROR_INVALID_VALUE;
	return free_after_work(call, (uintptr_t)address, MEMORY_REGISTERED, MEMORY_REGISTERED,
			       CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}
