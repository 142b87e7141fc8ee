/* SPDX-License-Identifier: BSD-2-Clause */
/* nccl_call.h: one call of NCCL by the program, from entry to its record. No lock, no allocation, no system call on the way of a
 * collective. Our depth here is apart from the driver's: what NCCL asks the driver for inside is recorded as ever. */
#pragma once

#include "nccl_copy.h"
#include "thread.h"

_Static_assert(NCCL_GROUPS == NCCL_COPIES + 1, "a group for each copy, and for none");

struct nccl_comm;

struct nccl_call {
	struct thread *thread; /* NULL: not recorded (off, or libnccl's own call inside another) */
	struct nccl_copy *copy;
	struct nccl_copy *outer;  /* what the thread was inside of before */
	struct nccl_comm *comm;   /* NULL: none, or not known */
	struct nccl_group *group; /* the thread's, of this copy */
	ncclComm_t *where;        /* where the call puts a new communicator … */
	ncclComm_t there;         /* … and what stood there before */
	struct gst_nccl record;
};

void nccl_enter(struct nccl_call *c, struct nccl_copy *copy, enum nccl_id id, enum gst_nccl_kind kind, ncclComm_t comm);
void nccl_returned(struct nccl_call *c, ncclResult_t rc);
void nccl_exit(struct nccl_call *c);

static inline bool nccl_succeeded(const struct nccl_call *c)
{
	return c->thread && (c->record.result == ncclSuccess || c->record.result == ncclInProgress);
}

/* The thread ends: writes what it had put off. */
void nccl_thread_ended(struct thread *t);

/* After fork, in the child. */
void nccl_forget(void);
