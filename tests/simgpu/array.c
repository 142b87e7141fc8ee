/* SPDX-License-Identifier: BSD-2-Clause */
/* array.c: creating arrays and asking what they are. Formats whose elements have no size of their own in bytes (block-compressed,
 * planar) and memory that is mapped later (sparse, deferred) are CUDA_ERROR_NOT_SUPPORTED. */
#include "array.h"

#include "address_space.h"
#include "call.h"
#include "context.h"
#include "device_memory.h"

enum { MAX_1D = 131072, MAX_2D_HEIGHT = 65536, MAX_3D = 16384, MAX_LAYERS = 2048 };

struct CUarray_st {
	CUDA_ARRAY3D_DESCRIPTOR descriptor;
	struct array_shape shape;
	size_t reserved;
	CUcontext context;
	CUarray next;
};

static struct slab array_slab = SLAB(struct CUarray_st, 1 << 16);
static CUarray arrays;

const struct array_shape *array_shape(CUarray array)
{
	return slab_holds(&array_slab, array) ? &array->shape : NULL;
}

/* 0: not a format this driver has. */
static size_t channel_bytes(CUarray_format format)
{
	switch ((int)format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
	case CU_AD_FORMAT_UNORM_INT8X1:
	case CU_AD_FORMAT_UNORM_INT8X2:
	case CU_AD_FORMAT_UNORM_INT8X4:
	case CU_AD_FORMAT_SNORM_INT8X1:
	case CU_AD_FORMAT_SNORM_INT8X2:
	case CU_AD_FORMAT_SNORM_INT8X4:
		return 1;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
	case CU_AD_FORMAT_UNORM_INT16X1:
	case CU_AD_FORMAT_UNORM_INT16X2:
	case CU_AD_FORMAT_UNORM_INT16X4:
	case CU_AD_FORMAT_SNORM_INT16X1:
	case CU_AD_FORMAT_SNORM_INT16X2:
	case CU_AD_FORMAT_SNORM_INT16X4:
		return 2;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		return 4;
	default:
		return 0;
	}
}

static bool extents_valid(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	const bool layered = d->Flags & CUDA_ARRAY3D_LAYERED;

	if (!d->Width || (d->Depth && !d->Height && !layered) || (layered && (!d->Depth || d->Depth > MAX_LAYERS)))
		return false;
	if ((d->Flags & CUDA_ARRAY3D_CUBEMAP) &&
	    (d->Width != d->Height || !d->Depth || (layered ? d->Depth % 6 : d->Depth != 6)))
		return false;
	if (d->Depth && !layered)
		return d->Width <= MAX_3D && d->Height <= MAX_3D && d->Depth <= MAX_3D;
	return d->Width <= MAX_1D && d->Height <= MAX_2D_HEIGHT;
}

