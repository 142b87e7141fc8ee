/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory: what is allocated, freed, mapped, and from which pool. See capture.h. */
#include "capture.h"

#include "gate.h"
#include "memory_kind.h"
#include "pool.h"
#include "stack.h"
#include "stream.h"

/* Where there is no room, what is left of the device tells why, and the stack who asked. Our questions are no part of the call. */
static void refused(struct call *c, CUresult rc)
{
	if (__builtin_expect(rc != CUDA_ERROR_OUT_OF_MEMORY, 1))
		return;
	c->record.end = clock_ticks();
	stacks_refused(c);
	memory_left_ask(c->thread);
}

static void set_device(struct call *c)
{
	if (thread_context(c->thread))
		c->record.device = c->thread->device;
}

/* ---- ranges that the driver hands out --------------------------------------------------------------------------------- */

void allocated(struct call *c, CUresult rc, const uintptr_t *pointer, size_t bytes)
{
	if (!c->thread)
		return;
	memory_kinds_changed();
	c->record.args[0] = rc == CUDA_SUCCESS && pointer ? *pointer : 0;
	c->record.args[1] = bytes;
	set_device(c);
	refused(c, rc);
}

void allocated_pitch(struct call *c, CUresult rc, const uintptr_t *pointer, const size_t *pitch, size_t width,
		     size_t height)
{
	allocated(c, rc, pointer, (rc == CUDA_SUCCESS && pitch ? *pitch : width) * height);
}

void freeing(struct call *c, uintptr_t pointer)
{
	if (!c->thread)
		return;
	c->record.args[0] = pointer;
	set_device(c);
}

void memory_changed(struct call *c)
{
	if (c->thread)
		memory_kinds_changed();
}

/* Our question is no part of the call. */
void memory_of_another(struct call *c, CUresult rc, const CUdeviceptr *pointer)
{
	if (!c->thread || rc != CUDA_SUCCESS)
		return;
	c->record.end = clock_ticks();
	memory_opened(*pointer);
}

/* Where it is the handle does not say, and it has no address yet. */
void memory_imported(struct call *c, CUresult rc)
{
	if (c->thread && rc == CUDA_SUCCESS)
		memory_devices_unknown();
}

void host_memory_changed(struct call *c, CUresult rc, void *pointer, size_t bytes)
{
	memory_kinds_changed();
	if (!c->thread)
		return;
	c->record.args[0] = rc == CUDA_SUCCESS ? (uintptr_t)pointer : 0;
	c->record.args[1] = bytes;
}

void host_memory_allocated(struct call *c, CUresult rc, void *const *pointer, size_t bytes)
{
	host_memory_changed(c, rc, rc == CUDA_SUCCESS && pointer ? *pointer : NULL, bytes);
}

/* ---- pools ------------------------------------------------------------------------------------------------------------ */

/* In the order of a stream: the address is handed out now, its memory used when the stream comes there. */
static void set_stream(struct call *c, CUstream handle)
{
	struct stream *s = stream_get(c->thread, handle);

	if (!s)
		return;
	stream_others(s);
	c->record.stream = s->id;
	c->record.device = s->device;
	if (stream_is_captured(s))
		c->record.flags |= GST_CAPTURED; /* a node of a graph, which allocates when it is launched */
}

void pool_freeing(struct call *c, uintptr_t pointer, CUstream handle)
{
	if (!c->thread)
		return;
	c->record.args[0] = pointer;
	set_stream(c, handle);
}

/* pool NULL: the device's own. */
void pool_allocating(struct call *c, size_t bytes, CUmemoryPool pool, CUstream handle)
{
	if (!c->thread)
		return;
	c->record.args[1] = bytes;
	set_stream(c, handle);
	if (!(c->record.flags & GST_CAPTURED))
		c->record.name = pool ? pool_number(pool) : pool_of_device(c->thread, c->record.device);
}

void pool_allocated(struct call *c, CUresult rc, const CUdeviceptr *pointer)
{
	if (!c->thread)
		return;
	c->record.end = clock_ticks();
	if (rc == CUDA_SUCCESS && pointer)
		c->record.args[0] = (uintptr_t)*pointer;
	if (memory_several_devices()) /* a pool gives addresses back, and another device's may get them */
		memory_kinds_changed();
	refused(c, rc);
	pool_ask(c->thread, c->record.name, c->record.device, rc == CUDA_ERROR_OUT_OF_MEMORY);
}

