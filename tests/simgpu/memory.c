/* SPDX-License-Identifier: BSD-2-Clause */
/* memory.c: the table of ranges and the device address range.
 * All devices share one reserved range of addresses, so a device pointer can be told from any other. Pages cost nothing until
 * they are written and are given back when freed. */
#include "memory.h"

#include "device_memory.h"
#include "settings.h"

#include <string.h>
#include <sys/mman.h>

enum { SMALL_ALIGN = 512, LARGE_ALIGN = 2 << 20, PAGE = 4096 };

static struct memory_range *ranges; /* by base */
static unsigned range_count, range_room;
static unsigned long long last_id;
static uintptr_t arena;
static size_t arena_bytes;

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

CUresult memory_classify(uintptr_t address, size_t bytes, enum memory_kind *kind)
{
	const struct memory_range *range = memory_find(address);

	*kind = MEMORY_PAGEABLE;
	if (!range)
		return !address || address - arena < arena_bytes ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	*kind = range->kind;
	if (bytes <= range->bytes - (address - range->base))
		return CUDA_SUCCESS;
	if (range->kind != MEMORY_REGISTERED)
		return CUDA_ERROR_INVALID_VALUE;
	*kind = MEMORY_PAGEABLE; /* only the beginning is registered */
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

static bool arena_map(void)
{
	size_t bytes = (size_t)settings()->memory_bytes * (size_t)settings()->devices * 4 + (1ull << 30);
	void *memory;

	if (arena)
		return true;
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	arena = ((uintptr_t)memory + LARGE_ALIGN - 1) & ~(uintptr_t)(LARGE_ALIGN - 1);
	arena_bytes = bytes - LARGE_ALIGN;
	return true;
}

/* First fit between the ranges that lie in the arena; 0: none. */
static uintptr_t find_room(size_t reserved)
{
	uintptr_t align = reserved >= LARGE_ALIGN ? LARGE_ALIGN : SMALL_ALIGN;
	uintptr_t at = arena;

	for (unsigned i = upper_bound(arena - 1); i < range_count && ranges[i].base < arena + arena_bytes; i++) {
		if (ranges[i].base >= at && ranges[i].base - at >= reserved)
			break;
		at = (ranges[i].base + ranges[i].reserved + align - 1) & ~(align - 1);
	}
	return at + reserved <= arena + arena_bytes ? at : 0;
}

CUresult memory_take(CUcontext context, size_t bytes, enum memory_kind kind, CUdeviceptr *address)
{
	size_t reserved = (bytes + SMALL_ALIGN - 1) & ~(size_t)(SMALL_ALIGN - 1);
	uintptr_t base;

	if (reserved < bytes || !arena_map() || !device_memory_take(context->device, reserved))
		return CUDA_ERROR_OUT_OF_MEMORY;
	base = find_room(reserved);
	if (!base || !memory_range_add((struct memory_range){
			     .base = base, .bytes = bytes, .reserved = reserved, .kind = kind, .context = context })) {
		device_memory_give(context->device, reserved);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*address = base;
	return CUDA_SUCCESS;
}

void memory_release(CUdeviceptr address)
{
	const struct memory_range *range = memory_find((uintptr_t)address);
	uintptr_t first, last;

	if (!range)
		return;
	if (range->kind == MEMORY_PINNED) {
		munmap((void *)range->base, range->reserved);
	} else if (range->kind != MEMORY_REGISTERED) {
		device_memory_give(range->context->device, range->reserved);
		first = (range->base + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
		last = (range->base + range->reserved) & ~(uintptr_t)(PAGE - 1);
		if (first < last)
			madvise((void *)first, last - first, MADV_DONTNEED);
	}
	memory_range_remove(range);
}

void memory_free_all(CUcontext context)
{
	for (unsigned i = range_count; i-- > 0;)
		if (ranges[i].context == context)
			memory_release(ranges[i].base);
}
