/* SPDX-License-Identifier: BSD-2-Clause */
/* nccl_capture.h: what the rows of nccl_hooks.def note of a call's arguments. Each sees the call as c; those named `before` run
 * before libnccl is entered, the others when it has returned. Of a call that is not recorded they do nothing. */
#pragma once

#include "nccl_call.h"

/* before */
void data(struct nccl_call *c, size_t count, int type, int op, int peer);
void amount(struct nccl_call *c, size_t bytes);
void comm_made_by(struct nccl_call *c, ncclComm_t *where);
void comm_ends(struct nccl_call *c);
void group_leave(struct nccl_call *c);

/* after: work put into a stream: as one of all ranks, to or from one rank, otherwise */
void collective(struct nccl_call *c, CUstream stream);
void message(struct nccl_call *c, CUstream stream);
void enqueued(struct nccl_call *c, CUstream stream);

/* after: communicators (nccl_capture_comm.c) */
void comm_init(struct nccl_call *c, int nranks, const ncclUniqueId *ids, int n, int rank, const ncclConfig_t *config);
void comm_init_all(struct nccl_call *c, const ncclComm_t *comms, int n, const int *devices);
void comm_split(struct nccl_call *c, int color, const ncclConfig_t *config);
void comm_shrink(struct nccl_call *c, const int *exclude, int n, const ncclConfig_t *config);
void comm_grow(struct nccl_call *c, int nranks, const ncclUniqueId *id, int rank, const ncclConfig_t *config);
void comm_ended(struct nccl_call *c);
void comm_asked(struct nccl_call *c, const ncclResult_t *answer);

/* after: groups */
void group_start(struct nccl_call *c);
void group_left(struct nccl_call *c);
