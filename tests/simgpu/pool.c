/* SPDX-License-Identifier: BSD-2-Clause */
/* pool.c: pools as objects: which there are, which is current, their attributes. Only device memory, not shared with other
 * processes: pools of host memory, of managed memory and with handles to export are CUDA_ERROR_NOT_SUPPORTED, as on a device
 * whose attributes say so. */
#include "pool.h"

#include "call.h"
#include "device.h"

#include <string.h>

static struct slab pool_slab = SLAB(struct CUmemPoolHandle_st, 1 << 12);
static CUmemoryPool pools;
static CUmemoryPool default_pools[SIM_MAX_DEVICES], current_pools[SIM_MAX_DEVICES];

static CUmemoryPool pool_new(const CUmemPoolProps *props)
{
	CUmemoryPool pool = slab_take(&pool_slab);

	if (!pool)
		return NULL;
	pool->device = props->location.id;
	pool->props = *props;
	pool->reuse_events = pool->reuse_opportunistic = pool->reuse_internal = 1;
	pool->access[pool->device] = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	pool->next = pools;
	pools = pool;
	return pool;
}

static CUmemoryPool default_pool(int device)
{
	const CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				       .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device } };

	if (!default_pools[device]) {
		default_pools[device] = pool_new(&props);
		if (default_pools[device])
			default_pools[device]->is_default = true;
	}
	return default_pools[device];
}

CUmemoryPool pool_of_device(int device)
{
	return current_pools[device] ? current_pools[device] : default_pool(device);
}

bool pool_valid(CUmemoryPool pool)
{
	return slab_holds(&pool_slab, pool) && !pool->destroyed;
}

/* A destroyed pool goes when nothing of it is in use any more. */
void pool_settle(void)
{
	for (CUmemoryPool *at = &pools; *at;) {
		CUmemoryPool pool = *at;

		if (pool->destroyed && !pool_heap_busy(pool)) {
			pool_heap_trim(pool, 0);
			*at = pool->next;
			slab_give(&pool_slab, pool);
			continue;
		}
		if (pool->reserved > pool->release_threshold)
			pool_heap_trim(pool, pool->release_threshold);
		at = &pool->next;
	}
}

static CUresult check_props(const CUmemPoolProps *props)
{
	static const unsigned char zeroes[sizeof(props->reserved)];

	if (memcmp(props->reserved, zeroes, sizeof(zeroes)) || props->win32SecurityAttributes)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)props->location.type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		break;
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
		return CUDA_ERROR_NOT_SUPPORTED;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (props->allocType == CU_MEM_ALLOCATION_TYPE_MANAGED)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED || !device_exists(props->location.id))
		return CUDA_ERROR_INVALID_VALUE;
	return props->handleTypes || props->usage ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

CUresult api_pool_create(CALL, CUmemoryPool *pool, const CUmemPoolProps *props)
{
	CUmemoryPool made;
	CUresult result;

	if (!pool || !props)
		return CUDA_ERROR_INVALID_VALUE;
	result = check_props(props);
	if (result)
		return result;
	sim_lock();
	made = pool_new(props);
	sim_unlock();
	if (!made)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*pool = made;
	return CUDA_SUCCESS;
}

CUresult api_pool_destroy(CALL, CUmemoryPool pool)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	sim_lock();
	if (pool_valid(pool) && !pool->is_default) {
		if (current_pools[pool->device] == pool)
			current_pools[pool->device] = NULL;
		pool->destroyed = true;
		timeline_advance(clock_now_ns());
		pool_settle();
		result = CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}

CUresult api_pool_trim(CALL, CUmemoryPool pool, size_t keep)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	sim_lock();
	if (pool_valid(pool)) {
		timeline_advance(clock_now_ns());
		pool_heap_trim(pool, keep);
		result = CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}

/* ---- attributes ------------------------------------------------------------------------------------------ */

/* Exactly one of the two is not NULL, or none: no such attribute. */
struct attribute {
	int *flag;
	uint64_t *amount;
};

static struct attribute find_attribute(CUmemoryPool pool, CUmemPool_attribute attribute)
{
	switch ((int)attribute) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
		return (struct attribute){ .flag = &pool->reuse_events };
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
		return (struct attribute){ .flag = &pool->reuse_opportunistic };
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		return (struct attribute){ .flag = &pool->reuse_internal };
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		return (struct attribute){ .amount = &pool->release_threshold };
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
		return (struct attribute){ .amount = &pool->reserved };
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		return (struct attribute){ .amount = &pool->reserved_high };
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		return (struct attribute){ .amount = &pool->used };
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		return (struct attribute){ .amount = &pool->used_high };
	default:
		return (struct attribute){ NULL, NULL };
	}
}

