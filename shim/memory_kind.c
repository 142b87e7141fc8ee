/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory_kind.h"

#include <string.h>

#include "hooks.h"

#define PAGE_SHIFT 12

enum { DEVICES_UNKNOWN, DEVICES_ONE, DEVICES_SEVERAL };

static uint32_t epoch;
static uint32_t devices; /* that the process sees */

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

/* What the thread knows of the pointer's page; nothing yet where kind is 0. */
static struct thread_pointer *place_of(struct thread *t, uintptr_t pointer)
{
	uint64_t page = pointer >> PAGE_SHIFT;
	uint32_t now = __atomic_load_n(&epoch, __ATOMIC_RELAXED);
	struct thread_pointer *p = &t->pointers[page % THREAD_POINTERS];

	if (t->pointer_epoch != now) {
		memset(t->pointers, 0, sizeof(t->pointers));
		t->pointer_epoch = now;
	}
	if (p->page != page)
		*p = (struct thread_pointer){ .page = page };
	return p;
}

enum memory_kind memory_kind(struct thread *t, uintptr_t pointer)
{
	struct thread_pointer *p = place_of(t, pointer);

	if (!p->kind)
		p->kind = ask_driver(pointer);
	return (enum memory_kind)p->kind;
}

static bool several_devices(void)
{
	uint32_t known = __atomic_load_n(&devices, __ATOMIC_RELAXED);
	char name[8];

	if (known == DEVICES_UNKNOWN) {
		known = INJECT(cuDeviceGetName, name, (int)sizeof(name), 1) == CUDA_SUCCESS ? DEVICES_SEVERAL
											    : DEVICES_ONE;
		__atomic_store_n(&devices, known, __ATOMIC_RELAXED);
	}
	return known == DEVICES_SEVERAL;
}

/* Its ordinal + 1, 0 not known. */
static uint32_t device_of(struct thread *t, uintptr_t pointer)
{
	struct thread_pointer *p = place_of(t, pointer);
	int ordinal = -1;

	if (!p->device_asked) {
		p->device_asked = true;
		if (INJECT(cuPointerGetAttribute, &ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
			   (CUdeviceptr)pointer) == CUDA_SUCCESS &&
		    ordinal >= 0 && ordinal < UINT16_MAX)
			p->device = (uint16_t)(ordinal + 1);
	}
	return p->device;
}

/* Its pages are wherever they were used last. */
static bool is_managed(uintptr_t pointer)
{
	unsigned managed = 0;

	return INJECT(cuPointerGetAttribute, &managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, (CUdeviceptr)pointer) !=
		       CUDA_SUCCESS ||
	       managed;
}

bool memory_of_two_devices(struct thread *t, uintptr_t a, uintptr_t b)
{
	uint32_t one, other;

	if (!several_devices())
		return false;
	one = device_of(t, a);
	other = device_of(t, b);
	return one && other && one != other && !is_managed(a) && !is_managed(b);
}
