/* SPDX-License-Identifier: BSD-2-Clause */
/* capture.h: what the rows of hooks.def say before and after the driver is called: which arguments are worth keeping and
 * what the call means for its stream. Every function here does nothing for a call that is not recorded. Lists that are as long as another
 * argument says are read once the driver has taken the call: one that it refuses may be shorter, or nowhere. Where it must be known before
 * what a list holds, no more of it is read than the driver can accept. */
#pragma once

#include "call.h"
#include "copy_kind.h"

#define LEGACY ((CUstream)0)
#define PER_THREAD CU_STREAM_PER_THREAD

/* _ptsz variants: the default stream is the thread's own. */
static inline CUstream per_thread(CUstream s)
{
	return s ? s : PER_THREAD;
}

enum copy_mode { WAITS, ASYNC }; /* cuMemcpyX, cuMemcpyXAsync */

/* While the program captures anything, the driver is asked about this stream. */
bool stream_is_captured(const struct stream *s);

/* ---- before: work for the device ------------------------------------------------------------------------------------- */
void launch_kernel(struct call *c, CUstream s, CUfunction f, uint64_t grid_x, uint64_t grid_y, uint64_t grid_z,
		   uint64_t block_threads);
void launch_config(struct call *c, const CUlaunchConfig *config, CUfunction f, bool ptsz);
void launch_host_function(struct call *c, CUstream s, void *function);
void launch_graph(struct call *c, CUstream s, CUgraphExec exec);
void copy(struct call *c, CUstream s, enum copy_direction direction, uintptr_t dst, uintptr_t src, size_t bytes,
	  enum copy_mode mode);
void copy_2d(struct call *c, CUstream s, const CUDA_MEMCPY2D *p, enum copy_mode mode);
void copy_3d(struct call *c, CUstream s, const CUDA_MEMCPY3D *p, enum copy_mode mode);
void copy_3d_peer(struct call *c, CUstream s, const CUDA_MEMCPY3D_PEER *p, enum copy_mode mode);
void copy_batch(struct call *c, CUstream s);
void copied_batch(struct call *c, CUresult rc, const CUdeviceptr *dst, const CUdeviceptr *src, const size_t *bytes,
		  size_t count);
void copied_batch_3d(struct call *c, CUresult rc, const CUDA_MEMCPY3D_BATCH_OP *ops, size_t count);
void memset_work(struct call *c, CUstream s, CUdeviceptr to, size_t bytes);
/* What gets no number: an edge in front of it does not stand behind all that the stream holds. */
void put_in(struct call *c, CUstream s);
void put_in_each(struct call *c, CUresult rc, const CUDA_LAUNCH_PARAMS *launches, unsigned count);
void put_in_all(struct call *c); /* a context's streams: all that have work are taken for its */

/* ---- before: waiting and asking ---------------------------------------------------------------------------------------- */
void sync_stream(struct call *c, CUstream s);
void sync_context(struct call *c, CUcontext context); /* NULL: the current one */
void sync_event(struct call *c, CUevent e);
void query_stream(struct call *c, CUstream s);
void name_event(struct call *c, CUevent e);
void record_event(struct call *c, CUstream s, CUevent e);
void wait_event(struct call *c, CUstream s, CUevent e);
void wait_began(struct call *c, CUresult rc);
/* The same, and the record says into which stream and behind what: values, semaphores, memory of graphics. */
void in_stream_order(struct call *c, CUstream s);
void wait_marked(struct call *c); /* behind it: edges tell where the stream's earlier work ended and where the wait was over */
void wait_memory(struct call *c, CUstream s, CUdeviceptr address, uint64_t value, unsigned flags, unsigned bits);
void write_memory(struct call *c, CUstream s, CUdeviceptr address, uint64_t value, unsigned bits);
void memory_batch(struct call *c, CUstream s, const CUstreamBatchMemOpParams *operations, unsigned count,
		  unsigned flags);
void wait_semaphores(struct call *c, CUstream s);
void awaited_semaphores(struct call *c, CUresult rc, const CUexternalSemaphore *semaphores,
			const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *params, unsigned count);
void signalled_semaphores(struct call *c, CUresult rc, const CUexternalSemaphore *semaphores,
			  const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *params, unsigned count);
void semaphore_imported(struct call *c, CUresult rc, const CUexternalSemaphore *semaphore,
			const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *description);
void semaphore_destroy(struct call *c, CUexternalSemaphore semaphore);

