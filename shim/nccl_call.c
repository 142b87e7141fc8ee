/* SPDX-License-Identifier: BSD-2-Clause */
#include "nccl_call.h"

#include <signal.h>

#include "names.h"
#include "nccl_comm.h"

#define QUESTIONS_TICKS (100 * thread_silence_ticks) /* 10 ms: what one record of many questions spans at most */

static uint32_t names_written;

static void write_names(struct thread *t)
{
	if (__atomic_exchange_n(&names_written, 1, __ATOMIC_ACQ_REL))
		return;
	for (uint32_t i = 0; i < NCCL_COUNT; i++)
		names_write(&t->ring, GST_SPACE_NCCL, i, nccl_hooks[i].name);
}

/* The frame of the call that the thread is in, if it is in any. One that lies below the present one, in the same stack, or where the present
 * one is, is gone: by longjmp or an exception (as in call.c). */
static __thread uintptr_t outermost;

static bool was_left(const struct nccl_call *now)
{
	stack_t other = { .ss_flags = 0 };

	return nccl_inside && (uintptr_t)(now + 1) > outermost && sigaltstack(NULL, &other) == 0 &&
	       !(other.ss_flags & SS_ONSTACK);
}

void nccl_enter(struct nccl_call *c, struct nccl_copy *copy, enum nccl_id id, enum gst_nccl_kind kind, ncclComm_t comm)
{
	struct thread *t;

	c->thread = NULL;
	c->copy = copy;
	c->outer = was_left(c) ? NULL : nccl_inside;
	if (!c->outer)
		outermost = (uintptr_t)c;
	nccl_inside = copy;
	if (c->outer || !(t = thread_self()))
		return;
	if (__builtin_expect(!__atomic_load_n(&names_written, __ATOMIC_RELAXED), 0))
		write_names(t);
	c->thread = t;
	c->group = &t->nccl_groups[copy->index];
	c->comm = comm ? nccl_comm_find(t, comm) : NULL;
	c->where = NULL;
	c->record = (struct gst_nccl){ .comm = c->comm ? c->comm->id : 0,
				       .hook = (uint16_t)id,
				       .kind = (uint8_t)kind,
				       .stream = GST_NONE,
				       .group = c->group->id,
				       .peer = -1,
				       .op = 0xffff,
				       .datatype = 0xff,
				       .count = kind == GST_NCCL_QUERY,
				       .begin = clock_ticks() };
}

void nccl_returned(struct nccl_call *c, ncclResult_t rc)
{
	if (!c->thread)
		return;
	c->record.end = clock_ticks();
	c->record.result = (int32_t)rc;
}

/* ---- questions in a loop -------------------------------------------------------------------------------------------- */

/* A program that waits for a non-blocking communicator asks for its state as fast as it can: one record stands for many answers. */
static bool still_busy(const struct nccl_call *c)
{
	return c->record.hook == NCCL_ncclCommGetAsyncError && c->record.result == ncclSuccess &&
	       c->record.peer == ncclInProgress;
}

static void write_waiting(struct thread *t)
{
	if (!t->nccl_waiting.count)
		return;
	thread_append(t, GST_NCCL, sizeof(t->nccl_waiting), &t->nccl_waiting);
	t->nccl_waiting.count = 0;
}

/* False: the call needs a record of its own. */
static bool put_off(struct nccl_call *c)
{
	struct gst_nccl *w = &c->thread->nccl_waiting;

	if (!still_busy(c))
		return false;
	if (w->count && (w->comm != c->record.comm || c->record.end - w->begin > QUESTIONS_TICKS))
		write_waiting(c->thread);
	if (w->count) {
		w->count++;
		w->end = c->record.end;
	} else {
		*w = c->record;
	}
	return true;
}

void nccl_exit(struct nccl_call *c)
{
	struct thread *t = c->thread;

	nccl_inside = c->outer;
	if (!t || put_off(c))
		return;
	write_waiting(t);
	thread_append(t, GST_NCCL, sizeof(c->record), &c->record);
}

void nccl_thread_ended(struct thread *t)
{
	write_waiting(t);
}

void nccl_forget(void)
{
	names_written = 0;
	nccl_copies_forget();
	nccl_comms_forget();
}
