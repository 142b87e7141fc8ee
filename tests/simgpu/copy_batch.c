/* SPDX-License-Identifier: BSD-2-Clause */
/* copy_batch.c: many copies in one call. All are looked at before any is submitted. The copies of a batch may run in any order;
 * here they run in theirs. A source that must have been read before the call returns makes its copy a synchronous one. */
#include "array.h"
#include "copy.h"
#include "stream.h"

struct item {
	CUDA_MEMCPY3D params;
	bool async;
};

static CUresult batch_run(const struct call *call, const struct item *items, size_t count, size_t *fail, CUstream s)
{
	struct CUstream_st *stream;
	struct copy copy;
	CUresult result;

	sim_lock();
	result = stream_resolve_capturable(call, s, &stream);
	if (!result && stream->legacy)
		result = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count && !result; i++) {
		result = copy_resolve(&items[i].params, &copy);
		if (result && fail)
			*fail = i;
	}
	for (size_t i = 0; i < count && !result; i++)
		result = copy_submit(call, stream, &items[i].params, items[i].async);
	sim_unlock();
	return result;
}

static bool order_valid(CUmemcpySrcAccessOrder order)
{
	return order >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
}

static bool attributes_valid(const CUmemcpyAttributes *attributes, const size_t *first, size_t attribute_count,
			     size_t count)
{
	if (!attributes || !first || !attribute_count || attribute_count > count || first[0])
		return false;
	for (size_t i = 0; i < attribute_count; i++)
		if (!order_valid(attributes[i].srcAccessOrder) || first[i] >= count ||
		    (i && first[i] <= first[i - 1]) ||
		    (attributes[i].flags & ~(unsigned)CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE))
			return false;
	return true;
}

CUresult api_copy_batch_index(CALL, CUdeviceptr *to, CUdeviceptr *from, size_t *bytes, size_t count,
			      CUmemcpyAttributes *attributes, size_t *first, size_t attribute_count, size_t *fail,
			      CUstream s)
{
	struct item *items;
	CUresult result;
	size_t attribute = 0;

	if (fail)
		*fail = SIZE_MAX; /* no copy in particular */
	if (!to || !from || !bytes || !count || !attributes_valid(attributes, first, attribute_count, count))
		return CUDA_ERROR_INVALID_VALUE;
	items = malloc(count * sizeof(*items));
	if (!items)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < count; i++) {
		if (attribute + 1 < attribute_count && first[attribute + 1] == i)
			attribute++;
		items[i].params = copy_of_bytes(CU_MEMORYTYPE_UNIFIED, to[i], CU_MEMORYTYPE_UNIFIED, from[i], bytes[i]);
		items[i].async = attributes[attribute].srcAccessOrder != CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
	}
	result = batch_run(call, items, count, fail, s);
	free(items);
	return result;
}

CUresult api_copy_batch(CALL, CUdeviceptr *to, CUdeviceptr *from, size_t *bytes, size_t count,
			CUmemcpyAttributes *attributes, size_t *first, size_t attribute_count, CUstream s)
{
	return api_copy_batch_index(call, to, from, bytes, count, attributes, first, attribute_count, NULL, s);
}

/* ---- boxes ----------------------------------------------------------------------------------------------- */

/* 0: not an operand. */
static size_t element_bytes(const CUmemcpy3DOperand *operand)
{
	const struct array_shape *shape;

	if (operand->type == CU_MEMCPY_OPERAND_TYPE_POINTER)
		return 1;
	if (operand->type != CU_MEMCPY_OPERAND_TYPE_ARRAY)
		return 0;
	sim_lock();
	shape = array_shape(operand->op.array.array);
	sim_unlock();
	return shape ? shape->element_bytes : 0;
}

/* What one end of the copy is, in bytes. */
struct end {
	CUmemorytype type;
	CUdeviceptr pointer;
	CUarray array;
	size_t x, y, z, pitch, height;
};

