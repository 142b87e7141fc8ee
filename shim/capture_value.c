/* SPDX-License-Identifier: BSD-2-Clause */
/* Values in memory, and semaphores, that streams wait for and write. See capture.h. A batch has one record: what it waits for first, or where it
 * waits for nothing, what it writes first; the record says that there is more. */
#include "capture.h"

static uint16_t value_bits(unsigned bits)
{
	return bits == 64 ? GST_VALUE_64 : 0;
}

/* CU_STREAM_WAIT_VALUE_GEQ … NOR, in bits that no other flag has. */
static uint16_t condition(unsigned flags)
{
	return (uint16_t)(GST_VALUE_GEQ + (flags & CU_STREAM_WAIT_VALUE_NOR));
}

static void set_value(struct call *c, uint64_t address, uint64_t value, uint16_t detail)
{
	c->record.args[0] = address;
	c->record.args[1] = value;
	c->record.detail = detail;
}

void wait_memory(struct call *c, CUstream s, CUdeviceptr address, uint64_t value, unsigned flags, unsigned bits)
{
	wait_value(c, s);
	set_value(c, address, value, condition(flags) | value_bits(bits));
	wait_marked(c);
}

void write_memory(struct call *c, CUstream s, CUdeviceptr address, uint64_t value, unsigned bits)
{
	wait_value(c, s);
	set_value(c, address, value, GST_VALUE_WRITTEN | value_bits(bits));
}

/* False: it is neither a wait nor a write. */
static bool set_operation(struct call *c, const CUstreamBatchMemOpParams *p, bool waits)
{
	switch ((int)p->operation) {
	case CU_STREAM_MEM_OP_WAIT_VALUE_32:
		set_value(c, p->waitValue.address, p->waitValue.value, condition(p->waitValue.flags));
		return waits;
	case CU_STREAM_MEM_OP_WAIT_VALUE_64:
		set_value(c, p->waitValue.address, p->waitValue.value64, condition(p->waitValue.flags) | GST_VALUE_64);
		return waits;
	case CU_STREAM_MEM_OP_WRITE_VALUE_32:
		set_value(c, p->writeValue.address, p->writeValue.value, GST_VALUE_WRITTEN);
		return !waits;
	case CU_STREAM_MEM_OP_WRITE_VALUE_64:
		set_value(c, p->writeValue.address, p->writeValue.value64, GST_VALUE_WRITTEN | GST_VALUE_64);
		return !waits;
	default:
		return false;
	}
}

void memory_batch(struct call *c, CUstream s, const CUstreamBatchMemOpParams *operations, unsigned count)
{
	bool found = false;

	wait_value(c, s);
	if (!operations)
		count = 0;
	for (unsigned i = 0; i < count && !found; i++)
		found = set_operation(c, &operations[i], true);
	if (found)
		wait_marked(c);
	for (unsigned i = 0; i < count && !found; i++) {
		found = set_operation(c, &operations[i], false);
		if (found)
			c->record.family = GST_FAMILY_WRITE_VALUE;
	}
	if (!found)
		set_value(c, 0, 0, 0);
	if (count > 1)
		c->record.detail |= GST_VALUE_MORE;
}

void wait_semaphores(struct call *c, CUstream s, const CUexternalSemaphore *semaphores,
		     const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *params, unsigned count)
{
	wait_value(c, s);
	if (count && semaphores && params)
		set_value(c, (uintptr_t)semaphores[0], params[0].params.fence.value,
			  GST_VALUE_GEQ | GST_VALUE_64 | GST_VALUE_SEMAPHORE | (count > 1 ? GST_VALUE_MORE : 0));
	wait_marked(c);
}

void signal_semaphores(struct call *c, CUstream s, const CUexternalSemaphore *semaphores,
		       const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *params, unsigned count)
{
	wait_value(c, s);
	if (count && semaphores && params)
		set_value(c, (uintptr_t)semaphores[0], params[0].params.fence.value,
			  GST_VALUE_WRITTEN | GST_VALUE_64 | GST_VALUE_SEMAPHORE | (count > 1 ? GST_VALUE_MORE : 0));
}