/* ---- memory ---------------------------------------------------------------------------------------------------------- */
void allocated(struct call *c, CUresult rc, const uintptr_t *pointer, size_t bytes);
void allocated_pitch(struct call *c, CUresult rc, const uintptr_t *pointer, const size_t *pitch, size_t width, size_t height);
void freeing(struct call *c, uintptr_t pointer);
void memory_changed(struct call *c); /* it was given back, or its addresses were */
void memory_of_another(struct call *c, CUresult rc, const CUdeviceptr *pointer); /* … process, opened in this one */
void memory_imported(struct call *c, CUresult rc);
void host_memory_allocated(struct call *c, CUresult rc, void *const *pointer, size_t bytes);
void host_memory_changed(struct call *c, CUresult rc, void *pointer, size_t bytes);
void pool_allocating(struct call *c, size_t bytes, CUmemoryPool pool, CUstream s); /* pool NULL: the device's own */
void pool_allocated(struct call *c, CUresult rc, const CUdeviceptr *pointer);
void pool_freeing(struct call *c, uintptr_t pointer, CUstream s);
void pool_created(struct call *c, CUresult rc, const CUmemoryPool *pool, const CUmemPoolProps *props);
void pool_destroy(struct call *c, CUmemoryPool pool); /* closes the gate; pool_destroyed opens it */
void pool_destroyed(struct call *c);
void pool_trimmed(struct call *c, CUmemoryPool pool, size_t keep);
void pool_attribute_set(struct call *c, CUresult rc, CUmemoryPool pool, CUmemPool_attribute attribute, const void *value);
void pool_of_device_set(struct call *c, CUresult rc, CUdevice device, CUmemoryPool pool);
void pool_of_location_set(struct call *c, CUmemoryPool pool); /* … of whichever device */
void pool_of_device_found(struct call *c, CUresult rc, CUdevice device);
void pool_of_location_found(struct call *c, CUresult rc, const CUmemLocation *location);
void range_named(struct call *c, uintptr_t address, size_t bytes);
void range_reserved(struct call *c, CUresult rc, const CUdeviceptr *address, size_t bytes);
void memory_created(struct call *c, CUresult rc, const CUmemGenericAllocationHandle *handle, size_t bytes,
		    const CUmemAllocationProp *prop);
void memory_found(struct call *c, CUresult rc, const CUmemGenericAllocationHandle *handle);
void memory_named(struct call *c, CUmemGenericAllocationHandle handle);
void memory_mapped(struct call *c, CUresult rc, uintptr_t address, size_t bytes, size_t offset,
		   CUmemGenericAllocationHandle handle);

/* ---- names, entry points ------------------------------------------------------------------------------------------------ */
void function_named(struct call *c, CUresult rc, void *handle, const char *name); /* handle: where the driver put it */
void function_alias(struct call *c, CUresult rc, CUfunction *to, CUkernel from);
void entry_point_found(struct call *c, CUresult rc, const char *name, void **pointer, int version,
		       cuuint64_t flags); /* swaps *pointer for ours */

/* ---- what comes and goes ------------------------------------------------------------------------------------------------ */
void context_changed(struct call *c);
void context_destroy(struct call *c, CUcontext context); /* closes the gate; context_destroyed opens it */
void green_context_destroy(struct call *c, CUgreenCtx green); /* likewise */
void context_destroyed(struct call *c, CUresult rc);
void primary_retained(struct call *c, CUresult rc, CUcontext *context, CUdevice device);
void context_release(struct call *c, CUdevice device); /* … of a primary context, which may have other users */
void context_released(struct call *c, CUresult rc, CUdevice device);
void stream_destroy(struct call *c, CUstream s); /* closes the gate; stream_destroyed opens it */
void stream_destroyed(struct call *c, CUresult rc);

/* ---- captures and graphs ------------------------------------------------------------------------------------------------ */
void capture_begin(struct call *c); /* closes the gate; capture_began opens it */
void capture_began(struct call *c, CUresult rc, CUstream s);
void capture_ended(struct call *c, CUresult rc, CUstream s);
void graph_instantiated(struct call *c, CUresult rc, const CUgraphExec *exec, CUgraph graph, unsigned long long flags);
void graph_updated(struct call *c, CUresult rc, CUgraphExec exec, CUgraph graph);
void graph_exec_destroy(struct call *c, CUgraphExec exec);
void graph_exec_destroyed(struct call *c, CUresult rc, CUgraphExec exec);
/* one node of an executable graph */
void change_kernel_v1(struct call *c, CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *p);
void change_kernel(struct call *c, CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p);
void change_copy(struct call *c, CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *p);
void change_memset(struct call *c, CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *p);
void change_event(struct call *c, CUgraphExec exec, CUgraphNode node, CUevent event);
void change_enabled(struct call *c, CUgraphExec exec, CUgraphNode node, bool on);
void change_any(struct call *c, CUgraphExec exec, CUgraphNode node, const CUgraphNodeParams *p);
void changed_child(struct call *c, CUresult rc, CUgraphExec exec);