void pool_created(struct call *c, CUresult rc, const CUmemoryPool *pool, const CUmemPoolProps *props)
{
	if (!c->thread || rc != CUDA_SUCCESS || !pool || !props)
		return;
	c->record.name = pool_number(*pool);
	if (props->location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
		c->record.device = (uint16_t)props->location.id;
		memory_device_used(c->record.device);
	}
}

void pool_destroy(struct call *c, CUmemoryPool pool)
{
	if (!c->thread)
		return;
	c->record.name = pool_number(pool);
	gate_close();
}

void pool_destroyed(struct call *c)
{
	if (!c->thread)
		return;
	pools_changed();
	gate_open();
}

void pool_trimmed(struct call *c, CUmemoryPool pool, size_t keep)
{
	if (!c->thread)
		return;
	c->record.end = clock_ticks();
	c->record.name = pool_number(pool);
	c->record.args[1] = keep;
	pool_ask(c->thread, c->record.name, 0xffff, true);
}

/* Those that say how memory is used again are of 32 bits, amounts of 64; others cannot be set. */
void pool_attribute_set(struct call *c, CUresult rc, CUmemoryPool pool, CUmemPool_attribute attribute,
			const void *value)
{
	if (!c->thread)
		return;
	c->record.name = pool_number(pool);
	c->record.args[0] = attribute;
	if (rc == CUDA_SUCCESS && value)
		c->record.args[1] = attribute < CU_MEMPOOL_ATTR_RELEASE_THRESHOLD ? *(const uint32_t *)value
										  : *(const uint64_t *)value;
}

void pool_of_device_set(struct call *c, CUresult rc, CUdevice device, CUmemoryPool pool)
{
	if (!c->thread)
		return;
	c->record.name = pool_number(pool);
	c->record.device = (uint16_t)device;
	if (rc == CUDA_SUCCESS)
		pool_set_device(c->record.device, c->record.name);
}

void pool_of_location_set(struct call *c, CUmemoryPool pool)
{
	if (!c->thread)
		return;
	c->record.name = pool_number(pool);
	pools_changed();
}

/* Whose pool is asked for takes memory from it, in whichever device's stream. */
void pool_of_device_found(struct call *c, CUresult rc, CUdevice device)
{
	if (c->thread && rc == CUDA_SUCCESS)
		memory_device_used((uint32_t)device);
}

void pool_of_location_found(struct call *c, CUresult rc, const CUmemLocation *location)
{
	if (rc == CUDA_SUCCESS && location->type == CU_MEM_LOCATION_TYPE_DEVICE)
		pool_of_device_found(c, rc, location->id);
}

/* ---- memory and addresses apart --------------------------------------------------------------------------------------- */

void range_named(struct call *c, uintptr_t address, size_t bytes)
{
	if (!c->thread)
		return;
	c->record.args[0] = address;
	c->record.args[1] = bytes;
	set_device(c);
}

void range_reserved(struct call *c, CUresult rc, const CUdeviceptr *address, size_t bytes)
{
	range_named(c, rc == CUDA_SUCCESS && address ? (uintptr_t)*address : 0, bytes);
	if (c->thread)
		refused(c, rc);
}

void memory_created(struct call *c, CUresult rc, const CUmemGenericAllocationHandle *handle, size_t bytes,
		    const CUmemAllocationProp *prop)
{
	if (!c->thread)
		return;
	c->record.args[0] = rc == CUDA_SUCCESS && handle ? *handle : 0;
	c->record.args[1] = bytes;
	if (prop && prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
		c->record.device = (uint16_t)prop->location.id;
		if (rc == CUDA_SUCCESS)
			memory_device_used(c->record.device);
	}
	refused(c, rc);
}

void memory_found(struct call *c, CUresult rc, const CUmemGenericAllocationHandle *handle)
{
	if (c->thread && rc == CUDA_SUCCESS && handle)
		c->record.args[0] = *handle;
}

void memory_named(struct call *c, CUmemGenericAllocationHandle handle)
{
	if (!c->thread)
		return;
	c->record.args[0] = handle;
}

void memory_mapped(struct call *c, CUresult rc, uintptr_t address, size_t bytes, size_t offset,
		   CUmemGenericAllocationHandle handle)
{
	struct gst_mapping r = { .address = address, .bytes = bytes, .handle = handle, .offset = offset };

	range_named(c, address, bytes);
	if (!c->thread || rc != CUDA_SUCCESS)
		return;
	memory_kinds_changed();
	c->record.end = r.ticks = clock_ticks();
	ring_append(&c->thread->ring, GST_MAPPING, sizeof(r), &r);
}
