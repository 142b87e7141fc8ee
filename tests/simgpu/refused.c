/* SPDX-License-Identifier: BSD-2-Clause */
/* refused.c: features this device does not have, where a call still finds something wrong before it finds that. What has no row
 * at all is CUDA_ERROR_NOT_SUPPORTED once the driver is initialised. */
#include "call.h"
#include "memory.h"
#include "objects.h"

/* ---- other processes: no IPC ----------------------------------------------------------------------------- */

CUresult api_ipc_event(CALL, CUipcEventHandle *handle, CUevent event)
{
	bool known;

	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	known = slab_holds(&event_slab, event) && (event->flags & CU_EVENT_INTERPROCESS);
	sim_unlock();
	return known ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_HANDLE;
}

CUresult api_ipc_open_event(CALL, CUevent *event, CUipcEventHandle handle)
{
	(void)handle;
	return event ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
}

/* Only memory of cuMemAlloc could be shared at all. */
CUresult api_ipc_memory(CALL, CUipcMemHandle *handle, CUdeviceptr address)
{
	const struct memory_range *range;
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	if (!handle)
		return result;
	sim_lock();
	range = memory_find((uintptr_t)address);
	if (range && range->kind == MEMORY_DEVICE && !range->pool && !range->mapped)
		result = CUDA_ERROR_NOT_SUPPORTED;
	sim_unlock();
	return result;
}

CUresult api_ipc_open_memory(CALL, CUdeviceptr *address, CUipcMemHandle handle, unsigned int flags)
{
	(void)handle;
	return !address || (flags & ~(unsigned)CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) ? CUDA_ERROR_INVALID_VALUE
										   : CUDA_ERROR_NOT_SUPPORTED;
}

/* None was ever opened. */
CUresult api_ipc_close_memory(CALL, CUdeviceptr address)
{
	(void)address;
	return CUDA_ERROR_INVALID_VALUE;
}

/* ---- memory and semaphores of other interfaces: no handle of one exists ------------------------------------ */

CUresult api_external_memory_import(CALL, CUexternalMemory *memory, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *description)
{
	return memory && description ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
}

CUresult api_external_memory_buffer(CALL, CUdeviceptr *address, CUexternalMemory memory,
				    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *description)
{
	(void)memory;
	return address && description ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
}

CUresult api_external_memory_destroy(CALL, CUexternalMemory memory)
{
	(void)memory;
	return CUDA_ERROR_INVALID_HANDLE;
}

CUresult api_external_semaphore_import(CALL, CUexternalSemaphore *semaphore,
				       const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *description)
{
	return semaphore && description ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
}

CUresult api_external_semaphore_destroy(CALL, CUexternalSemaphore semaphore)
{
	(void)semaphore;
	return CUDA_ERROR_INVALID_HANDLE;
}

/* ---- green contexts: no stream is of one ------------------------------------------------------------------- */

CUresult api_device_resource(CALL, CUdevice device, CUdevResource *resource, CUdevResourceType type)
{
	(void)device;
	if (!resource || type != CU_DEV_RESOURCE_TYPE_SM)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult api_stream_green(CALL, CUstream s, CUgreenCtx *green)
{
	CUcontext context;
	CUresult result = green ? api_stream_context(call, s, &context) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*green = NULL;
	return result;
}

CUresult api_stream_contexts(CALL, CUstream s, CUcontext *context, CUgreenCtx *green)
{
	CUresult result = context && green ? api_stream_context(call, s, context) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*green = NULL;
	return result;
}

/* Between drivers and libraries of one maker; what its tables hold is documented nowhere. */
CUresult api_export_table(CALL, const void **table, const CUuuid *id)
{
	return table && id ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
}
