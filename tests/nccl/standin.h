/* SPDX-License-Identifier: BSD-2-Clause */
/* standin.h: what the files of the stand-in share: communicators, the work that a group collects, what a kernel of ours does.
 *
 *     api_*.c ──> group.c ──> plans, one kernel for each communicator ──> exchange.c on the simulated device ──> segment.c
 *                 comm.c: communicators and how their ranks find each other (segment.c)                                      */
#pragma once

#include "driver.h"
#include "segment.h"

#include <stdatomic.h>
#include <stdint.h>

enum function { /* the reducing ones first, as kernel_name counts them */
	FUNCTION_REDUCE,
	FUNCTION_ALL_REDUCE,
	FUNCTION_REDUCE_SCATTER,
	FUNCTION_ALL_GATHER,
	FUNCTION_BROADCAST,
	FUNCTION_ALL_TO_ALL,
	FUNCTION_GATHER,
	FUNCTION_SCATTER,
	FUNCTION_SEND,
	FUNCTION_RECV,
	FUNCTION_GENERIC
};

enum { MAX_OPS = 64, ERROR_BYTES = 160 };
#define COMM_MAGIC 0x6d6d6f636c63636eull

/* A scalar to multiply with first: the value itself, or where the device finds it. */
struct premultiply {
	bool used, on_device;
	const void *where;
	unsigned char value[8];
};

/* Never freed, since a graph may hold a kernel of it: one that is destroyed only loses its magic number. */
struct ncclComm {
	uint64_t magic;
	_Atomic uint64_t hash; /* this and the next two: while it is made another thread may ask for its state */
	_Atomic int rank, nranks;
	int device;
	CUcontext context;
	struct segment segment;
	struct rendezvous id;
	bool blocking;
	bool finalized, suspended, captured;
	_Atomic int state;             /* ncclSuccess, ncclInProgress or what went wrong */
	_Atomic bool aborted, revoked; /* kernels end at once */
	_Atomic unsigned busy;         /* threads of ours that work on it */
	_Atomic uint64_t issued, ended; /* kernels, but for those of graphs */
	uint64_t sequence;             /* collectives so far */
	uint64_t children;             /* splits, shrinks and growths so far */
	CUstream last_stream;
	bool has_last_stream;
	struct premultiply ops[MAX_OPS];
	char error[ERROR_BYTES];
};

/* One call: what a rank gives and takes. */
struct item {
	enum function function;
	const void *send;
	void *recv;
	size_t count;
	ncclDataType_t type;
	ncclRedOp_t op;
	int peer; /* or root */
	struct premultiply by; /* of the op, which may be destroyed once the call has returned */
};

/* What one kernel does. */
struct plan {
	struct ncclComm *comm;
	uint64_t transfer_ns;
	size_t data_limit; /* bytes of each message that are really moved */
	bool persistent;   /* of a graph: runs more than once */
	unsigned count;
	struct item items[];
};

/* exchange.c */
struct kernel_body_call;
uint64_t exchange_body(struct kernel_body_call *call);
uint64_t exchange_transfer_ns(const struct item *items, unsigned count, int nranks);

/* reduce.c */
size_t type_bytes(ncclDataType_t type);
void reduce(void *to, const void *const *from, int ranks, size_t count, ncclDataType_t type, ncclRedOp_t op);
void premultiply(void *to, const void *from, const void *scalar, size_t count, ncclDataType_t type);

/* comm.c. comm_check: whether calls on it may go on. */
ncclResult_t comm_check(const struct ncclComm *comm);
ncclResult_t comm_failed(struct ncclComm *comm, ncclResult_t result, const char *what);
const char *comm_last_error(const struct ncclComm *comm);
struct ncclComm *comm_new(int nranks, int rank, const ncclConfig_t *config);
ncclResult_t comm_wait(struct ncclComm *comm); /* until its kernels have ended */
void comm_close(struct ncclComm *comm);

/* Something that takes its time, of a group or alone. */
struct job {
	ncclResult_t (*run)(struct job *job);
	struct ncclComm *comm; /* the one that is made or worked on */
	struct ncclComm *parent;
	struct ncclComm **made; /* where the program wants it; NULL of a split without colour */
	CUcontext context;
	struct rendezvous id;
	int color, key;
	int *excluded, excluded_count, flags;
	struct job *next;
	ncclResult_t result;
};

ncclResult_t job_join(struct job *job);     /* a rank of a new communicator */
ncclResult_t job_split(struct job *job);
ncclResult_t job_shrink(struct job *job);
ncclResult_t job_finalize(struct job *job);

/* group.c */
struct group_place {
	uint64_t number; /* of the group, in this process; 0: in none */
	int depth;
};
struct group_place group_place(void);
void group_start(void);
void group_begin(void); /* one of the library's own: without a number */
ncclResult_t group_end(void);
ncclResult_t group_cancel(void);
ncclResult_t group_add_job(const struct job *job);
ncclResult_t group_add_item(struct ncclComm *comm, const struct item *item, CUstream stream);
void group_error(ncclResult_t result); /* is what its end will return */
