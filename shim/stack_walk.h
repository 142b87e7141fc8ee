/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_walk.h: the native frames of a thread of this process: by the tables of each object where it has them, else by frame pointers as long
 * as those are plausible. Nothing on the stack is believed: it is read through the kernel, goes one way, and has an end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stack_memory.h"

#define STACK_NATIVE_MAX 512u

struct stack_registers {
	uint64_t pc, sp, fp;
	bool fp_known; /* of a thread seen from outside it is not */
};

struct stack_native {
	uint64_t at;
	uint16_t object; /* STACK_NO_OBJECT in none */
	bool exact;      /* the instruction itself, not where a call returns to */
};

/* Innermost first, into frames (STACK_NATIVE_MAX). *whole: the outermost one is the thread's first. */
unsigned stack_walk(const struct stack_registers *from, struct stack_window *w, struct stack_native *frames,
		    bool *whole);
