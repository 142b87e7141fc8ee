/* SPDX-License-Identifier: BSD-2-Clause */
/* vmm.h: virtual memory: addresses (reservations), memory (allocations), and the mappings that bring them together. Locked.
 * A mapping is a range of memory.h with `mapped` set; one allocation may be mapped more than once and then really is the same
 * memory, because allocations are pieces of one file that exists only in memory. */
#pragma once

#include "objects.h"

enum { VMM_GRANULARITY = 2 << 20 };

struct allocation {
	CUmemAllocationProp props;
	size_t bytes;
	uint64_t offset;              /* in the file */
	unsigned handles, mappings;   /* it goes when there are none of either */
};

struct allocation *vmm_allocation(CUmemGenericAllocationHandle handle); /* NULL: no handle */
void vmm_allocation_unref(struct allocation *allocation);               /* after taking away a handle or a mapping */
bool vmm_map(uintptr_t address, size_t bytes, const struct allocation *allocation);
void vmm_unmap(uintptr_t address, size_t bytes);
