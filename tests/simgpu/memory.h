/* SPDX-License-Identifier: BSD-2-Clause */
/* memory.h: every range the driver knows: device memory, managed, pinned. Locked. */
#pragma once

#include "objects.h"

enum memory_kind { MEMORY_PAGEABLE, MEMORY_DEVICE, MEMORY_MANAGED, MEMORY_PINNED, MEMORY_REGISTERED };

struct memory_range {
	uintptr_t base;
	size_t bytes;    /* as asked for */
	size_t reserved; /* what it takes of the address range and of the device's memory */
	enum memory_kind kind;
	CUcontext context;
	unsigned flags;
	unsigned long long id;
};

const struct memory_range *memory_find(uintptr_t address); /* valid until the lock is released; NULL: pageable */

/* What [address, address + bytes) is; CUDA_ERROR_INVALID_VALUE if it begins in a range and leaves it, or is inside the
 * device's address range but not allocated. */
CUresult memory_classify(uintptr_t address, size_t bytes, enum memory_kind *kind);

CUresult memory_take(CUcontext context, size_t bytes, enum memory_kind kind, CUdeviceptr *address);
void memory_release(CUdeviceptr address);
void memory_free_all(CUcontext context);

/* For the files that allocate. */
bool memory_range_add(struct memory_range range); /* copied, given an id; false: out of memory */
void memory_range_remove(const struct memory_range *range);
const struct memory_range *memory_range_overlapping(uintptr_t base, size_t bytes);
