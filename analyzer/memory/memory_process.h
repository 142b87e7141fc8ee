/* SPDX-License-Identifier: BSD-2-Clause */
/* memory_process.h: the memory that one process holds of each device, as events change it: the maps, and what has no address.
 *
 * A range of the driver's counts as used, all of it, until a framework's allocator hands out a block within: from then on it is that
 * allocator's, and what lies between its blocks is free. */
#pragma once

#include "memory_events.h"
#include "memory_map.h"
#include "memory_told.h"

#define MEMORY_NOWHERE SIZE_MAX
#define MEMORY_ORDINALS 256 /* devices with a greater one are none: the recorder knows 256 */
#define MEMORY_BEYOND_ANY ((uint64_t)1 << 50) /* bytes that no device has: of a damaged record */

struct memory_pool { /* of the driver's */
	uint32_t pool, device; /* its number; index among the process's maps */
	bool gone;
	uint64_t covered; /* bytes of its pieces: addresses that were handed out once, or are now */
	uint64_t unseen;  /* what it holds beyond, as the driver says */
	struct pool_state last; /* time_ns 0: the driver was not asked */
};

struct memory_held { /* of one device */
	uint16_t ordinal;
	size_t device, number; /* for who goes through several processes: which device, and which of those that use it; MEMORY_NOWHERE until it says */
	struct memory_map map;
	struct memory_told told; /* where it is known, the use is what it says */
	uint64_t loose;   /* bytes of physical memory that stand at no address: on their way, so neither reserved nor free */
	uint64_t strays;  /* blocks outside of all ranges that are known */
	uint64_t unknown; /* blocks given back that were never handed out */
};

struct memory_process {
	struct memory_held *held;   size_t n_held, cap_held;
	struct memory_pool *pools;  size_t n_pools, cap_pools;
	struct memory_reserved *reserved; size_t n_reserved, cap_reserved; /* addresses, sorted */
	struct memory_handle *handles;    size_t n_handles, cap_handles;   /* physical memory, sorted */
	struct memory_mapped *mapped;     size_t n_mapped, cap_mapped;     /* where it stands, sorted by address */
	uint64_t handles_made;
};

struct memory_use { /* of one device, by one process */
	uint64_t allocated, reserved, largest_free;
};

/* False: no memory. *where: the device whose use changed, index into held, or MEMORY_NOWHERE; *given: bytes that went back to the driver. */
bool memory_process_apply(struct memory_process *p, const struct memory_event *e, size_t *where, uint64_t *given);
struct memory_use memory_process_use(struct memory_process *p, size_t where);
/* The device by its ordinal, made where it is new; MEMORY_NOWHERE: no memory. */
size_t memory_process_device(struct memory_process *p, uint16_t ordinal);
void memory_process_free(struct memory_process *p);
