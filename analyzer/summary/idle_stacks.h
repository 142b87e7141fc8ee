/* SPDX-License-Identifier: BSD-2-Clause */
/* idle_stacks.h: idle time by what held the submitting thread: each stack with each cause once. Their sum is the devices' idle time, exactly. */
#pragma once

#include "summary.h"

struct idle_stack {
	const struct held *held;
	size_t device;  /* index in summary.devices */
	size_t process; /* 0: no stack is known, else 1 + index in run.traces */
	int64_t ns;
	int64_t longest_ns; /* of it in one gap without a break, */
	size_t gap;         /* the number of that gap */
	uint8_t cause;
};

/* By device, process, stack, cause; to be freed. NULL: no memory. */
struct idle_stack *idle_stacks_build(const struct summary *s, size_t *n);

#define IDLE_FRAME 700 /* room for one */

/* Its frames, numbered from the outermost in; at least one: "[no stack]". */
size_t idle_stack_frames(const struct idle_stack *l);
/* "load_batch (train.py:41)"; "[before] step (train.py:52)" of a launch or driver call that is only known to have come after the time.
 * Clean text. *frame NULL: there is no stack. */
const char *idle_stack_frame(char buf[IDLE_FRAME], const struct idle_stack *l, size_t number, const struct frame **frame);
/* The same of the frame that held_frame() names. */
const char *idle_stack_site(char buf[IDLE_FRAME], const struct held *h, const struct frame *f);
