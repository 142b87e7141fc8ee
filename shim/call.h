/* SPDX-License-Identifier: BSD-2-Clause */
/* call.h: one intercepted driver call, from entry to its record. This is the path every launch takes: no lock, no
 * allocation, no system call. */
#pragma once

#include "hooks.h"
#include "self_time.h"
#include "stack.h"
#include "thread.h"

struct stream;

enum call_role { /* what the call means for its stream, set by capture.c, acted on when it returns */
		 CALL_PLAIN,
		 CALL_SUBMITS, /* puts work into call.stream */
		 CALL_AWAITS,  /* returns when the stream (or, without one, the context) is done */
		 CALL_QUERIES, /* success means the stream is done */
		 CALL_WAITS,   /* what is put into the stream from now on stands behind another's */
		 CALL_STALLS,  /* … behind what nobody may have put anywhere yet: a value, a semaphore */
};

#define CALL_ENDS_SILENCE 0x80000000u /* in timed: it is the first call after a silence */

struct call {
	struct thread *thread; /* NULL: not recorded (off), or within another call */
	struct thread *within; /* where thread is NULL: whose other call it is made in; NULL not recorded */
	struct stream *stream;
	enum call_role role;
	uint8_t edge_after; /* record an edge of this kind behind it, 0 none */
	uint8_t account;    /* enum thread_account: note the thread's accounts when it returns */
	uint32_t
		timed; /* our own part in it is measured, for so many calls; 0 not (self_time.h). And CALL_ENDS_SILENCE */
	uint64_t own_ticks, own_begin, own_injected;
	struct gst_call record;
};

/* There is no thread, or it is in another call. True: it is not, since somebody jumped out of that one. Otherwise it is a signal
 * handler's, of which the times are recorded and nothing else (our own part of the other call may be half done), or the driver's. */
bool call_enter_within(struct call *c, struct thread *t, enum hook_id hook, enum gst_family family, void *caller);
void call_exit_within(struct call *c, CUresult rc);
/* The thread will not return from the call it was in: cancelled, or somebody jumped out of it. What that put into a stream counts as
 * put there, since it may have been. */
void call_abandon(struct thread *t);
void call_enter_slow(struct call *c);
/* caller: where the program goes on. */
void call_exit_slow(struct call *c, const void *caller);

static inline void call_enter(struct call *c, enum hook_id hook, enum gst_family family)
{
	struct thread *t = thread_self();

	c->thread = NULL;
	c->timed = 0;
	if (__builtin_expect(!t || t->depth, 0) && !call_enter_within(c, t, hook, family, __builtin_return_address(0)))
		return;
	t->depth = (uintptr_t)c;
	c->thread = t;
	c->stream = NULL;
	c->role = CALL_PLAIN;
	c->edge_after = 0;
	c->account = ACCOUNT_NONE;
	c->record = (struct gst_call){ .hook = (uint16_t)hook,
				       .family = (uint8_t)family,
				       .stream = GST_NONE,
				       .device = 0xffff,
				       .begin = clock_ticks() };
	__atomic_store_n(&t->slot->in_call, 1, __ATOMIC_RELAXED);
	if (__builtin_expect(c->record.begin - t->slot->last_end > thread_silence_ticks, 0))
		call_enter_slow(c);
	if (__builtin_expect(t->until_timed-- == 0, 0))
		self_time_begin(c);
}

/* Right before the driver is called, and right after. */
static inline void call_into_driver(struct call *c)
{
	if (__builtin_expect(c->timed != 0, 0))
		self_time_into_driver(c);
}

static inline void call_from_driver(struct call *c)
{
	if (__builtin_expect(c->timed != 0, 0))
		self_time_from_driver(c);
}

static inline void call_exit(struct call *c, CUresult rc)
{
	struct thread *t = c->thread;

	if (__builtin_expect(!t, 0)) {
		call_exit_within(c, rc);
		return;
	}
	if (!c->record.end)
		c->record.end = clock_ticks();
	c->record.result = (int32_t)rc;
	if (c->role != CALL_PLAIN || c->account ||
	    c->record.end - c->record.begin > __atomic_load_n(&stacks_stall_ticks, __ATOMIC_RELAXED))
		call_exit_slow(c, __builtin_return_address(0));
	else
		ring_append(&t->ring, GST_CALL, sizeof(c->record), &c->record);
	__atomic_store_n(&t->slot->last_end, c->record.end, __ATOMIC_RELAXED);
	__atomic_store_n(&t->slot->in_call, 0, __ATOMIC_RELAXED);
	if (__builtin_expect(c->timed != 0, 0))
		self_time_end(c);
	t->depth = 0;
}
