/* SPDX-License-Identifier: BSD-2-Clause */
#include "watch.h"

#include "kernel_run.h"
#include "op.h"

static struct op_queue watched;

void watch_add(struct op *op)
{
	op_queue_push(&watched, op_ref(op));
}

bool watch_any(void)
{
	return watched.head != NULL;
}

static bool holds(const struct memory_watch *watch)
{
	const bool wide = watch->bytes == 8;
	uint64_t is = wide ? __atomic_load_n((const uint64_t *)watch->address, __ATOMIC_ACQUIRE)
			   : __atomic_load_n((const uint32_t *)watch->address, __ATOMIC_ACQUIRE);
	uint64_t rest;

	switch (watch->condition) {
	case CU_STREAM_WAIT_VALUE_GEQ: /* cyclic */
		return wide ? (int64_t)(is - watch->value) >= 0 : (int32_t)((uint32_t)is - (uint32_t)watch->value) >= 0;
	case CU_STREAM_WAIT_VALUE_EQ:
		return is == watch->value;
	case CU_STREAM_WAIT_VALUE_AND:
		return (is & watch->value) != 0;
	default: /* CU_STREAM_WAIT_VALUE_NOR */
		rest = ~(is | watch->value);
		return wide ? rest != 0 : (uint32_t)rest != 0;
	}
}

struct op *watch_satisfied(uint64_t now_ns)
{
	for (struct op *op = watched.head; op; op = op->next)
		if (op->run ? kernel_run_ended(op, now_ns) : holds(&op->watch)) {
			op_queue_remove(&watched, op);
			return op;
		}
	return NULL;
}
