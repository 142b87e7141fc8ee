/* SPDX-License-Identifier: BSD-2-Clause */
/* Names, contexts and streams: see capture.h. */
#include "capture.h"

#include "captures.h"
#include "edge.h"
#include "gate.h"
#include "helper.h"
#include "memory_kind.h"
#include "names.h"
#include "resolve.h"
#include "settings.h"
#include "stream.h"
#include "unknown.h"

void function_named(struct call *c, CUresult rc, void *handle, const char *name)
{
	if (c->thread && rc == CUDA_SUCCESS && handle && name)
		c->record.name = names_kernel_set(c->thread, *(void **)handle, name);
}

void function_alias(struct call *c, CUresult rc, CUfunction *to, CUkernel from)
{
	if (c->thread && rc == CUDA_SUCCESS && to)
		c->record.name = names_kernel_alias(c->thread, *to, from);
}

void entry_point_found(struct call *c, CUresult rc, const char *name, void **pointer, int version, cuuint64_t flags)
{
	void *function;

	if (!settings.enabled || rc != CUDA_SUCCESS || !pointer || !*pointer)
		return;
	resolve_driver();
	function = *pointer;
	*pointer = resolve_swap(function);
	if (c->thread && name && !resolve_is_known(function))
		unknown_found(c->thread, function, name, version, flags);
}

void context_changed(struct call *c)
{
	if (c->thread)
		c->thread->context_known = false;
}

/* ---- closing the gate: what goes must not be in one of our calls ------------------------------------------------------- */

/* Before: what its edges say is read while they can be. After: they went with it. */
static void context_goes(struct call *c, uint64_t context)
{
	c->record.args[0] = context;
	edges_before_block(c->thread, NULL);
	gate_close();
	edges_harvest(&c->thread->ring, edges_context_is_current);
}

static void context_gone(struct call *c)
{
	edges_context_gone(c->record.args[0]);
	helper_context_gone(c->record.args[0]);
	streams_retire(c->record.args[0], 0);
	captures_context_gone(c->record.args[0]);
	c->thread->last_stream = NULL;
	memory_kinds_changed();
}

void context_destroy(struct call *c, CUcontext context)
{
	if (c->thread)
		context_goes(c, (uintptr_t)context);
}

/* Its streams are of the context that it converts to (cuStreamGetCtx). */
void green_context_destroy(struct call *c, CUgreenCtx green)
{
	CUcontext context = NULL;

	if (!c->thread)
		return;
	if (INJECT(cuCtxFromGreenCtx, &context, green) != CUDA_SUCCESS)
		context = NULL;
	context_goes(c, (uintptr_t)context);
}

void context_destroyed(struct call *c, CUresult rc)
{
	if (!c->thread)
		return;
	if (rc == CUDA_SUCCESS && c->record.args[0])
		context_gone(c);
	c->thread->context_known = false;
	gate_open();
}

#define PRIMARY_MAX 256

static uint64_t primary[PRIMARY_MAX]; /* context by device ordinal, as the driver handed it out */

void primary_retained(struct call *c, CUresult rc, CUcontext *context, CUdevice device)
{
	if (c->thread && rc == CUDA_SUCCESS && context && device >= 0 && device < PRIMARY_MAX)
		__atomic_store_n(&primary[device], (uintptr_t)*context, __ATOMIC_RELEASE);
}

void context_release(struct call *c, CUdevice device)
{
	if (!c->thread)
		return;
	context_goes(c, device >= 0 && device < PRIMARY_MAX ? __atomic_load_n(&primary[device], __ATOMIC_ACQUIRE) : 0);
}

void context_released(struct call *c, CUresult rc, CUdevice device)
{
	unsigned flags;
	int active = 1;

	if (!c->thread)
		return;
	if (rc == CUDA_SUCCESS && c->record.args[0] &&
	    INJECT(cuDevicePrimaryCtxGetState, device, &flags, &active) == CUDA_SUCCESS && !active)
		context_gone(c);
	c->thread->context_known = false;
	gate_open();
}

void stream_destroy(struct call *c, CUstream handle)
{
	struct stream *s = c->thread && (uintptr_t)handle > (uintptr_t)CU_STREAM_PER_THREAD
				   ? stream_find(c->thread, handle)
				   : NULL;

	if (!c->thread)
		return;
	c->record.args[0] = (uintptr_t)handle;
	if (s && !stream_is_empty(s) &&
	    stream_covers(s) > s->marked) /* its work goes on without it: mark the end while we can */
		edge_record(c->thread, s, GST_EDGE_BLOCK, stream_covers(s));
	gate_close();
	stream_retire((uintptr_t)handle);
	c->thread->last_stream = NULL;
}

void stream_destroyed(struct call *c, CUresult rc)
{
	struct stream_key key = { .handle = c->thread ? c->record.args[0] : 0 };

	if (!c->thread)
		return;
	if (rc == CUDA_SUCCESS)
		captures_remove(&key); /* a capture that began in it is gone too */
	gate_open();
}
