/* SPDX-License-Identifier: BSD-2-Clause */
/* Values in memory, and semaphores, that streams wait for and write. See capture.h. A batch has one record: what it waits for first, or where it
 * waits for nothing, what it writes first; the record says that there is more. */
#include "capture.h"
#include "semaphores.h"

#define BATCH_END 256 /* cuda.h: the number of operations must be less; of more the driver looks at none */

static uint16_t value_bits(unsigned bits)
{
	return bits == 64 ? GST_VALUE_64 : 0;
}

/* CU_STREAM_WAIT_VALUE_GEQ … NOR, in bits that no other flag has. */
static uint16_t condition(unsigned flags)
{
	return (uint16_t)(GST_VALUE_GEQ + (flags & CU_STREAM_WAIT_VALUE_NOR));
}

static void set_value(struct call *c, uint64_t address, uint64_t value, unsigned detail)
{
	c->record.args[0] = address;
	c->record.args[1] = value;
	c->record.detail = (uint16_t)detail;
}

void wait_memory(struct call *c, CUstream s, CUdeviceptr address, uint64_t value, unsigned flags, unsigned bits)
{
	if (!c->thread)
		return;
	in_stream_order(c, s);
	set_value(c, address, value, condition(flags) | value_bits(bits));
	wait_marked(c);
}

void write_memory(struct call *c, CUstream s, CUdeviceptr address, uint64_t value, unsigned bits)
{
	if (!c->thread)
		return;
	in_stream_order(c, s);
	set_value(c, address, value, GST_VALUE_WRITTEN | value_bits(bits));
}

enum operation { OP_UNKNOWN, OP_NEITHER, OP_WRITES, OP_WAITS };

static enum operation operation_of(const CUstreamBatchMemOpParams *p)
{
	switch ((int)p->operation) {
	case CU_STREAM_MEM_OP_WAIT_VALUE_32:
	case CU_STREAM_MEM_OP_WAIT_VALUE_64:
		return OP_WAITS;
	case CU_STREAM_MEM_OP_WRITE_VALUE_32:
	case CU_STREAM_MEM_OP_WRITE_VALUE_64:
		return OP_WRITES;
	case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
	case CU_STREAM_MEM_OP_BARRIER:
		return OP_NEITHER;
	default:
		return OP_UNKNOWN;
	}
}

/* The first wait, or where there is none the first write; NULL neither. The driver may refuse what is not known here, and not read on:
 * nor is it read on here. */
static const CUstreamBatchMemOpParams *first_that_matters(const CUstreamBatchMemOpParams *operations, unsigned count)
{
	const CUstreamBatchMemOpParams *write = NULL;

	for (unsigned i = 0; i < count; i++) {
		enum operation o = operation_of(&operations[i]);

		if (o == OP_WAITS)
			return &operations[i];
		if (o == OP_WRITES && !write)
			write = &operations[i];
		if (o == OP_UNKNOWN)
			break;
	}
	return write;
}

static void set_operation(struct call *c, const CUstreamBatchMemOpParams *p, unsigned more)
{
	bool waits = operation_of(p) == OP_WAITS;
	unsigned kind = waits ? condition(p->waitValue.flags) : GST_VALUE_WRITTEN;

	if (p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 || p->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64)
		set_value(c, p->waitValue.address, p->waitValue.value64, kind | GST_VALUE_64 | more);
	else
		set_value(c, p->waitValue.address, p->waitValue.value, kind | more);
	if (!waits)
		c->record.family = GST_FAMILY_WRITE_VALUE;
}
_Static_assert(offsetof(CUstreamBatchMemOpParams, waitValue.address) ==
			       offsetof(CUstreamBatchMemOpParams, writeValue.address) &&
		       offsetof(CUstreamBatchMemOpParams, waitValue.value64) ==
			       offsetof(CUstreamBatchMemOpParams, writeValue.value64),
	       "set_operation");

void memory_batch(struct call *c, CUstream s, const CUstreamBatchMemOpParams *operations, unsigned count,
		  unsigned flags)
{
	const CUstreamBatchMemOpParams *p = NULL;

	if (!c->thread)
		return;
	in_stream_order(c, s);
	if (operations && count < BATCH_END && !flags)
		p = first_that_matters(operations, count);
	if (p)
		set_operation(c, p, count > 1 ? GST_VALUE_MORE : 0);
	if (p && c->record.family == GST_FAMILY_MEMOP)
		wait_marked(c);
}

/* ---- semaphores: the driver has taken the call, and what it names can be read ------------------------------------------ */

static void set_semaphores(struct call *c, CUexternalSemaphore first, uint64_t value, unsigned kind, unsigned count)
{
	unsigned detail = GST_VALUE_SEMAPHORE | (count > 1 ? GST_VALUE_MORE : 0);

	if (semaphores_has((uintptr_t)first))
		set_value(c, (uintptr_t)first, value, detail | kind | GST_VALUE_64);
	else
		set_value(c, (uintptr_t)first, 0, detail);
}

void wait_semaphores(struct call *c, CUstream s)
{
	if (!c->thread)
		return;
	in_stream_order(c, s);
	wait_marked(c);
}

void awaited_semaphores(struct call *c, CUresult rc, const CUexternalSemaphore *semaphores,
			const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *params, unsigned count)
{
	if (c->thread && rc == CUDA_SUCCESS && count && semaphores && params)
		set_semaphores(c, semaphores[0], params[0].params.fence.value, GST_VALUE_GEQ, count);
}

void signalled_semaphores(struct call *c, CUresult rc, const CUexternalSemaphore *semaphores,
			  const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *params, unsigned count)
{
	if (c->thread && rc == CUDA_SUCCESS && count && semaphores && params)
		set_semaphores(c, semaphores[0], params[0].params.fence.value, GST_VALUE_WRITTEN, count);
}

/* Fences and timelines have a value that grows. Others are signalled or not, are mutexes with a key, or hide their value. */
static bool has_value(CUexternalSemaphoreHandleType type)
{
	return type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D12_FENCE ||
	       type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_FENCE ||
	       type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD ||
	       type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_WIN32;
}

void semaphore_imported(struct call *c, CUresult rc, const CUexternalSemaphore *semaphore,
			const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *description)
{
	if (c->thread && rc == CUDA_SUCCESS && has_value(description->type))
		semaphores_add((uintptr_t)*semaphore);
}

/* Before: as soon as it is gone, another thread may get the handle for one of its own. */
void semaphore_destroy(struct call *c, CUexternalSemaphore semaphore)
{
	if (c->thread)
		semaphores_remove((uintptr_t)semaphore);
}
