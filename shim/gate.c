/* SPDX-License-Identifier: BSD-2-Clause */
#include "gate.h"

#include "clock.h"
#include "nap.h"
#include "settings.h"

#define STUCK_NS 100000000ull

struct gate gate;

void gate_wait(void)
{
	uint64_t begin = clock_ticks();

	for (unsigned n = 0; __atomic_load_n(&gate.inside, __ATOMIC_SEQ_CST); n++) {
		if (__atomic_load_n(&gate.stuck, __ATOMIC_RELAXED))
			return; /* somebody has waited for all of us */
		nap(n);         /* whoever is inside has lost its CPU, or the driver makes it wait */
		if (clock_ticks() - begin > clock_ticks_in(STUCK_NS)) {
			__atomic_store_n(&gate.stuck, 1, __ATOMIC_RELAXED);
			settings_log("a call of ours does not return: no edges meanwhile");
		}
	}
}

void gate_abandon(struct thread *t)
{
	uint32_t inside = t->gate_inside, closed = t->gate_closed;

	t->gate_inside = t->gate_closed = 0;
	if (inside)
		__atomic_fetch_sub(&gate.inside, inside, __ATOMIC_SEQ_CST);
	if (closed)
		__atomic_fetch_sub(&gate.closed, closed, __ATOMIC_SEQ_CST);
}
