/* SPDX-License-Identifier: BSD-2-Clause */
/* nccl_comm.h: the communicators of the process: their numbers, and how much was done on each. Lock-free. */
#pragma once

#include "nccl_call.h"

enum nccl_comm_state {
	NCCL_COMM_FREE,
	NCCL_COMM_CLAIMED,
	NCCL_COMM_LIVE,
	NCCL_COMM_PENDING, /* made in a group, its handle known only at the group's end */
	NCCL_COMM_ENDING,  /* its end has been asked for: the handle may come back as another's at any moment */
	NCCL_COMM_DEAD,
};

struct nccl_comm {
	uint64_t handle;
	uint32_t state; /* enum nccl_comm_state */
	uint32_t id;
	struct nccl_copy *copy;
	uint32_t collectives;
	uint32_t splits, grows; /* made of it */
	uint32_t counted;       /* messages by peer, or shrinks by who was left out */
	uint32_t tid;           /* made it */
	bool in_group;          /* made in a group that has not ended */
	ncclComm_t *where;      /* of a pending one: where its handle will be, unless it is still `there` */
	ncclComm_t there;
	struct gst_comm record;
	char name[64];
};

/* NULL: not known. */
struct nccl_comm *nccl_comm_find(struct thread *t, ncclComm_t handle);

/* … and the copy of libnccl that made it. */
struct nccl_copy *nccl_comm_copy(ncclComm_t handle);

/* A place for a new one, made by this call; NULL: none left (counted). To be filled and then published or left pending. A pending
 * one has the address of the place that will hold its handle for a handle. */
struct nccl_comm *nccl_comm_new(struct nccl_call *c, uint64_t handle);
/* From now on it is found by its handle. */
void nccl_comm_publish(struct thread *t, struct nccl_comm *m);
/* Its handle will be in *where when the group has ended, where `there` is now. */
void nccl_comm_pend(struct nccl_comm *m, ncclComm_t *where, ncclComm_t there);

/* Asks libnccl for what is not known yet of a communicator that is ready. */
void nccl_comm_ask(struct thread *t, struct nccl_comm *m);

/* A group has ended: what was made in it has its handle now and, but for non-blocking ones, is ready. */
void nccl_comms_settle(struct nccl_call *c);

/* The number of this collective, message; 0: the communicator has ended meanwhile, or there is no room to count. */
uint32_t nccl_comm_collective(struct nccl_comm *m, uint32_t id);
uint32_t nccl_comm_message(struct nccl_comm *m, uint32_t id, uint8_t kind, int32_t peer);
/* … of this shrink among those that left out the same ranks (nccl_hash_ranks). */
uint32_t nccl_comm_shrink(struct nccl_comm *m, uint32_t id, uint64_t left_out);

/* Takes the handle out of use, for good or back. */
void nccl_comm_end(struct nccl_comm *m);
void nccl_comm_ended(struct nccl_comm *m, uint32_t id, bool really);

void nccl_comms_forget(void);
