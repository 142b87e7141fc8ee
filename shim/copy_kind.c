/* SPDX-License-Identifier: BSD-2-Clause */
#include "copy_kind.h"

#include "memory_kind.h"

enum gst_copy_kind copy_kind(struct thread *t, enum copy_direction direction, uintptr_t dst, uintptr_t src)
{
	enum memory_kind from, to;

	switch (direction) {
	case COPY_H2D:
		return memory_kind(t, src) == MEMORY_PAGEABLE ? GST_COPY_H2D_PAGEABLE : GST_COPY_H2D_PINNED;
	case COPY_D2H:
		return memory_kind(t, dst) == MEMORY_PAGEABLE ? GST_COPY_D2H_PAGEABLE : GST_COPY_D2H_PINNED;
	case COPY_D2D:
		return GST_COPY_D2D;
	case COPY_PEER:
		return GST_COPY_PEER;
	case COPY_OTHER:
		return GST_COPY_UNKNOWN;
	case COPY_ANY:
		break;
	}
	from = memory_kind(t, src);
	to = memory_kind(t, dst);
	if (from == MEMORY_DEVICE && to == MEMORY_DEVICE)
		return GST_COPY_D2D;
	if (to == MEMORY_DEVICE)
		return from == MEMORY_PAGEABLE ? GST_COPY_H2D_PAGEABLE : GST_COPY_H2D_PINNED;
	if (from == MEMORY_DEVICE)
		return to == MEMORY_PAGEABLE ? GST_COPY_D2H_PAGEABLE : GST_COPY_D2H_PINNED;
	return GST_COPY_H2H;
}

static enum gst_copy_kind kind_between(struct thread *t, CUmemorytype from_type, const void *from_host,
				       CUdeviceptr from, CUmemorytype to_type, const void *to_host, CUdeviceptr to)
{
	if (from_type == CU_MEMORYTYPE_HOST && to_type == CU_MEMORYTYPE_HOST)
		return GST_COPY_H2H;
	if (from_type == CU_MEMORYTYPE_HOST)
		return copy_kind(t, COPY_H2D, 0, (uintptr_t)from_host);
	if (to_type == CU_MEMORYTYPE_HOST)
		return copy_kind(t, COPY_D2H, (uintptr_t)to_host, 0);
	if (from_type == CU_MEMORYTYPE_UNIFIED || to_type == CU_MEMORYTYPE_UNIFIED)
		return copy_kind(t, COPY_ANY, to, from);
	return GST_COPY_D2D;
}

enum gst_copy_kind copy_kind_2d(struct thread *t, const CUDA_MEMCPY2D *p)
{
	return kind_between(t, p->srcMemoryType, p->srcHost, p->srcDevice, p->dstMemoryType, p->dstHost, p->dstDevice);
}

enum gst_copy_kind copy_kind_3d(struct thread *t, const CUDA_MEMCPY3D *p)
{
	return kind_between(t, p->srcMemoryType, p->srcHost, p->srcDevice, p->dstMemoryType, p->dstHost, p->dstDevice);
}
