/* SPDX-License-Identifier: BSD-2-Clause */
/* gate.h: our own driver calls against the program's changes of what they touch.
 *
 * Whoever injects a call (an edge, a query) is inside the gate while it does. Whoever takes something away (destroys a stream
 * or context) or begins a capture (in which an injected event would become a graph node) closes the gate first and
 * waits for those inside: as long as one call of theirs takes, and only there. While a capture is open the gate stays shut.
 *
 * A thread can leave one of our calls without returning from it: a signal handler jumps, the driver throws, the thread is cancelled. What
 * it holds of the gate stands in its struct thread and is given back when we see that (call_abandon). Where we cannot, the wait has an
 * end, and then nothing is injected until nobody is inside any more. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "thread.h"

struct gate {
	uint32_t inside, closed, captures;
	uint32_t stuck; /* somebody inside does not come out */
};
extern struct gate gate;

/* The thread's own count is the lower one at any moment: what is given back was taken. */
static inline void gate_leave(void)
{
	thread_storage.gate_inside--;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_fetch_sub(&gate.inside, 1, __ATOMIC_SEQ_CST);
}

/* False: not now; inject nothing. */
static inline bool gate_enter(void)
{
	uint32_t others = __atomic_fetch_add(&gate.inside, 1, __ATOMIC_SEQ_CST);

	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread_storage.gate_inside++;
	if (__builtin_expect(__atomic_load_n(&gate.stuck, __ATOMIC_RELAXED), 0) && !others)
		__atomic_store_n(&gate.stuck, 0, __ATOMIC_RELAXED);
	if (!__atomic_load_n(&gate.closed, __ATOMIC_SEQ_CST) && !__atomic_load_n(&gate.captures, __ATOMIC_SEQ_CST) &&
	    !__atomic_load_n(&gate.stuck, __ATOMIC_RELAXED))
		return true;
	gate_leave();
	return false;
}

/* Until nobody is inside, for a tenth of a second at most. */
void gate_wait(void);

static inline void gate_close(void)
{
	__atomic_fetch_add(&gate.closed, 1, __ATOMIC_SEQ_CST);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread_storage.gate_closed++;
	if (__atomic_load_n(&gate.inside, __ATOMIC_SEQ_CST))
		gate_wait();
}

static inline void gate_open(void)
{
	thread_storage.gate_closed--;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_fetch_sub(&gate.closed, 1, __ATOMIC_SEQ_CST);
}

/* The thread left the calls it was in. */
void gate_abandon(struct thread *t);
