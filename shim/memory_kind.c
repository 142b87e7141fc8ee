/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory_kind.h"

#include <string.h>

#include "hooks.h"

#define PAGE_SHIFT 12
#define SETS_SHIFT 3
_Static_assert(THREAD_POINTER_SETS == 1u << SETS_SHIFT, "place_of");

enum { NOT_ASKED, NO, YES };
#define NO_DEVICE UINT16_MAX

static uint32_t epoch;
static uint32_t first_used; /* ordinal + 1, 0 none yet */
static uint32_t several_used;

void memory_kinds_changed(void)
{
	__atomic_fetch_add(&epoch, 1, __ATOMIC_RELAXED);
}

void memory_device_used(uint32_t device)
{
	uint32_t none = 0, it = device + 1;

	if (!memory_several_devices() &&
	    !__atomic_compare_exchange_n(&first_used, &none, it, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) &&
	    none != it)
		__atomic_store_n(&several_used, 1, __ATOMIC_RELAXED);
}

void memory_devices_unknown(void)
{
	__atomic_store_n(&several_used, 1, __ATOMIC_RELAXED);
}

bool memory_several_devices(void)
{
	return __atomic_load_n(&several_used, __ATOMIC_RELAXED) != 0;
}

void memory_devices_forget(void)
{
	first_used = several_used = 0;
}

/* What the thread knows of the pointer's page. Buffers begin at multiples of 2 MiB: only a hash's upper bits tell these apart. A set has two
 * places, the last one used first: the two ends of a copy never drive each other out. */
static struct thread_pointer *place_of(struct thread *t, uintptr_t pointer)
{
	uint64_t page = pointer >> PAGE_SHIFT;
	uint32_t now = __atomic_load_n(&epoch, __ATOMIC_RELAXED);
	struct thread_pointer *set = t->pointers[page * 0x9e3779b97f4a7c15u >> (64 - SETS_SHIFT)];

	if (t->pointer_epoch != now) {
		memset(t->pointers, 0, sizeof(t->pointers));
		t->pointer_epoch = now;
	}
	if (set[0].page != page) {
		struct thread_pointer last = set[0];

		set[0] = set[1].page == page ? set[1] : (struct thread_pointer){ .page = page };
		set[1] = last;
	}
	return set;
}

/* What the driver says of a pointer that it does not know, it says of the pointer; any other error is of the moment, and not kept. */
static bool is_kept(CUresult rc)
{
	return rc == CUDA_SUCCESS || rc == CUDA_ERROR_INVALID_VALUE;
}

enum memory_kind memory_kind(struct thread *t, uintptr_t pointer)
{
	struct thread_pointer *p = place_of(t, pointer);
	enum memory_kind kind = (enum memory_kind)p->kind;
	CUmemorytype type = 0;
	CUresult rc;

	if (kind)
		return kind;
	rc = INJECT(cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)pointer);
	kind = rc != CUDA_SUCCESS ? MEMORY_PAGEABLE : type == CU_MEMORYTYPE_HOST ? MEMORY_PINNED : MEMORY_DEVICE;
	if (is_kept(rc))
		p->kind = (uint8_t)kind;
	return kind;
}

/* Its ordinal, or NO_DEVICE. */
static uint32_t device_of(struct thread *t, uintptr_t pointer)
{
	struct thread_pointer *p = place_of(t, pointer);
	uint16_t device = NO_DEVICE;
	int ordinal = -1;
	CUresult rc;

	if (p->device_asked)
		return p->device;
	rc = INJECT(cuPointerGetAttribute, &ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, (CUdeviceptr)pointer);
	if (rc == CUDA_SUCCESS && ordinal >= 0 && ordinal < NO_DEVICE)
		device = (uint16_t)ordinal;
	p->device = device;
	p->device_asked = is_kept(rc);
	return device;
}

/* Its pages are wherever they were used last. */
static bool is_managed(struct thread *t, uintptr_t pointer)
{
	struct thread_pointer *p = place_of(t, pointer);
	unsigned managed = 0;
	CUresult rc;

	if (p->managed)
		return p->managed == YES;
	rc = INJECT(cuPointerGetAttribute, &managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, (CUdeviceptr)pointer);
	if (rc != CUDA_SUCCESS)
		managed = 1;
	if (is_kept(rc))
		p->managed = managed ? YES : NO;
	return managed;
}

bool memory_of_two_devices(struct thread *t, uintptr_t a, uintptr_t b)
{
	uint32_t one, other;

	if (!memory_several_devices())
		return false;
	one = device_of(t, a);
	other = device_of(t, b);
	return one != NO_DEVICE && other != NO_DEVICE && one != other && !is_managed(t, a) && !is_managed(t, b);
}

void memory_opened(uintptr_t pointer)
{
	int ordinal = -1;

	memory_kinds_changed();
	if (memory_several_devices())
		return;
	if (INJECT(cuPointerGetAttribute, &ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, (CUdeviceptr)pointer) ==
		    CUDA_SUCCESS &&
	    ordinal >= 0)
		memory_device_used((uint32_t)ordinal);
	else
		memory_devices_unknown();
}
