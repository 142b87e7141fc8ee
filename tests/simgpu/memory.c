/* SPDX-License-Identifier: BSD-2-Clause */
/* memory.c: the table of ranges. */
#include "memory.h"

#include "address_space.h"
#include "device_memory.h"

#include <string.h>
#include <sys/mman.h>

static struct memory_range *ranges; /* by base */
static unsigned range_count, range_room;
static unsigned long long last_id;

/* The number of ranges with base <= address. */
static unsigned upper_bound(uintptr_t address)
{
	unsigned low = 0, high = range_count;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (ranges[middle].base <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct memory_range *memory_find(uintptr_t address)
{
	unsigned after = upper_bound(address);

	if (!after || address - ranges[after - 1].base >= ranges[after - 1].bytes)
		return NULL;
	return &ranges[after - 1];
}

struct memory_range *memory_change(uintptr_t address)
{
	return (struct memory_range *)memory_find(address);
}

const struct memory_range *memory_range_next(const struct memory_range *range)
{
	return range + 1 < ranges + range_count ? range + 1 : NULL;
}

/* The rest of a piece of mapped memory, past its first mapping. */
static bool continues(const struct memory_range *range, size_t bytes, struct memory_place *place)
{
	while (bytes) {
		const struct memory_range *next = memory_range_next(range);

		if (!range->mapped || !next || !next->mapped || next->base != range->base + range->bytes)
			return false;
		place->readable &= next->readable;
		place->writable &= next->writable;
		bytes -= bytes < next->bytes ? bytes : next->bytes;
		range = next;
	}
	return true;
}

CUresult memory_classify(uintptr_t address, size_t bytes, struct memory_place *place)
{
	const struct memory_range *range = memory_find(address);
	size_t left;

	*place = (struct memory_place){ MEMORY_PAGEABLE, NO_DEVICE, UINT32_MAX, UINT32_MAX, false };
	if (!range)
		return !address || address_within(address) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	left = range->bytes - (address - range->base);
	place->kind = range->kind;
	place->device = range->device;
	place->synchronous = range->synchronous;
	if (range->mapped) {
		place->readable = range->readable;
		place->writable = range->writable;
	}
	if (bytes <= left || continues(range, bytes - left, place))
		return CUDA_SUCCESS;
	if (range->kind != MEMORY_REGISTERED)
		return CUDA_ERROR_INVALID_VALUE;
	place->kind = MEMORY_PAGEABLE; /* only the beginning is registered */
	return CUDA_SUCCESS;
}

bool memory_range_add(struct memory_range range)
{
	unsigned at = upper_bound(range.base);

	if (range_count == range_room) {
		unsigned room = range_room ? range_room * 2 : 256;
		struct memory_range *grown = realloc(ranges, room * sizeof(*ranges));

		if (!grown)
			return false;
		ranges = grown;
		range_room = room;
	}
	memmove(&ranges[at + 1], &ranges[at], (range_count - at) * sizeof(*ranges));
	range.id = ++last_id;
	ranges[at] = range;
	range_count++;
	return true;
}

void memory_range_remove(const struct memory_range *range)
{
	unsigned at = (unsigned)(range - ranges);

	memmove(&ranges[at], &ranges[at + 1], (range_count - at - 1) * sizeof(*ranges));
	range_count--;
}

const struct memory_range *memory_range_overlapping(uintptr_t base, size_t bytes)
{
	unsigned after = upper_bound(base + bytes - 1);

	if (!after || ranges[after - 1].base + ranges[after - 1].bytes <= base)
		return NULL;
	return &ranges[after - 1];
}

static CUresult take(CUcontext context, size_t bytes, enum memory_kind kind, bool low, CUdeviceptr *address)
{
	size_t reserved = (bytes + ADDRESS_ALIGN - 1) & ~(size_t)(ADDRESS_ALIGN - 1);
	size_t align = reserved >= ADDRESS_ALIGN_LARGE ? ADDRESS_ALIGN_LARGE : ADDRESS_ALIGN;
	uintptr_t base;

	if (reserved < bytes || !device_memory_take(context->device, reserved))
		return CUDA_ERROR_OUT_OF_MEMORY;
	base = low ? address_take_low(reserved) : address_take(reserved, align, 0);
	if (!base || !memory_range_add((struct memory_range){ .base = base,
							      .bytes = bytes,
							      .reserved = reserved,
							      .kind = kind,
							      .device = context->device,
							      .context = context })) {
		if (base)
			address_give(base);
		device_memory_give(context->device, reserved);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*address = base;
	return CUDA_SUCCESS;
}

CUresult memory_take(CUcontext context, size_t bytes, enum memory_kind kind, CUdeviceptr *address)
{
	return take(context, bytes, kind, false, address);
}

CUresult memory_take_low(CUcontext context, size_t bytes, CUdeviceptr *address)
{
	return take(context, bytes, MEMORY_DEVICE, true, address);
}

void memory_release(CUdeviceptr address)
{
	const struct memory_range *range = memory_find((uintptr_t)address);

	if (!range)
		return;
	if (range->kind == MEMORY_PINNED) {
		munmap((void *)range->base, range->reserved);
	} else if (range->kind != MEMORY_REGISTERED) {
		device_memory_give(range->device, range->reserved);
		address_give(range->base);
	}
	memory_range_remove(range);
}

void memory_free_all(CUcontext context)
{
	for (unsigned i = range_count; i-- > 0;)
		if (ranges[i].context == context)
			memory_release(ranges[i].base);
}