CUresult api_pool_attribute(CALL, CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	if (!value)
		return result;
	sim_lock();
	if (pool_valid(pool)) {
		struct attribute found = find_attribute(pool, attribute);

		if (found.flag)
			memcpy(value, found.flag, sizeof(*found.flag));
		else if (found.amount)
			memcpy(value, found.amount, sizeof(*found.amount));
		result = found.flag || found.amount ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	}
	sim_unlock();
	return result;
}

/* A high mark is reset to what is the case now, by setting it to zero. */
static CUresult set_amount(CUmemoryPool pool, CUmemPool_attribute attribute, uint64_t amount)
{
	switch ((int)attribute) {
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		pool->release_threshold = amount;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		pool->reserved_high = amount ? pool->reserved_high : pool->reserved;
		return amount ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		pool->used_high = amount ? pool->used_high : pool->used;
		return amount ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE; /* what is the case now cannot be set */
	}
}

CUresult api_pool_set_attribute(CALL, CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;
	uint64_t amount;

	if (!value)
		return result;
	sim_lock();
	if (pool_valid(pool)) {
		struct attribute found = find_attribute(pool, attribute);

		if (found.flag) {
			memcpy(found.flag, value, sizeof(*found.flag));
			result = CUDA_SUCCESS;
		} else if (found.amount) {
			memcpy(&amount, value, sizeof(amount));
			result = set_amount(pool, attribute, amount);
		}
	}
	sim_unlock();
	return result;
}

/* ---- access ---------------------------------------------------------------------------------------------- */

static bool access_valid(CUmemoryPool pool, const CUmemAccessDesc *descriptor)
{
	if (descriptor->location.type != CU_MEM_LOCATION_TYPE_DEVICE || !device_exists(descriptor->location.id))
		return false;
	if (descriptor->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
	    descriptor->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE &&
	    descriptor->flags != CU_MEM_ACCESS_FLAGS_PROT_READ)
		return false;
	return descriptor->location.id != pool->device || descriptor->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

CUresult api_pool_set_access(CALL, CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
	CUresult result = CUDA_SUCCESS;

	if (!map || !count)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	if (!pool_valid(pool))
		result = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count && !result; i++)
		if (!access_valid(pool, &map[i]))
			result = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count && !result; i++)
		pool->access[map[i].location.id] = map[i].flags;
	sim_unlock();
	return result;
}

CUresult api_pool_access(CALL, CUmemAccess_flags *flags, CUmemoryPool pool, CUmemLocation *location)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	if (!flags || !location || location->type != CU_MEM_LOCATION_TYPE_DEVICE || !device_exists(location->id))
		return result;
	sim_lock();
	if (pool_valid(pool)) {
		*flags = pool->access[location->id];
		result = CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}

/* ---- which is current ------------------------------------------------------------------------------------ */

static CUresult get(CUmemoryPool *pool, CUdevice dev, CUmemoryPool (*which)(int))
{
	if (!pool)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_exists(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	sim_lock();
	*pool = which(dev);
	sim_unlock();
	return *pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult api_device_default_pool(CALL, CUmemoryPool *pool, CUdevice dev)
{
	return get(pool, dev, default_pool);
}

CUresult api_device_pool(CALL, CUmemoryPool *pool, CUdevice dev)
{
	return get(pool, dev, pool_of_device);
}

CUresult api_device_set_pool(CALL, CUdevice dev, CUmemoryPool pool)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	if (!device_exists(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	sim_lock();
	if (pool_valid(pool) && pool->device == dev) {
		current_pools[dev] = pool;
		result = CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}

/* The forms of CUDA 13, which name a location and a type. */
static CUresult check_place(const CUmemLocation *location, CUmemAllocationType type)
{
	if (!location || (type != CU_MEM_ALLOCATION_TYPE_PINNED && type != CU_MEM_ALLOCATION_TYPE_MANAGED))
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)location->type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		return type == CU_MEM_ALLOCATION_TYPE_MANAGED ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
		return CUDA_ERROR_NOT_SUPPORTED;
	case CU_MEM_LOCATION_TYPE_NONE:
		return type == CU_MEM_ALLOCATION_TYPE_MANAGED ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult api_default_pool_at(CALL, CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)
{
	CUresult result = check_place(location, type);

	return result ? result : get(pool, location->id, default_pool);
}

CUresult api_pool_at(CALL, CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)
{
	CUresult result = check_place(location, type);

	return result ? result : get(pool, location->id, pool_of_device);
}

CUresult api_set_pool_at(CALL, CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
	CUresult result = check_place(location, type);

	return result ? result : api_device_set_pool(call, location->id, pool);
}
