/* SPDX-License-Identifier: BSD-2-Clause */
/* report_memory_from.c: the line of the program that asked for memory, from the stack that was taken where it was refused. */
#include "report_memory.h"
#include "tools/alloc.h"

static bool began_before(const void *element, const void *key)
{
	return ((const struct stack_at *)element)->begin_ns < *(const int64_t *)key;
}

/* The stack that was taken in what the thread began then: a call, or a framework's refusal. NULL: none was, or it is missing. */
static const struct stack *stack_at(const struct trace *t, uint32_t tid, int64_t begin_ns)
{
	const struct stack_thread *thread = stacks_thread(&t->stacks, tid);
	size_t at =
		thread ? array_first(thread->calls, thread->n_calls, sizeof(*thread->calls), began_before, &begin_ns)
		       : 0;

	for (; thread && at < thread->n_calls && thread->calls[at].begin_ns == begin_ns; at++)
		if (thread->calls[at].why != GST_STACK_SILENCE && thread->calls[at].stack != GST_NONE)
			return &t->stacks.all[thread->calls[at].stack];
	return NULL;
}

const struct frame *memory_asked_from(const struct memory_story *s)
{
	const struct stack *stack = s->first ? stack_at(s->trace, s->tid, s->first->begin_ns) : NULL;

	if (!stack && s->last)
		stack = stack_at(s->trace, s->tid, s->last->begin_ns);
	if (!stack && s->block && s->block->kind == GST_BLOCK_REFUSED)
		stack = stack_at(s->trace, s->tid, s->block->time_ns);
	for (size_t i = 0; stack && i < stack->n_frames; i++)
		if (stack->frames[i].own)
			return &stack->frames[i];
	return stack && stack->n_frames ? &stack->frames[0] : NULL;
}
