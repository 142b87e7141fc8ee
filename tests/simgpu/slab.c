/* SPDX-License-Identifier: BSD-2-Clause */
#include "slab.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

/* Under the leak sanitizer: what objects point to is not lost. It does not look into mappings by itself. */
extern void __lsan_register_root_region(const void *begin, size_t bytes) __attribute__((weak));

enum { ROOT_OBJECTS = 256 }; /* registered at a time */

static void *reserve(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static bool slab_map(struct slab *slab)
{
	size_t objects = slab->object_bytes * slab->capacity;
	char *base = reserve(objects + slab->capacity + sizeof(unsigned) * (size_t)slab->capacity + 64);

	if (!base)
		return false;
	slab->used = (unsigned char *)base + objects;
	slab->free_list = (unsigned *)(((uintptr_t)slab->used + slab->capacity + 63) & ~(uintptr_t)63);
	slab->base = base;
	return true;
}

void *slab_take(struct slab *slab)
{
	unsigned index;
	void *object;

	if (!slab->base && !slab_map(slab))
		return NULL;
	if (slab->free_count)
		index = slab->free_list[--slab->free_count];
	else if (slab->next < slab->capacity)
		index = slab->next++;
	else
		return NULL;
	if (index % ROOT_OBJECTS == 0 && index + 1 == slab->next && __lsan_register_root_region)
		__lsan_register_root_region(slab->base + (size_t)index * slab->object_bytes,
					    ROOT_OBJECTS * slab->object_bytes);
	slab->used[index] = 1;
	object = slab->base + (size_t)index * slab->object_bytes;
	memset(object, 0, slab->object_bytes);
	return object;
}

void slab_give(struct slab *slab, void *object)
{
	unsigned index = (unsigned)((size_t)((char *)object - slab->base) / slab->object_bytes);

	slab->used[index] = 0;
	slab->free_list[slab->free_count++] = index;
}

bool slab_holds(const struct slab *slab, const void *pointer)
{
	uintptr_t base = (uintptr_t)slab->base, at = (uintptr_t)pointer;
	size_t offset = at - base;

	if (!base || at < base || offset >= slab->object_bytes * slab->capacity || offset % slab->object_bytes)
		return false;
	return slab->used[offset / slab->object_bytes];
}
