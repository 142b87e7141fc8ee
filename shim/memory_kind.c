/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory_kind.h"

#include <string.h>

#include "hooks.h"

#define PAGE_SHIFT 12

static uint32_t epoch;

void memory_kinds_changed(void)
{
	__atomic_fetch_add(&epoch, 1, __ATOMIC_RELAXED);
}

static enum memory_kind ask_driver(uintptr_t pointer)
{
	CUmemorytype type = 0;

	if (INJECT(cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)pointer) !=
	    CUDA_SUCCESS)
		return MEMORY_PAGEABLE; /* the driver does not know it */
	return type == CU_MEMORYTYPE_HOST ? MEMORY_PINNED : MEMORY_DEVICE;
}

enum memory_kind memory_kind(struct thread *t, uintptr_t pointer)
{
	uint64_t page = pointer >> PAGE_SHIFT;
	uint32_t now = __atomic_load_n(&epoch, __ATOMIC_RELAXED);
	unsigned i = (unsigned)(page % THREAD_POINTERS);

	if (t->pointer_epoch != now) {
		memset(t->pointers, 0, sizeof(t->pointers));
		t->pointer_epoch = now;
	}
	if (!t->pointers[i].kind || t->pointers[i].page != page) {
		t->pointers[i].page = page;
		t->pointers[i].kind = ask_driver(pointer);
	}
	return t->pointers[i].kind;
}
