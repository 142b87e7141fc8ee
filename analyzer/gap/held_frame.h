/* SPDX-License-Identifier: BSD-2-Clause */
/* held_frame.h: which frame of a stack is the one to be named. */
#pragma once

#include "held.h"

/* The stack of a piece; NULL none. */
const struct stack *held_stack(const struct held *h);

/* The innermost frame from `first` on that is the user's own, else `first`. */
uint32_t frame_own(const struct stack *s, uint32_t first);

/* The innermost frame that was there all the time between two calls, as the later one has it: what is further in came and went
 * meanwhile. Where it is at another place of its function than before, *line is where it had been. False: that cannot be told. Two calls that a
 * loop makes have the same stack, or seem to have gone back: which of its functions was left and called again, it does not say. */
bool frame_common(const struct stack *before, const struct stack *after, uint32_t *index, uint32_t *line);
