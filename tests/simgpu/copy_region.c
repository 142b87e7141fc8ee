/* SPDX-License-Identifier: BSD-2-Clause */
/* copy_region.c: from the parameters of a copy to the memory it touches and the kind of copy that is. */
#include "array.h"
#include "copy.h"

enum { MAX_PITCH = 0x7fffffff }; /* CU_DEVICE_ATTRIBUTE_MAX_PITCH */

CUDA_MEMCPY3D copy_of_bytes(CUmemorytype to_type, uintptr_t to, CUmemorytype from_type, uintptr_t from, size_t bytes)
{
	return (CUDA_MEMCPY3D){ .srcMemoryType = from_type,
				.srcHost = (const void *)from,
				.srcDevice = from,
				.dstMemoryType = to_type,
				.dstHost = (void *)to,
				.dstDevice = to,
				.WidthInBytes = bytes,
				.Height = 1,
				.Depth = 1 };
}

/* One end of the parameters, whichever. */
struct end {
	CUmemorytype type;
	uintptr_t host, device;
	CUarray array;
	size_t x, y, z, pitch, height;
};

/* Where only one row is copied its pitch does not matter, nor the height where it is one slice: 0 passes there. */
static CUresult place_pitched(const struct end *end, const struct copy *copy, uintptr_t base, struct copy_side *side)
{
	const bool many_rows = copy->rows > 1 || copy->slices > 1 || end->y || end->z;
	const bool many_slices = copy->slices > 1 || end->z;
	size_t offset, extent;

	if (end->pitch > MAX_PITCH || (many_rows && (end->pitch < copy->width || end->pitch - copy->width < end->x)))
		return CUDA_ERROR_INVALID_VALUE;
	if (many_slices && (end->height < copy->rows || end->height - copy->rows < end->y))
		return CUDA_ERROR_INVALID_VALUE;
	side->pitch = end->pitch;
	if (__builtin_mul_overflow(end->pitch, end->height, &side->slice) ||
	    __builtin_mul_overflow(side->slice, end->z + copy->slices, &extent) ||
	    __builtin_mul_overflow(end->pitch, end->y + copy->rows, &extent))
		return CUDA_ERROR_INVALID_VALUE;
	offset = end->z * side->slice + end->y * end->pitch + end->x;
	extent = (copy->slices - 1) * side->slice + (copy->rows - 1) * end->pitch + copy->width;
	side->at = base + offset;
	if (side->at < base || side->at + extent < side->at)
		return CUDA_ERROR_INVALID_VALUE;
	return memory_classify(side->at, extent, &side->place);
}

static CUresult place_in_array(const struct end *end, const struct copy *copy, struct copy_side *side)
{
	const struct array_shape *shape = array_shape(end->array);

	if (!shape)
		return CUDA_ERROR_INVALID_HANDLE;
	if (end->x > shape->row_bytes || copy->width > shape->row_bytes - end->x || end->y > shape->rows ||
	    copy->rows > shape->rows - end->y || end->z > shape->slices || copy->slices > shape->slices - end->z)
		return CUDA_ERROR_INVALID_VALUE;
	side->pitch = shape->row_bytes;
	side->slice = shape->row_bytes * shape->rows;
	side->at = shape->base + end->z * side->slice + end->y * side->pitch + end->x;
	side->place = (struct memory_place){ MEMORY_DEVICE, shape->device, UINT32_MAX, UINT32_MAX, false };
	return CUDA_SUCCESS;
}

static CUresult place(const struct end *end, const struct copy *copy, struct copy_side *side)
{
	CUresult result;

	switch ((int)end->type) {
	case CU_MEMORYTYPE_ARRAY:
		return place_in_array(end, copy, side);
	case CU_MEMORYTYPE_HOST:
		return place_pitched(end, copy, end->host, side);
	case CU_MEMORYTYPE_UNIFIED:
		return place_pitched(end, copy, end->device, side);
	case CU_MEMORYTYPE_DEVICE:
		result = place_pitched(end, copy, end->device, side);
		return !result && side->place.kind == MEMORY_PAGEABLE ? CUDA_ERROR_INVALID_VALUE : result;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/* Memory mapped by cuMemMap is nobody's until cuMemSetAccess says so. The documentation has no error for a copy there; the
 * driver refuses what it cannot reach. */
static CUresult check_access(const struct copy *copy)
{
	int device = memory_on_device(copy->to.place.kind) ? copy->to.place.device : copy->from.place.device;
	uint32_t bit = device == NO_DEVICE ? 0 : 1u << device;

	return (copy->to.place.writable & bit) == bit && (copy->from.place.readable & bit) == bit
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_INVALID_VALUE;
}

static void classify(struct copy *copy)
{
	enum memory_kind to = copy->to.place.kind, from = copy->from.place.kind;

	if (memory_on_device(to) && memory_on_device(from))
		copy->kind = copy->to.place.device == copy->from.place.device || to == MEMORY_MANAGED ||
					     from == MEMORY_MANAGED
				     ? COPY_D2D
				     : COPY_PEER;
	else if (memory_on_device(to))
		copy->kind = from == MEMORY_PAGEABLE ? COPY_H2D_PAGEABLE : COPY_H2D_PINNED;
	else if (memory_on_device(from))
		copy->kind = to == MEMORY_PAGEABLE ? COPY_D2H_PAGEABLE : COPY_D2H_PINNED;
	else
		copy->host_only = true;
}

CUresult copy_resolve(const CUDA_MEMCPY3D *p, struct copy *copy)
{
	const struct end from = { p->srcMemoryType, (uintptr_t)p->srcHost, p->srcDevice,
				  p->srcArray,      p->srcXInBytes,        p->srcY,
				  p->srcZ,          p->srcPitch,           p->srcHeight };
	const struct end to = { p->dstMemoryType, (uintptr_t)p->dstHost, p->dstDevice,
				p->dstArray,      p->dstXInBytes,        p->dstY,
				p->dstZ,          p->dstPitch,           p->dstHeight };
	CUresult result;

	*copy = (struct copy){ .width = p->WidthInBytes, .rows = p->Height, .slices = p->Depth };
	if (p->srcLOD || p->dstLOD)
		return CUDA_ERROR_INVALID_VALUE;
	if (!copy->width || !copy->rows || !copy->slices) {
		copy->width = 0;
		return CUDA_SUCCESS;
	}
	result = place(&to, copy, &copy->to);
	if (!result)
		result = place(&from, copy, &copy->from);
	if (!result)
		result = check_access(copy);
	if (!result)
		classify(copy);
	return result;
}