static struct end end_of(const CUmemcpy3DOperand *operand, const CUextent3D *extent, size_t element)
{
	if (operand->type == CU_MEMCPY_OPERAND_TYPE_ARRAY)
		return (struct end){ .type = CU_MEMORYTYPE_ARRAY,
				     .array = operand->op.array.array,
				     .x = operand->op.array.offset.x * element,
				     .y = operand->op.array.offset.y,
				     .z = operand->op.array.offset.z };
	return (struct end){
		.type = CU_MEMORYTYPE_UNIFIED,
		.pointer = operand->op.ptr.ptr,
		.pitch = (operand->op.ptr.rowLength ? operand->op.ptr.rowLength : extent->width) * element,
		.height = operand->op.ptr.layerHeight ? operand->op.ptr.layerHeight : extent->height,
	};
}

static bool operand_valid(const CUmemcpy3DOperand *operand, const CUextent3D *extent)
{
	if (operand->type == CU_MEMCPY_OPERAND_TYPE_ARRAY)
		return true;
	return (!operand->op.ptr.rowLength || operand->op.ptr.rowLength >= extent->width) &&
	       (!operand->op.ptr.layerHeight || operand->op.ptr.layerHeight >= extent->height);
}

static bool read_operation(const CUDA_MEMCPY3D_BATCH_OP *operation, struct item *item)
{
	const CUextent3D *extent = &operation->extent;
	size_t to_element = element_bytes(&operation->dst), from_element = element_bytes(&operation->src);
	size_t element = to_element > from_element ? to_element : from_element;
	struct end to, from;

	if (!to_element || !from_element || !extent->width || !extent->height || !extent->depth ||
	    !order_valid(operation->srcAccessOrder) || !operand_valid(&operation->dst, extent) ||
	    !operand_valid(&operation->src, extent) ||
	    (operation->flags & ~(unsigned)CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE))
		return false;
	if (operation->dst.type == operation->src.type && to_element != from_element)
		return false;
	to = end_of(&operation->dst, extent, element);
	from = end_of(&operation->src, extent, element);
	item->params = (CUDA_MEMCPY3D){ .srcXInBytes = from.x,
					.srcY = from.y,
					.srcZ = from.z,
					.srcMemoryType = from.type,
					.srcDevice = from.pointer,
					.srcArray = from.array,
					.srcPitch = from.pitch,
					.srcHeight = from.height,
					.dstXInBytes = to.x,
					.dstY = to.y,
					.dstZ = to.z,
					.dstMemoryType = to.type,
					.dstDevice = to.pointer,
					.dstArray = to.array,
					.dstPitch = to.pitch,
					.dstHeight = to.height,
					.WidthInBytes = extent->width * element,
					.Height = extent->height,
					.Depth = extent->depth };
	item->async = operation->srcAccessOrder != CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
	return true;
}

CUresult api_copy_batch_3d_index(CALL, size_t count, CUDA_MEMCPY3D_BATCH_OP *operations, size_t *fail,
				 unsigned long long flags, CUstream s)
{
	struct item *items;
	CUresult result = CUDA_SUCCESS;

	if (fail)
		*fail = SIZE_MAX;
	if (!operations || !count || flags)
		return CUDA_ERROR_INVALID_VALUE;
	items = malloc(count * sizeof(*items));
	if (!items)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < count && !result; i++) {
		if (read_operation(&operations[i], &items[i]))
			continue;
		result = CUDA_ERROR_INVALID_VALUE;
		if (fail)
			*fail = i;
	}
	if (!result)
		result = batch_run(call, items, count, fail, s);
	free(items);
	return result;
}

CUresult api_copy_batch_3d(CALL, size_t count, CUDA_MEMCPY3D_BATCH_OP *operations, unsigned long long flags, CUstream s)
{
	return api_copy_batch_3d_index(call, count, operations, NULL, flags, s);
}
