/* SPDX-License-Identifier: BSD-2-Clause */
/* burst.h: timing level L2. Now and then a few submissions in a row, whoever makes them, are put between two timing events each: a
 * burst. What lies between bursts is estimated from them.
 *
 * A burst begins at a random submission, each as likely as any other, and ends with a number of submissions: not at a blocking call
 * and not, below a second, by the clock, since then the submissions behind a wait or a pause would be met less often than the others.
 * None begins where nothing could be bracketed. */
#pragma once

#include "call.h"
#include "stream.h"

/* A thread's countdown below this is worth a look: 0, or while a burst is on anything. */
extern int64_t burst_floor;

bool burst_submit(struct call *c, struct stream *s, uint32_t large);

/* Work is about to be put into s, as for edge_before_submit(). True: it is within a burst, which has put its edge before it, if it needs
 * one, and puts another behind it. */
static inline bool burst_before_submit(struct call *c, struct stream *s, uint32_t large)
{
	return __builtin_expect(--c->thread->until_burst < __atomic_load_n(&burst_floor, __ATOMIC_RELAXED), 0) &&
	       burst_submit(c, s, large);
}

/* The call of which that was true has returned, and its record is written. */
void burst_after_submit(struct call *c, bool ok);

/* One is on, and had an edge some milliseconds ago at most. */
bool burst_goes_on(void);

/* The thread left the calls it was in. */
void burst_abandon(struct thread *t);
/* It ends. */
void burst_thread_ended(struct thread *t);

/* At exit: a burst that is on ends here. */
void burst_end(struct thread *t);

void bursts_forget(void);
