/* SPDX-License-Identifier: BSD-2-Clause */
/* gate.h: our own driver calls against the program's changes of what they touch.
 *
 * Whoever injects a call (an edge, a query) is inside the gate while it does. Whoever takes something away (destroys a stream
 * or context) or begins a capture (in which an injected event would become a graph node) closes the gate first and
 * waits for those inside: as long as one call of theirs takes, and only there. While a capture is open the gate stays shut. */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "arch.h"

struct gate {
	uint32_t inside, closed, captures;
};
extern struct gate gate;

static inline void gate_leave(void)
{
	__atomic_fetch_sub(&gate.inside, 1, __ATOMIC_SEQ_CST);
}

/* False: not now; inject nothing. */
static inline bool gate_enter(void)
{
	__atomic_fetch_add(&gate.inside, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&gate.closed, __ATOMIC_SEQ_CST) && !__atomic_load_n(&gate.captures, __ATOMIC_SEQ_CST))
		return true;
	gate_leave();
	return false;
}

static inline void gate_close(void)
{
	__atomic_fetch_add(&gate.closed, 1, __ATOMIC_SEQ_CST);
	for (unsigned n = 0; __atomic_load_n(&gate.inside, __ATOMIC_SEQ_CST); n++) {
		if (n < 100)
			arch_relax();
		else
			sched_yield(); /* whoever is inside has lost its CPU, or the driver makes it wait */
	}
}

static inline void gate_open(void)
{
	__atomic_fetch_sub(&gate.closed, 1, __ATOMIC_SEQ_CST);
}
