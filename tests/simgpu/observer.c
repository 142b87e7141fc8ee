/* SPDX-License-Identifier: BSD-2-Clause */
#include "observer.h"

#include <stdatomic.h>

static const struct observer *_Atomic observer;
static atomic_uint last_correlation;
static __thread uint32_t correlation;

SIM_EXPORT void simgpuObserve(const struct observer *with)
{
	atomic_store(&observer, with);
}

SIM_EXPORT void simgpuAdvance(void)
{
	sim_lock();
	timeline_advance(clock_now_ns());
	sim_unlock();
}

uint32_t observer_correlation(void)
{
	return correlation;
}

void observer_enter(const char *name)
{
	const struct observer *o = atomic_load_explicit(&observer, memory_order_acquire);

	if (!o)
		return;
	correlation = atomic_fetch_add(&last_correlation, 1) + 1;
	o->call_entered(name, correlation);
}

void observer_op(const struct op *op)
{
	const struct observer *o = atomic_load_explicit(&observer, memory_order_acquire);
	const struct observed_op seen = { .kind = op->kind,
					  .copy = op->copy,
					  .device = op->device,
					  .stream = op->stream_number,
					  .graph = op->graph,
					  .node = op->node,
					  .correlation = op->correlation,
					  .name = op->name,
					  .start_ns = op->start_ns,
					  .end_ns = op->end_ns,
					  .bytes = op->transfer.bytes };

	if (o && op->kind != OP_EVENT && op->kind != OP_WAIT && !op->internal)
		o->op_done(&seen);
}
