/* SPDX-License-Identifier: BSD-2-Clause */
/* nccl_copy.h: which copy of libnccl a call is for. A process may hold several: a wheel's, one bundled with another package, each
 * loaded for its own users alone. A call leads where it would have led without us. */
#pragma once

#include <stdbool.h>

#include "nccl_hooks.h"

struct nccl_route {
	struct nccl_copy *copy; /* never NULL */
	bool itself;            /* not to be recorded: libnccl calls itself, or there are too many copies */
};

/* For our exported functions: the copy in the scope of the caller (a return address); of several, the one that made `comm`. */
struct nccl_route nccl_route(ncclComm_t comm, const void *caller);
/* The same for the calls that have no communicator and yet are made as often as collectives. */
struct nccl_route nccl_route_group(const void *caller);

/* For dlsym: ours, bound to the copy that p belongs to; p itself if there are too many. */
void *nccl_bind(void *p, enum nccl_id id);

/* NCCL_COUNT: none of ours. */
enum nccl_id nccl_id_of(const char *name);

/* What dlsym(RTLD_DEFAULT) of this caller finds besides us; NULL nothing. */
void *nccl_find_default(enum nccl_id id, const void *caller);

/* The copy that the calling thread is inside of, by a call of ours; NULL none. */
extern __thread struct nccl_copy *nccl_inside;

extern struct nccl_copy nccl_copies[NCCL_COPIES];

void nccl_copies_forget(void);
