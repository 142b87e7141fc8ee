/* SPDX-License-Identifier: BSD-2-Clause */
/* slab.h: objects of one kind behind opaque handles.
 * They live in one reserved range that is never unmapped, so any pointer a client passes, stale or invented, can be
 * checked without touching unmapped memory. Freed objects are reused. Locked, except slab_holds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct slab {
	const size_t object_bytes;
	const unsigned capacity;
	char *base;
	unsigned char *used; /* one flag per object, after the objects */
	unsigned *free_list;
	unsigned free_count;
	unsigned next;
};

#define SLAB(type, count) { .object_bytes = (sizeof(type) + 63) & ~(size_t)63, .capacity = (count) }

void *slab_take(struct slab *slab); /* zeroed; NULL when full or out of memory */
void slab_give(struct slab *slab, void *object);
bool slab_holds(const struct slab *slab, const void *pointer); /* a live object of this slab */
