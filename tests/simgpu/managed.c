/* SPDX-License-Identifier: BSD-2-Clause */
/* managed.c: managed memory. All of it is where everybody reaches it, so nothing ever migrates: a prefetch takes its place in the
 * stream, and no time. What is said of a part is kept for the whole allocation. */
#include "context.h"
#include "device.h"
#include "memory.h"
#include "stream.h"

#include <string.h>

#define HOST_BIT (1u << 31)

_Static_assert(SIM_MAX_DEVICES < 31, "managed_hints.accessed_by has a bit for the host too");

static CUresult find(CUdeviceptr address, size_t bytes, struct memory_range **range)
{
	*range = memory_change((uintptr_t)address);
	if (!*range || (*range)->kind != MEMORY_MANAGED || !bytes ||
	    bytes > (*range)->bytes - ((uintptr_t)address - (*range)->base))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult check_location(const CUmemLocation *location)
{
	switch ((int)location->type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		return device_exists(location->id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
		return CUDA_SUCCESS;
	case CU_MEM_LOCATION_TYPE_HOST_NUMA: /* one node */
		return location->id == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/* The first forms of the calls named a device, or the CPU. */
static CUmemLocation location_of(CUdevice device)
{
	CUmemLocation location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device };

	if (device == CU_DEVICE_CPU)
		location.type = CU_MEM_LOCATION_TYPE_HOST;
	return location;
}

static CUresult mark(const struct call *call, struct CUstream_st *stream)
{
	struct op *op = op_new(OP_WAIT, stream->context->device);

	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stream_submit(call, stream, op);
	op_unref(op);
	return CUDA_SUCCESS;
}

/* ---- prefetch, discard, attach --------------------------------------------------------------------------- */

CUresult api_prefetch(CALL, CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned int flags, CUstream s)
{
	struct CUstream_st *stream;
	struct memory_range *range;
	CUresult result = check_location(&location);

	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	sim_lock();
	result = find(address, bytes, &range);
	if (!result)
		result = stream_resolve(call, s, &stream);
	if (!result)
		result = mark(call, stream);
	if (!result)
		range->hints.prefetched = location;
	sim_unlock();
	return result;
}

CUresult api_prefetch_to_device(CALL, CUdeviceptr address, size_t bytes, CUdevice device, CUstream s)
{
	return api_prefetch(call, address, bytes, location_of(device), 0, s);
}

/* locations NULL: nothing is fetched, only discarded; the bytes stay what they were, which is as indeterminate as any others. */
static CUresult batch(const struct call *call, CUdeviceptr *addresses, size_t *bytes, size_t count,
		      const CUmemLocation *locations, const size_t *first, size_t location_count, CUstream s)
{
	struct CUstream_st *stream;
	struct memory_range *range;
	CUresult result;
	size_t at = 0;

	sim_lock();
	result = stream_resolve(call, s, &stream);
	if (!result && stream->legacy)
		result = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count && !result; i++)
		result = find(addresses[i], bytes[i], &range);
	if (!result)
		result = mark(call, stream);
	for (size_t i = 0; locations && i < count && !result; i++) {
		if (at + 1 < location_count && first[at + 1] == i)
			at++;
		result = find(addresses[i], bytes[i], &range);
		if (!result)
			range->hints.prefetched = locations[at];
	}
	sim_unlock();
	return result;
}

static CUresult check_locations(const CUmemLocation *locations, const size_t *first, size_t location_count,
				size_t count)
{
	CUresult result = CUDA_SUCCESS;

	if (!locations || !first || !location_count || location_count > count || first[0])
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < location_count && !result; i++)
		result = first[i] >= count || (i && first[i] <= first[i - 1]) ? CUDA_ERROR_INVALID_VALUE
									      : check_location(&locations[i]);
	return result;
}

CUresult api_prefetch_batch(CALL, CUdeviceptr *addresses, size_t *bytes, size_t count, CUmemLocation *locations,
			    size_t *first, size_t location_count, unsigned long long flags, CUstream s)
{
	CUresult result;

	if (!addresses || !bytes || !count || flags)
		return CUDA_ERROR_INVALID_VALUE;
	result = check_locations(locations, first, location_count, count);
	return result ? result : batch(call, addresses, bytes, count, locations, first, location_count, s);
}

CUresult api_discard_batch(CALL, CUdeviceptr *addresses, size_t *bytes, size_t count, unsigned long long flags,
			   CUstream s)
{
	if (!addresses || !bytes || !count || flags)
		return CUDA_ERROR_INVALID_VALUE;
	return batch(call, addresses, bytes, count, NULL, NULL, 0, s);
}

CUresult api_attach(CALL, CUstream s, CUdeviceptr address, size_t bytes, unsigned int flags)
{
	struct CUstream_st *stream;
	struct memory_range *range;
	CUresult result;

	if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && flags != CU_MEM_ATTACH_SINGLE)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	result = find(address, bytes ? bytes : 1, &range);
	if (!result && ((uintptr_t)address != range->base || (bytes && bytes != range->bytes)))
		result = CUDA_ERROR_INVALID_VALUE; /* all of it or nothing */
	if (!result)
		result = stream_resolve(call, s, &stream);
	if (!result && flags == CU_MEM_ATTACH_SINGLE && stream->legacy)
		result = CUDA_ERROR_INVALID_VALUE;
	if (!result)
		result = mark(call, stream);
	sim_unlock();
	return result;
}

