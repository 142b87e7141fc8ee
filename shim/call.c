/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of a call that only some calls need. */
#include "call.h"

#include <signal.h>

#include "burst.h"
#include "edge.h"
#include "gate.h"
#include "helper.h"
#include "poll.h"
#include "resolve.h"
#include "stream.h"

/* A frame that lies below the present one, in the same stack, or where the present one is, is gone: by longjmp or an exception. */
static bool was_left(const struct thread *t, const struct call *now)
{
	stack_t other = { .ss_flags = 0 };

	return (uintptr_t)(now + 1) > t->depth && sigaltstack(NULL, &other) == 0 &&
	       !(other.ss_flags & SS_ONSTACK); /* a signal handler's stack is anywhere */
}

bool call_enter_within(struct call *c, struct thread *t, enum hook_id hook, enum gst_family family, void *caller)
{
	c->within = NULL;
	if (!t || t->depth == THREAD_NEVER_RECORDED)
		return false;
	if (was_left(t, c)) {
		call_abandon(t);
		return true;
	}
	if (resolve_is_driver(caller))
		return false;
	c->within = t;
	c->record = (struct gst_call){ .hook = (uint16_t)hook,
				       .family = (uint8_t)family,
				       .stream = GST_NONE,
				       .device = 0xffff,
				       .begin = clock_ticks() };
	return false;
}

void call_exit_within(struct call *c, CUresult rc)
{
	if (!c->within)
		return;
	c->record.end = clock_ticks();
	c->record.result = (int32_t)rc;
	ring_append_here(&c->within->ring, GST_CALL, sizeof(c->record), &c->record);
}

void call_enter_slow(struct call *c)
{
	/* The thread did something else for a while: what it used of a CPU meanwhile tells computing from waiting. */
	if (stacks_silence(c->thread, c->thread->slot->last_end, c->record.begin)) {
		c->timed = CALL_ENDS_SILENCE;
		c->own_begin = c->record.begin;
	}
	thread_account(c->thread, c->record.begin, ACCOUNT_PLAIN);
}

static void submitted(struct thread *t, struct stream *s, uint64_t end)
{
	__atomic_store_n(&s->last_submit, end, __ATOMIC_RELAXED);
	t->submitting.stream = NULL;
	stream_return(t, s);
	stream_submitted(s);
	t->slot->submits = 1;
	__atomic_store_n(&t->slot->ring_at, t->ring.at, __ATOMIC_RELAXED);
	helper_watch();
}

void call_abandon(struct thread *t)
{
	struct stream *s = t->submitting.stream;
	struct gst_call r = { .begin = t->submitting.begin,
			      .end = clock_ticks(),
			      .seq = t->submitting.seq,
			      .hook = t->submitting.hook,
			      .family = t->submitting.family,
			      .flags = GST_SUBMISSION };

	bias_end(t->slot);
	gate_abandon(t);
	edges_abandon(t);
	burst_abandon(t);
	if (!s)
		return;
	r.stream = s->id;
	r.device = s->device;
	submitted(t, s, r.end);
	ring_append(&t->ring, GST_CALL, sizeof(r), &r);
}

/* The stream's full count that a record's 32 bits stand for. */
static uint64_t whole_seq(const struct stream *s, uint32_t seq)
{
	uint64_t entered = __atomic_load_n(&s->entered, __ATOMIC_RELAXED);

	return entered - ((uint32_t)entered - seq);
}

static void finished(struct call *c)
{
	if (c->record.result != CUDA_SUCCESS)
		return;
	if (c->stream && c->record.seq)
		stream_finished(c->stream, whole_seq(c->stream, c->record.seq));
	else if (c->role == CALL_AWAITS && c->record.args[0])
		streams_finished_context(c->record.args[0], c->record.begin);
}

/* Another thread may have come to use the streams meanwhile that an event in the legacy one waits for. Behind a copy that stays out of the way
 * of their waits alone. */
static void edge_behind(struct call *c)
{
	struct thread *t = c->thread;
	struct stream *s = c->stream;
	bool waits = c->role == CALL_WAITS || c->role == CALL_STALLS || c->edge_after == GST_EDGE_HOSTFN_AFTER;

	if (waits ? !edge_may_stand(t, s) : s->kind == GST_STREAM_LEGACY && streams_value_beside(t))
		return;
	if (c->role == CALL_STALLS)
		edge_record_stalls(t, s, c->edge_after, stream_covers(s));
	else if (edge_record(t, s, c->edge_after, stream_covers(s)) && c->edge_after == GST_EDGE_CLASS)
		edges_count_nccl();
}

void call_exit_slow(struct call *c, const void *caller)
{
	struct thread *t = c->thread;
	bool ok = c->record.result == CUDA_SUCCESS;

	if (c->role == CALL_SUBMITS)
		submitted(t, c->stream, c->record.end);
	/* The record before any edge behind it: whoever finds the edge must find the work it covers. */
	ring_append(&t->ring, GST_CALL, sizeof(c->record), &c->record);
	if (c->role == CALL_AWAITS || c->role == CALL_QUERIES || (c->record.flags & GST_BLOCKING))
		finished(c);
	if (c->edge_after == GST_EDGE_BURST_AFTER)
		burst_after_submit(c, ok);
	else if (c->edge_after && ok && c->stream)
		edge_behind(c);
	if (c->account) {
		polls_after_block(t);
		thread_account(t, clock_ticks(), (enum thread_account)c->account);
		helper_wake();
	}
	if (stacks_are_on())
		stacks_call_ended(c, caller);
}
