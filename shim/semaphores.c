/* SPDX-License-Identifier: BSD-2-Clause */
#include "semaphores.h"

#include <stddef.h>
#include <string.h>

#define PLACES 256 /* programs have a handful: one for each image of a swap chain, or each peer */
#define PROBES 16

static uint64_t handles[PLACES]; /* 0 free */

/* Where a handle may be. */
static uint64_t *place(uint64_t handle, unsigned i)
{
	return &handles[((handle * 0x9e3779b97f4a7c15u >> 56) + i) % PLACES];
}

static uint64_t *find(uint64_t handle)
{
	for (unsigned i = 0; handle && i < PROBES; i++)
		if (__atomic_load_n(place(handle, i), __ATOMIC_RELAXED) == handle)
			return place(handle, i);
	return NULL;
}

bool semaphores_has(uint64_t handle)
{
	return find(handle) != NULL;
}

void semaphores_add(uint64_t handle)
{
	for (unsigned i = 0; !semaphores_has(handle) && i < PROBES; i++) {
		uint64_t none = 0;

		__atomic_compare_exchange_n(place(handle, i), &none, handle, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
}

void semaphores_remove(uint64_t handle)
{
	uint64_t *p = find(handle);

	if (p)
		__atomic_store_n(p, 0, __ATOMIC_RELAXED);
}

void semaphores_forget(void)
{
	memset(handles, 0, sizeof(handles));
}