/* ---- advice ---------------------------------------------------------------------------------------------- */

static uint32_t access_bit(const CUmemLocation *location)
{
	return location->type == CU_MEM_LOCATION_TYPE_DEVICE ? 1u << location->id : HOST_BIT;
}

static CUresult advise(struct managed_hints *hints, CUmem_advise advice, const CUmemLocation *location)
{
	CUresult result = CUDA_SUCCESS;

	switch ((int)advice) {
	case CU_MEM_ADVISE_SET_READ_MOSTLY:
	case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
		hints->read_mostly = advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
		return CUDA_SUCCESS;
	case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
		hints->preferred = (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_INVALID };
		return CUDA_SUCCESS;
	case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
		result = check_location(location);
		if (!result)
			hints->preferred = *location;
		return result;
	case CU_MEM_ADVISE_SET_ACCESSED_BY:
	case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
		if (location->type != CU_MEM_LOCATION_TYPE_DEVICE && location->type != CU_MEM_LOCATION_TYPE_HOST)
			return CUDA_ERROR_INVALID_VALUE;
		result = check_location(location);
		if (result)
			return result;
		hints->accessed_by &= ~access_bit(location);
		if (advice == CU_MEM_ADVISE_SET_ACCESSED_BY)
			hints->accessed_by |= access_bit(location);
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult api_advise(CALL, CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation location)
{
	struct memory_range *range;
	CUresult result;

	sim_lock();
	result = find(address, bytes, &range);
	if (!result)
		result = advise(&range->hints, advice, &location);
	sim_unlock();
	return result;
}

CUresult api_advise_device(CALL, CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device)
{
	return api_advise(call, address, bytes, advice, location_of(device));
}

/* A location as one number; that of any node of the host is the CPU's. */
static int ordinal(const CUmemLocation *location)
{
	return location->type == CU_MEM_LOCATION_TYPE_DEVICE    ? location->id
	       : location->type == CU_MEM_LOCATION_TYPE_INVALID ? CU_DEVICE_INVALID
								: CU_DEVICE_CPU;
}

static CUresult list_accessed_by(uint32_t accessed_by, int *list, size_t bytes)
{
	size_t room = bytes / sizeof(int), used = 0;

	if (!bytes || bytes % sizeof(int))
		return CUDA_ERROR_INVALID_VALUE;
	if ((accessed_by & HOST_BIT) && used < room)
		list[used++] = CU_DEVICE_CPU;
	for (int i = 0; i < SIM_MAX_DEVICES && used < room; i++)
		if (accessed_by & 1u << i)
			list[used++] = i;
	while (used < room)
		list[used++] = CU_DEVICE_INVALID;
	return CUDA_SUCCESS;
}

static CUresult read_hint(const struct managed_hints *hints, CUmem_range_attribute attribute, void *data, size_t bytes)
{
	int value;

	switch ((int)attribute) {
	case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
		return list_accessed_by(hints->accessed_by, data, bytes);
	case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
		value = hints->read_mostly;
		break;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
		value = ordinal(&hints->preferred);
		break;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
		value = ordinal(&hints->prefetched);
		break;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
		value = (int)hints->preferred.type;
		break;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
		value = hints->preferred.id;
		break;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
		value = (int)hints->prefetched.type;
		break;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
		value = hints->prefetched.id;
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (bytes != sizeof(value))
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(data, &value, sizeof(value));
	return CUDA_SUCCESS;
}

CUresult api_range_attributes(CALL, void **data, size_t *sizes, CUmem_range_attribute *attributes, size_t count,
			      CUdeviceptr address, size_t bytes)
{
	struct memory_range *range;
	CUresult result;

	if (!data || !sizes || !attributes || !count)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	result = find(address, bytes, &range);
	for (size_t i = 0; i < count && !result; i++)
		result =
			data[i] ? read_hint(&range->hints, attributes[i], data[i], sizes[i]) : CUDA_ERROR_INVALID_VALUE;
	sim_unlock();
	return result;
}

CUresult api_range_attribute(CALL, void *data, size_t size, CUmem_range_attribute attribute, CUdeviceptr address,
			     size_t bytes)
{
	return api_range_attributes(call, &data, &size, &attribute, 1, address, bytes);
}
