/* SPDX-License-Identifier: BSD-2-Clause */
#include "copy_kind.h"

#include "memory_kind.h"

static enum gst_copy_kind between_devices(struct thread *t, uintptr_t dst, uintptr_t src)
{
	return memory_of_two_devices(t, dst, src) ? GST_COPY_PEER : GST_COPY_D2D;
}

static enum gst_copy_kind between_kinds(enum memory_kind from, enum memory_kind to)
{
	if (from == MEMORY_DEVICE && to == MEMORY_DEVICE)
		return GST_COPY_D2D;
	if (to == MEMORY_DEVICE)
		return from == MEMORY_PAGEABLE ? GST_COPY_H2D_PAGEABLE : GST_COPY_H2D_PINNED;
	if (from == MEMORY_DEVICE)
		return to == MEMORY_PAGEABLE ? GST_COPY_D2H_PAGEABLE : GST_COPY_D2H_PINNED;
	return GST_COPY_H2H;
}

enum gst_copy_kind copy_kind(struct thread *t, enum copy_direction direction, uintptr_t dst, uintptr_t src)
{
	enum gst_copy_kind kind;

	switch (direction) {
	case COPY_H2D:
		return memory_kind(t, src) == MEMORY_PAGEABLE ? GST_COPY_H2D_PAGEABLE : GST_COPY_H2D_PINNED;
	case COPY_D2H:
		return memory_kind(t, dst) == MEMORY_PAGEABLE ? GST_COPY_D2H_PAGEABLE : GST_COPY_D2H_PINNED;
	case COPY_D2D:
		return between_devices(t, dst, src);
	case COPY_PEER:
		return GST_COPY_PEER;
	case COPY_OTHER:
		return GST_COPY_UNKNOWN;
	case COPY_ANY:
		break;
	}
	kind = between_kinds(memory_kind(t, src), memory_kind(t, dst));
	return kind == GST_COPY_D2D ? between_devices(t, dst, src) : kind;
}

/* One end of a copy of rows or boxes. */
struct end {
	CUmemorytype type;
	const void *host;
	CUdeviceptr device; /* or, of type UNIFIED, either's */
};

/* What is said to be the host's is, whatever the driver would answer: but for whether it is pinned. Arrays are a device's. */
static enum memory_kind kind_of_end(struct thread *t, const struct end *e)
{
	if (e->type == CU_MEMORYTYPE_HOST)
		return memory_kind(t, (uintptr_t)e->host) == MEMORY_PAGEABLE ? MEMORY_PAGEABLE : MEMORY_PINNED;
	return e->type == CU_MEMORYTYPE_UNIFIED ? memory_kind(t, e->device) : MEMORY_DEVICE;
}

static enum gst_copy_kind kind_between(struct thread *t, const struct end *from, const struct end *to)
{
	enum gst_copy_kind kind;

	if (from->type == CU_MEMORYTYPE_HOST && to->type == CU_MEMORYTYPE_HOST)
		return GST_COPY_H2H;
	kind = between_kinds(kind_of_end(t, from), kind_of_end(t, to));
	if (kind != GST_COPY_D2D || from->type == CU_MEMORYTYPE_ARRAY || to->type == CU_MEMORYTYPE_ARRAY)
		return kind;
	return between_devices(t, to->device, from->device);
}

enum gst_copy_kind copy_kind_2d(struct thread *t, const CUDA_MEMCPY2D *p)
{
	const struct end from = { p->srcMemoryType, p->srcHost, p->srcDevice };
	const struct end to = { p->dstMemoryType, p->dstHost, p->dstDevice };

	return kind_between(t, &from, &to);
}

enum gst_copy_kind copy_kind_3d(struct thread *t, const CUDA_MEMCPY3D *p)
{
	const struct end from = { p->srcMemoryType, p->srcHost, p->srcDevice };
	const struct end to = { p->dstMemoryType, p->dstHost, p->dstDevice };

	return kind_between(t, &from, &to);
}
