/* SPDX-License-Identifier: BSD-2-Clause */
/* stack.h: where a thread was, when that is worth knowing: where a driver call made it wait, where it makes one after a silence, where it
 * submits for the first time, and now and then. Records: FORMAT.md, GST_STACK.
 *
 * A thread takes its own stack, in the call: nothing interrupts it, no signal is sent. Of a thread that makes no calls one of ours reads what it
 * is at (stacks_look). What it costs is measured each time, and what a thread has left of its budget decides whether there is another.
 * One stack is taken at a time in the process; who comes meanwhile does without. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct call;
struct ring;
struct stack_still;
struct thread;

struct thread_stacks {                 /* in struct thread */
	int64_t credit;                /* ticks that may go into stacks */
	uint64_t credited;             /* up to this moment */
	uint64_t began;                /* its first call: what was before is no silence that we know of */
	uint64_t silent_since;         /* what call_enter_slow saw */
	uint64_t last_begin, last_end; /* the call whose stack was the last that was taken, */
	uint64_t last_ticks;           /* how long that took, behind its end, */
	uint32_t last_stack;           /* and the stack */
	uint32_t calls;                /* since the last sample */
};

/* A call that lasted this long made the thread wait. UINT64_MAX: stacks are off, or turned out to be impossible. */
extern uint64_t stacks_stall_ticks;

static inline bool stacks_are_on(void)
{
	return __atomic_load_n(&stacks_stall_ticks, __ATOMIC_RELAXED) != UINT64_MAX;
}

/* The file was made. */
void stacks_begin(void);
void stacks_thread_begins(struct thread *t, uint64_t now);
void stacks_thread_ended(struct thread *t);

/* The call has returned. `caller`: where the program goes on after it. */
void stacks_call_ended(struct call *c, const void *caller);
/* It was refused for want of memory: who asked is worth knowing, however short it was. `end` is known. */
void stacks_refused(struct call *c);
/* A framework's allocator says so of itself, then: the driver need not have been asked. Waits for nobody: the allocator's lock is held. */
void stacks_refused_by_framework(struct thread *t, uint64_t ticks);
/* The thread made no driver call from `since` until now. False: not worth a stack, or what a stack took behind the last call is most of it. */
bool stacks_silence(struct thread *t, uint64_t since, uint64_t until);
/* It is the first after such a silence. */
void stacks_silence_ended(struct call *c);
/* It is one of those drawn by lot, that stand for so many. */
void stacks_drawn(struct call *c, uint32_t calls);

/* What a thread, silent since `since`, is at now, and was when it was looked at. A thread of ours calls. */
void stacks_look(struct ring *r, const struct stack_still *there, uint64_t since, uint64_t now);

/* Who has Python's lock, where that futex is what its waiters wait at; 0 not known. */
uint32_t stacks_python_holder(uint64_t futex);

/* Writes what stacks have cost so far, if that has changed. */
void stacks_note_cost(struct ring *r);

void stacks_forget(void);
