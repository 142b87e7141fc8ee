/* SPDX-License-Identifier: BSD-2-Clause */
/* memory.h: every range the driver knows: device memory, managed, pinned, mapped. Locked. */
#pragma once

#include "objects.h"

enum memory_kind { MEMORY_PAGEABLE, MEMORY_DEVICE, MEMORY_MANAGED, MEMORY_PINNED, MEMORY_REGISTERED };

enum { NO_DEVICE = -1 };

/* What cuMemAdvise and cuMemPrefetchAsync said of a managed range: of the whole of it, whichever part they named. */
struct managed_hints {
	bool read_mostly;
	uint32_t accessed_by; /* a bit for each device, the last one for the host */
	CUmemLocation preferred, prefetched;
};

struct memory_range {
	uintptr_t base;
	size_t bytes;    /* as asked for */
	size_t reserved; /* what it takes of the device's memory and, where it has a piece of its own, of the addresses */
	enum memory_kind kind;
	int device;        /* NO_DEVICE: host memory */
	CUcontext context; /* NULL: it belongs to none, as memory of a pool and mapped memory do */
	unsigned flags;
	unsigned long long id;
	CUmemoryPool pool;         /* NULL: not of a pool */
	struct allocation *mapped; /* physical memory, vmm.h; NULL: not mapped by cuMemMap */
	uint32_t readable, writable; /* a bit for each device; only of mapped memory */
	struct managed_hints hints;
	bool synchronous; /* CU_POINTER_ATTRIBUTE_SYNC_MEMOPS */
	bool graph; /* allocated by a launch of a graph, graph_memory.h */
};

const struct memory_range *memory_find(uintptr_t address); /* valid until the lock is released; NULL: pageable */
struct memory_range *memory_change(uintptr_t address);     /* the same, to be changed in place */

/* What a piece of memory is for somebody who wants to copy. */
struct memory_place {
	enum memory_kind kind;
	int device; /* NO_DEVICE: host memory */
	uint32_t readable, writable; /* devices that may */
	bool synchronous; /* a synchronous call returns only when it is done, whatever else it may do */
};

/* What [address, address + bytes) is; CUDA_ERROR_INVALID_VALUE if it begins in a range and leaves it, or is inside the
 * device's address range but not allocated. Mapped ranges that touch are one. */
CUresult memory_classify(uintptr_t address, size_t bytes, struct memory_place *place);

CUresult memory_take(CUcontext context, size_t bytes, enum memory_kind kind, CUdeviceptr *address);
CUresult memory_take_low(CUcontext context, size_t bytes, CUdeviceptr *address); /* device memory below 4 GiB */
void memory_release(CUdeviceptr address);
void memory_free_all(CUcontext context);

static inline bool memory_on_device(enum memory_kind kind)
{
	return kind == MEMORY_DEVICE || kind == MEMORY_MANAGED;
}

/* For the files that allocate. */
bool memory_range_add(struct memory_range range); /* copied, given an id; false: out of memory */
void memory_range_remove(const struct memory_range *range);
const struct memory_range *memory_range_overlapping(uintptr_t base, size_t bytes);
const struct memory_range *memory_range_next(const struct memory_range *range); /* by address; NULL: the last */