static CUresult check(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	const unsigned known = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP |
			       CUDA_ARRAY3D_TEXTURE_GATHER | CUDA_ARRAY3D_DEPTH_TEXTURE | CUDA_ARRAY3D_COLOR_ATTACHMENT;

	if (d->Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING))
		return CUDA_ERROR_NOT_SUPPORTED;
	if ((d->Flags & ~known) || !extents_valid(d) ||
	    (d->NumChannels != 1 && d->NumChannels != 2 && d->NumChannels != 4))
		return CUDA_ERROR_INVALID_VALUE;
	return channel_bytes(d->Format) ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult make(CUcontext context, const CUDA_ARRAY3D_DESCRIPTOR *d, CUarray *array)
{
	struct array_shape shape = { .element_bytes = channel_bytes(d->Format) * d->NumChannels,
				     .rows = d->Height ? d->Height : 1,
				     .slices = d->Depth ? d->Depth : 1,
				     .device = context->device };
	size_t reserved;
	CUarray made;

	shape.row_bytes = d->Width * shape.element_bytes;
	reserved = (shape.row_bytes * shape.rows * shape.slices + ADDRESS_ALIGN - 1) & ~(size_t)(ADDRESS_ALIGN - 1);
	if (!device_memory_take(context->device, reserved))
		return CUDA_ERROR_OUT_OF_MEMORY;
	shape.base = address_take(reserved, ADDRESS_ALIGN, 0);
	made = shape.base ? slab_take(&array_slab) : NULL;
	if (!made) {
		if (shape.base)
			address_give(shape.base);
		device_memory_give(context->device, reserved);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*made = (struct CUarray_st){ *d, shape, reserved, context, arrays };
	arrays = made;
	*array = made;
	return CUDA_SUCCESS;
}

static void array_free(CUarray array)
{
	CUarray *at = &arrays;

	while (*at != array)
		at = &(*at)->next;
	*at = array->next;
	address_give(array->shape.base);
	device_memory_give(array->shape.device, array->reserved);
	slab_give(&array_slab, array);
}

void array_free_all(CUcontext context)
{
	for (CUarray array = arrays, next; array; array = next) {
		next = array->next;
		if (array->context == context)
			array_free(array);
	}
}

CUresult api_array_create_3d(CALL, CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
	CUresult result;

	if (!array || !descriptor)
		return CUDA_ERROR_INVALID_VALUE;
	result = check(descriptor);
	if (result)
		return result;
	sim_lock();
	result = make(call->context, descriptor, array);
	sim_unlock();
	return result;
}

CUresult api_array_create(CALL, CUarray *array, const CUDA_ARRAY_DESCRIPTOR *d)
{
	CUDA_ARRAY3D_DESCRIPTOR full;

	if (!d)
		return CUDA_ERROR_INVALID_VALUE;
	full = (CUDA_ARRAY3D_DESCRIPTOR){
		.Width = d->Width, .Height = d->Height, .Format = d->Format, .NumChannels = d->NumChannels
	};
	return api_array_create_3d(call, array, &full);
}

/* The array may be in use; as with all memory, it goes when the work submitted so far is done. */
CUresult api_array_destroy(CALL, CUarray array)
{
	CUresult result = CUDA_ERROR_INVALID_HANDLE;

	sim_lock();
	if (slab_holds(&array_slab, array)) {
		context_wait_idle(array->context); /* releases the lock meanwhile */
		if (slab_holds(&array_slab, array)) {
			array_free(array);
			result = CUDA_SUCCESS;
		}
	}
	sim_unlock();
	return result;
}

CUresult api_array_descriptor_3d(CALL, CUDA_ARRAY3D_DESCRIPTOR *descriptor, CUarray array)
{
	CUresult result = CUDA_ERROR_INVALID_HANDLE;

	if (!descriptor)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	if (slab_holds(&array_slab, array)) {
		*descriptor = array->descriptor;
		result = CUDA_SUCCESS;
	}
	sim_unlock();
	return result;
}

CUresult api_array_descriptor(CALL, CUDA_ARRAY_DESCRIPTOR *descriptor, CUarray array)
{
	CUDA_ARRAY3D_DESCRIPTOR full;
	CUresult result;

	if (!descriptor)
		return CUDA_ERROR_INVALID_VALUE;
	result = api_array_descriptor_3d(call, &full, array);
	if (!result)
		*descriptor = (CUDA_ARRAY_DESCRIPTOR){ full.Width, full.Height, full.Format, full.NumChannels };
	return result;
}

/* What only arrays of kinds that are not made here can answer: planes, tiles, memory to be mapped. */
static CUresult not_of_that_kind(const void *out, CUarray array)
{
	CUresult result;

	sim_lock();
	result = slab_holds(&array_slab, array) ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
	sim_unlock();
	return out ? result : CUDA_ERROR_INVALID_VALUE;
}

CUresult api_array_plane(CALL, CUarray *plane, CUarray array, unsigned int index)
{
	(void)index;
	return not_of_that_kind(plane, array);
}

CUresult api_array_sparse_properties(CALL, CUDA_ARRAY_SPARSE_PROPERTIES *properties, CUarray array)
{
	return not_of_that_kind(properties, array);
}

CUresult api_array_requirements(CALL, CUDA_ARRAY_MEMORY_REQUIREMENTS *requirements, CUarray array, CUdevice dev)
{
	(void)dev;
	return not_of_that_kind(requirements, array);
}
