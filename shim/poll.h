/* SPDX-License-Identifier: BSD-2-Clause */
/* poll.h: asking a stream with unmarked work whether it is done, where no edge will tell. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ring.h"
#include "thread.h"

/* Asks every stream with unmarked work that got none for 200 us, if usable() says (or makes) its context current in this thread. The
 * helper thread's alone. */
void polls_silent(struct ring *r, bool (*usable)(uint64_t context));

/* Writes down what polls_silent has not said yet. */
void polls_end(struct ring *r);

/* A blocking call of this thread has returned: what no edge could mark (the legacy stream, when another was awaited) is asked at
 * once, so that idle time right behind the call is known as well as behind an edge. */
void polls_after_block(struct thread *t);

void polls_forget(void);
