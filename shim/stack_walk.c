/* SPDX-License-Identifier: BSD-2-Clause */
#include "stack_walk.h"

#include "arch.h"
#include "stack_objects.h"

#define LOWEST 4096u         /* nothing is mapped below */
#define FRAME_MAX (8u << 20) /* bytes */
#define BY_POINTER_MAX (1u << 20)
#define SIGNALS_MAX 8 /* handlers within handlers */

struct walk {
	struct stack_registers now;
	struct stack_window *window;
	uint64_t lr; /* where the return address still is in its register; known in the innermost frame alone, 0 not */
	bool exact;
	unsigned signals;
};

enum outcome { WENT_ON, ENDED, LOST };

static bool read_word(struct walk *w, uint64_t from, uint64_t *to)
{
	return from % 8 == 0 && stack_window_read(w->window, to, from, sizeof(*to));
}

static enum outcome go_to(struct walk *w, uint64_t pc, uint64_t sp, uint64_t fp)
{
	pc = arch_code_address(pc);
	if (!pc)
		return ENDED;
	if (pc < LOWEST)
		return LOST;
	w->now.pc = pc;
	w->now.sp = sp;
	w->now.fp = fp;
	w->exact = false;
	w->lr = 0;
	return WENT_ON;
}

static enum outcome by_rule(struct walk *w, const struct stack_rule *rule)
{
	uint64_t base = rule->kind == STACK_RULE_SP ? w->now.sp : w->now.fp, end = base + (uint64_t)(int64_t)rule->cfa;
	uint64_t fp = w->now.fp, pc = w->lr;

	if (rule->kind == STACK_RULE_FP && !w->now.fp_known)
		return LOST;
	/* One way: up. A frame of no bytes is an innermost one where calls leave the return address in a register. */
	if (end < w->now.sp || end - w->now.sp > FRAME_MAX || (end == w->now.sp && !w->lr))
		return LOST;
	if (rule->fp != STACK_RULE_SAME) {
		if (!read_word(w, end + (uint64_t)(int64_t)rule->fp, &fp))
			return LOST;
		w->now.fp_known = true;
	}
	if (rule->ra != STACK_RULE_SAME && !read_word(w, end + (uint64_t)(int64_t)rule->ra, &pc))
		return LOST;
	if (rule->ra == STACK_RULE_SAME && !w->lr)
		return LOST;
	return go_to(w, pc, end, fp);
}

/* { the caller's frame pointer, the return address }: what compilers have a frame pointer point to. */
static enum outcome by_frame_pointer(struct walk *w)
{
	uint64_t at = w->now.fp, fp, pc;
	uint16_t object;

	if (!w->now.fp_known || at % 8 || at < w->now.sp || at - w->now.sp > BY_POINTER_MAX || !read_word(w, at, &fp) ||
	    !read_word(w, at + 8, &pc))
		return LOST;
	if (!fp && !pc)
		return ENDED;
	pc = arch_code_address(pc);
	if (pc < LOWEST)
		return LOST;
	stack_objects_rule(pc - 1, &object);
	/* In no object, it is code made at run time, or nothing at all: then the next frame pointer has to make sense as well. */
	if (object == STACK_NO_OBJECT && (fp <= at || fp - at > BY_POINTER_MAX))
		return LOST;
	return go_to(w, pc, at + 16, fp);
}

/* The program was interrupted anywhere, and the handler may have had a stack of its own. */
static enum outcome by_signal_frame(struct walk *w)
{
	uint64_t pc, sp, fp;

	if (++w->signals > SIGNALS_MAX || !read_word(w, w->now.sp + ARCH_SIGNAL_PC, &pc) ||
	    !read_word(w, w->now.sp + ARCH_SIGNAL_SP, &sp) || !read_word(w, w->now.sp + ARCH_SIGNAL_FP, &fp) ||
	    pc < LOWEST)
		return LOST;
	w->lr = 0;
	if (!ARCH_RA_ON_STACK)
		read_word(w, w->now.sp + ARCH_SIGNAL_LR, &w->lr);
	w->now = (struct stack_registers){ pc, sp, fp, true };
	w->exact = true;
	return WENT_ON;
}

static enum outcome leave(struct walk *w, const struct stack_rule *rule)
{
	switch (rule->kind) {
	case STACK_RULE_END:
		return ENDED;
	case STACK_RULE_SIGNAL:
		return by_signal_frame(w);
	case STACK_RULE_SP:
	case STACK_RULE_FP:
		return by_rule(w, rule);
	default:
		return by_frame_pointer(w);
	}
}

unsigned stack_walk(const struct stack_registers *from, struct stack_window *window, struct stack_native *frames,
		    bool *whole)
{
	struct walk w = { .now = *from, .window = window, .exact = true };
	unsigned n = 0;

	*whole = false;
	window->bytes = 0;
	while (n < STACK_NATIVE_MAX) {
		struct stack_native *f = &frames[n];
		struct stack_rule rule = stack_objects_rule(w.now.pc - !w.exact, &f->object);
		enum outcome outcome;

		f->at = w.now.pc;
		f->exact = w.exact;
		n++;
		outcome = leave(&w, &rule);
		if (outcome == WENT_ON)
			continue;
		*whole = outcome == ENDED;
		break;
	}
	return n;
}
