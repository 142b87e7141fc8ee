/* SPDX-License-Identifier: BSD-2-Clause */
/* helper.h: our one thread. It reads edges that have fired, asks streams that fell silent whether they are done, looks at what
 * silent threads do, and keeps the clock anchored. It never puts work into a stream. */
#pragma once

#include "thread.h"

/* At the first work for a device; later calls cost one load. */
void helper_start(struct thread *t);

/* A blocking call has returned, or work was put into a stream: what the thread does next is worth a look. One load, unless the
 * helper sleeps. */
void helper_wake(void);

/* At exit: stops it, and reads what it has not read yet. */
void helper_stop(void);

/* The context is gone. Gate closed. */
void helper_context_gone(uint64_t context);

void helper_forget(void);
