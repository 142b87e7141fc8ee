/* SPDX-License-Identifier: BSD-2-Clause */
/* nccl_library.h: a library that only says yes, the calls of a program to it, and the records of them, read where they were written: in the
 * thread's own segment. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/file.h"
#include "shim/nccl_call.h"
#include "shim/nccl_comm.h"
#include "shim/process.h"
#include "shim/settings.h"

/* ---- a library ------------------------------------------------------------------------------------------------------ */

static ncclResult_t answer = ncclSuccess; /* of whatever is asked */
static ncclResult_t state = ncclSuccess;  /* of a communicator, as ncclCommGetAsyncError says it */
static ncclComm_t next;                   /* the communicator that is handed out */
static bool late;                         /* … at the end of the group only */
static ncclComm_t *owed;
static unsigned questions;

static inline ncclResult_t yes(void)
{
	return answer;
}

static inline ncclResult_t give(ncclComm_t *where)
{
	if (answer != ncclSuccess && answer != ncclInProgress)
		return answer;
	if (late)
		owed = where;
	else
		*where = next;
	return answer;
}

static inline ncclResult_t init_rank(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank)
{
	(void)nranks, (void)id, (void)rank;
	return give(comm);
}

static inline ncclResult_t init_config(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank, ncclConfig_t *config)
{
	(void)nranks, (void)id, (void)rank, (void)config;
	return give(comm);
}

static inline ncclResult_t split(ncclComm_t comm, int color, int key, ncclComm_t *newcomm, ncclConfig_t *config)
{
	(void)comm, (void)key, (void)config;
	if (color == NCCL_SPLIT_NOCOLOR)
		*newcomm = NULL;
	return color == NCCL_SPLIT_NOCOLOR ? answer : give(newcomm);
}

static inline ncclResult_t shrink(ncclComm_t comm, int *exclude, int count, ncclComm_t *newcomm, ncclConfig_t *config,
			   int flags)
{
	(void)comm, (void)exclude, (void)count, (void)config, (void)flags;
	return give(newcomm);
}

static inline ncclResult_t grow(ncclComm_t comm, int nranks, const ncclUniqueId *id, int rank, ncclComm_t *newcomm,
			 ncclConfig_t *config)
{
	(void)comm, (void)nranks, (void)id, (void)rank, (void)config;
	return give(newcomm);
}

static inline ncclResult_t group_end(void)
{
	if (owed)
		*owed = next;
	owed = NULL;
	return answer;
}

static inline ncclResult_t async_error(ncclComm_t comm, ncclResult_t *error)
{
	(void)comm;
	*error = state;
	return ncclSuccess;
}

static inline ncclResult_t number(ncclComm_t comm, int *value)
{
	(void)comm;
	questions++;
	*value = 3;
	return ncclSuccess;
}

static inline ncclResult_t version(int *value)
{
	*value = 22809;
	return ncclSuccess;
}

/* ---- what was recorded ---------------------------------------------------------------------------------------------- */

static uint32_t seen; /* bytes of the segment looked at so far */

/* The next record of this type; NULL none. */
static const void *next_record(uint16_t type)
{
	struct ring *r = &thread_self()->ring;

	while (seen < r->at) {
		const struct gst_record *h = (const void *)(r->segment + seen);

		seen += h->size;
		assert_true(h->size && h->commit == GST_COMMIT);
		if (h->type == type)
			return h;
	}
	return NULL;
}

/* The next call of the program. */
static inline const struct gst_nccl *next_call(void)
{
	const struct gst_nccl *r;

	do
		r = next_record(GST_NCCL);
	while (r && (r->flags & GST_NCCL_OURS));
	return r;
}

static inline void look_from_here(void)
{
	seen = thread_self()->ring.at;
}

/* As a program calls it. */
#define CALL(sym, ...) (((__typeof__(&sym))nccl_hooks[NCCL_##sym].bound[0])(__VA_ARGS__))

static inline ncclComm_t handle(uintptr_t n)
{
	return (ncclComm_t)(n << 12);
}

static inline const struct gst_comm *made(ncclComm_t comm)
{
	struct nccl_comm *m = nccl_comm_find(NULL, comm);

	return m ? &m->record : NULL;
}

static inline ncclUniqueId id_of(int n)
{
	ncclUniqueId id = { { 0 } };

	snprintf(id.internal, sizeof(id.internal), "id %d", n);
	return id;
}

static inline ncclComm_t new_comm(uintptr_t n, int size, int rank)
{
	ncclComm_t comm = NULL;

	next = handle(n);
	assert_int_equal(CALL(ncclCommInitRank, &comm, size, id_of((int)n), rank), ncclSuccess);
	assert_ptr_equal(comm, handle(n));
	return comm;
}

static const CUstream stream = (CUstream)0x5000;

static inline void all_reduce(ncclComm_t comm)
{
	CALL(ncclAllReduce, NULL, NULL, 10, ncclFloat32, ncclSum, comm, stream);
}

static char directory[128];

static inline int set_up(void **unused)
{
	(void)unused;
	snprintf(directory, sizeof(directory), "%s/gpushim-nccl-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	assert_non_null(mkdtemp(directory));
	snprintf(settings.out, sizeof(settings.out), "%s/out", directory);
	for (unsigned i = 0; i < NCCL_COUNT; i++)
		nccl_copies[0].at[i] = (void *)yes;
	nccl_copies[0].real.ncclGetVersion = version;
	nccl_copies[0].real.ncclCommInitRank = init_rank;
	nccl_copies[0].real.ncclCommInitRankConfig = init_config;
	nccl_copies[0].real.ncclCommSplit = split;
	nccl_copies[0].real.ncclCommShrink = shrink;
	nccl_copies[0].real.ncclCommGrow = grow;
	nccl_copies[0].real.ncclGroupEnd = group_end;
	nccl_copies[0].real.ncclCommGetAsyncError = async_error;
	nccl_copies[0].real.ncclCommUserRank = number;
	nccl_copies[0].real.ncclCommCount = number;
	nccl_copies[0].real.ncclCommCuDevice = number;
	assert_non_null(thread_self());
	return 0;
}

static inline int tear_down(void **unused)
{
	char command[256];

	(void)unused;
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command);
}

static inline int fresh(void **unused)
{
	(void)unused;
	answer = state = ncclSuccess;
	late = false;
	owed = NULL;
	nccl_comms_forget();
	thread_self()->last_comm = NULL;
	look_from_here();
	return 0;
}

#define NCCL_TEST(name) cmocka_unit_test_setup(name, fresh)
