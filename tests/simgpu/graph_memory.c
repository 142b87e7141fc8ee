/* SPDX-License-Identifier: BSD-2-Clause */
/* graph_memory.c: what graph_memory.h says, and what can be asked of it all. Nothing is kept for later: memory that is
 * reserved for graphs is memory in use. */
#include "graph_memory.h"

#include "address_space.h"
#include "call.h"
#include "device.h"
#include "device_memory.h"
#include "memory.h"

#include <stdlib.h>

struct graph_memory {
	CUdeviceptr address;
	size_t reserved; /* bytes */
	int device;
	unsigned references;
	bool claimed, live;
	struct graph_memory *next;
};

struct usage {
	cuuint64_t now, high; /* bytes */
};

static struct graph_memory *memories;
static struct usage usage[SIM_MAX_DEVICES];

static struct graph_memory *find(CUdeviceptr address)
{
	struct graph_memory *memory = memories;

	while (memory && memory->address != address)
		memory = memory->next;
	return memory;
}

static void remove_unused(struct graph_memory *memory)
{
	struct graph_memory **at = &memories;

	if (memory->references || memory->live)
		return;
	while (*at != memory)
		at = &(*at)->next;
	*at = memory->next;
	memory_range_remove(memory_find((uintptr_t)memory->address));
	address_give((uintptr_t)memory->address);
	free(memory);
}

CUresult graph_memory_check(const CUDA_MEM_ALLOC_NODE_PARAMS_v2 *params)
{
	const CUmemPoolProps *props = &params->poolProps;

	if (!params->bytesize || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED || props->handleTypes)
		return CUDA_ERROR_INVALID_VALUE;
	if (props->location.type != CU_MEM_LOCATION_TYPE_DEVICE || !device_exists(props->location.id))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < params->accessDescCount; i++)
		if (!params->accessDescs || !device_exists(params->accessDescs[i].location.id))
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult graph_memory_reserve(CUDA_MEM_ALLOC_NODE_PARAMS_v2 *params)
{
	size_t reserved = (params->bytesize + ADDRESS_ALIGN - 1) & ~(size_t)(ADDRESS_ALIGN - 1);
	struct graph_memory *memory;
	uintptr_t base = reserved < params->bytesize ? 0 : address_take(reserved, ADDRESS_ALIGN, 0);

	if (!base)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memory = malloc(sizeof(*memory));
	if (!memory || !memory_range_add((struct memory_range){ .base = base,
								.bytes = params->bytesize,
								.reserved = reserved,
								.kind = MEMORY_DEVICE,
								.device = params->poolProps.location.id,
								.graph = true })) {
		free(memory);
		address_give(base);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*memory = (struct graph_memory){ .address = base,
					 .reserved = reserved,
					 .device = params->poolProps.location.id,
					 .references = 1,
					 .next = memories };
	memories = memory;
	params->dptr = base;
	return CUDA_SUCCESS;
}

bool graph_memory_claim(CUdeviceptr address)
{
	struct graph_memory *memory = find(address);

	if (!memory || memory->claimed)
		return false;
	memory->claimed = true;
	return true;
}

void graph_memory_unclaim(CUdeviceptr address)
{
	find(address)->claimed = false;
}

void graph_memory_ref(CUdeviceptr address)
{
	find(address)->references++;
}

void graph_memory_unref(CUdeviceptr address)
{
	struct graph_memory *memory = find(address);

	memory->references--;
	remove_unused(memory);
}

bool graph_memory_live(CUdeviceptr address)
{
	const struct graph_memory *memory = find(address);

	return memory && memory->live;
}

CUresult graph_memory_allocate(CUdeviceptr address)
{
	struct graph_memory *memory = find(address);

	if (!device_memory_take(memory->device, memory->reserved))
		return CUDA_ERROR_OUT_OF_MEMORY;
	memory->live = true;
	usage[memory->device].now += memory->reserved;
	if (usage[memory->device].high < usage[memory->device].now)
		usage[memory->device].high = usage[memory->device].now;
	return CUDA_SUCCESS;
}

CUresult graph_memory_free(CUdeviceptr address)
{
	struct graph_memory *memory = find(address);

	if (!memory || !memory->live)
		return CUDA_ERROR_INVALID_VALUE;
	device_memory_give(memory->device, memory->reserved);
	usage[memory->device].now -= memory->reserved;
	memory->live = false;
	remove_unused(memory);
	return CUDA_SUCCESS;
}

/* ---- calls --------------------------------------------------------------------------------------------------- */

CUresult api_graph_memory_trim(CALL, CUdevice device)
{
	return device_exists(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult api_graph_memory_attribute(CALL, CUdevice device, CUgraphMem_attribute attribute, void *value)
{
	CUresult result = CUDA_SUCCESS;

	if (!device_exists(device))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	switch ((int)attribute) {
	case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
	case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
		*(cuuint64_t *)value = usage[device].now;
		break;
	case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
	case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
		*(cuuint64_t *)value = usage[device].high;
		break;
	default:
		result = CUDA_ERROR_INVALID_VALUE;
	}
	sim_unlock();
	return result;
}

CUresult api_graph_set_memory_attribute(CALL, CUdevice device, CUgraphMem_attribute attribute, void *value)
{
	if (!device_exists(device))
		return CUDA_ERROR_INVALID_DEVICE;
	if (attribute != CU_GRAPH_MEM_ATTR_USED_MEM_HIGH && attribute != CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
		return CUDA_ERROR_INVALID_VALUE;
	if (!value || *(const cuuint64_t *)value) /* zero alone can be set */
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	usage[device].high = usage[device].now;
	sim_unlock();
	return CUDA_SUCCESS;
}
