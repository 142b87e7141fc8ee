/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_cfi.h: from a function's frame to its caller's, by the tables that compilers write for exceptions (.eh_frame, found through
 * .eh_frame_hdr). They are there in nearly every library, with frame pointers or without, and no unwinding library is needed.
 *
 * Of what they can say we know what compilers use: the frame's end by the stack pointer or the frame pointer, and where the caller's
 * frame pointer and the return address lie. Nothing is read outside of the memory that is named, and that through the kernel alone: a library may
 * be unloaded meanwhile, or its file be on a server that is no longer there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum stack_rule_kind {
	STACK_RULE_NONE = 0, /* the tables say nothing, or what we do not understand */
	STACK_RULE_SP,       /* the frame ends `cfa` bytes above the stack pointer */
	STACK_RULE_FP,       /* … above the frame pointer */
	STACK_RULE_SIGNAL,   /* the kernel's frame below a signal handler's */
	STACK_RULE_END,      /* there is no caller */
};

#define STACK_RULE_SAME INT16_MIN /* as fp, ra: it is still in its register */

struct stack_rule {
	uint8_t kind; /* enum stack_rule_kind */
	int16_t fp;   /* where the caller's frame pointer is, from the frame's end */
	int16_t ra;   /* … and the return address */
	int32_t cfa;
};

struct stack_window;

struct stack_cfi {           /* of one object */
	uint64_t hdr;        /* address of .eh_frame_hdr; 0 it has none */
	uint64_t begin, end; /* of the mapping it is in */
	struct stack_window *window;
};

/* What holds at this instruction. */
struct stack_rule stack_cfi_rule(const struct stack_cfi *cfi, uint64_t pc);
