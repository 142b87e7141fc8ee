/* SPDX-License-Identifier: BSD-2-Clause */
/* comm.c: communicators: how their ranks meet, and how new ones are made of old ones. */
#include "standin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static __thread char last_error[ERROR_BYTES];

ncclResult_t comm_failed(struct ncclComm *comm, ncclResult_t result, const char *what)
{
	snprintf(last_error, sizeof(last_error), "%s", what);
	if (comm)
		snprintf(comm->error, sizeof(comm->error), "%s", what);
	return result;
}

const char *comm_last_error(const struct ncclComm *comm)
{
	return comm ? comm->error : last_error;
}

ncclResult_t comm_check(const struct ncclComm *comm)
{
	ncclResult_t state;

	if (!comm || comm->magic != COMM_MAGIC)
		return comm_failed(NULL, ncclInvalidArgument, "not a communicator");
	state = (ncclResult_t)atomic_load(&comm->state);
	if (state == ncclInProgress)
		return comm_failed(NULL, ncclInvalidArgument,
				   "the call before on this communicator is still in progress");
	return state;
}

struct ncclComm *comm_new(int nranks, int rank, const ncclConfig_t *config)
{
	struct ncclComm *comm = calloc(1, sizeof(*comm));

	if (!comm)
		return NULL;
	comm->magic = COMM_MAGIC;
	comm->nranks = nranks;
	comm->rank = rank;
	comm->blocking = !config || config->blocking != 0;
	atomic_store(&comm->state, ncclInProgress);
	return comm;
}

/* ---- waiting --------------------------------------------------------------------------------------------- */

static void nap(void)
{
	const struct timespec a_while = { 0, 100000 };

	nanosleep(&a_while, NULL);
}

ncclResult_t comm_wait(struct ncclComm *comm)
{
	while (atomic_load(&comm->ended) < atomic_load(&comm->issued) && !atomic_load(&comm->aborted))
		nap();
	return ncclSuccess;
}

/* Kernels of a graph may still come, and those behind something in their stream: the mapping stays for them. */
void comm_close(struct ncclComm *comm)
{
	comm->magic = 0;
	if (!comm->captured && atomic_load(&comm->ended) == atomic_load(&comm->issued))
		segment_close(&comm->segment);
}

/* ---- meeting --------------------------------------------------------------------------------------------- */

static ncclResult_t refuse(struct ncclComm *comm, const char *what)
{
	atomic_store(&comm->segment.head->refused, 1);
	return comm_failed(comm, ncclInvalidUsage, what);
}

/* Takes this rank's place; the last one to come removes the file's name, which nobody needs any more. */
static ncclResult_t enter(struct ncclComm *comm)
{
	struct member *me = segment_member(&comm->segment, (unsigned)comm->rank);
	unsigned free_place = 0;
	CUuuid uuid;

	if (!atomic_compare_exchange_strong(&me->joined, &free_place, 1))
		return refuse(comm, "two ranks have the same number");
	if (driver.cuCtxGetDevice(&comm->device) || driver.cuDeviceGetUuid(&uuid, comm->device))
		return comm_failed(comm, ncclUnhandledCudaError, "the device does not answer");
	memcpy(me->uuid, uuid.bytes, sizeof(me->uuid));
	me->pid = getpid();
	me->device = comm->device;
	if (atomic_fetch_add(&comm->segment.head->present, 1) + 1 == (unsigned)comm->nranks)
		segment_unlink(&comm->id);
	while (atomic_load(&comm->segment.head->present) < (unsigned)comm->nranks) {
		if (atomic_load(&comm->segment.head->refused))
			return comm_failed(comm, ncclInvalidUsage, "another rank was refused");
		if (atomic_load(&comm->aborted))
			return comm_failed(comm, ncclInternalError, "aborted");
		nap();
	}
	for (int r = 0; r < comm->nranks; r++)
		if (r != comm->rank &&
		    !memcmp(segment_member(&comm->segment, (unsigned)r)->uuid, me->uuid, sizeof(me->uuid)))
			return refuse(comm, "two ranks are on the same device");
	return ncclSuccess;
}

ncclResult_t job_join(struct job *job)
{
	struct ncclComm *comm = job->comm;

	if (driver.cuCtxSetCurrent(job->context))
		return comm_failed(comm, ncclUnhandledCudaError, "the context is gone");
	comm->context = job->context;
	comm->id = job->id;
	comm->hash = rendezvous_hash(&job->id);
	if (!segment_open(&comm->segment, &job->id, (unsigned)comm->nranks))
		return comm_failed(comm, ncclSystemError,
				   "no file to meet in, or the ranks do not agree how many they are");
	return enter(comm);
}

/* ---- new ones of old ones -------------------------------------------------------------------------------- */

static struct offer *offer_of(const struct ncclComm *parent, int rank, uint64_t number)
{
	return &segment_member(&parent->segment, (unsigned)rank)->offers[number % 2];
}

/* This rank's place among those of its colour: by key, then by the old rank. */
static void place_in_color(const struct ncclComm *parent, uint64_t number, const struct job *job, int *rank,
			   int *nranks)
{
	*rank = *nranks = 0;
	for (int r = 0; r < parent->nranks; r++) {
		const struct offer *other = offer_of(parent, r, number);

		if (other->color != job->color)
			continue;
		++*nranks;
		if (other->key < job->key || (other->key == job->key && r < parent->rank))
			++*rank;
	}
}

ncclResult_t job_split(struct job *job)
{
	struct ncclComm *parent = job->parent;
	uint64_t number = ++parent->children;
	struct offer *mine = offer_of(parent, parent->rank, number);
	int rank, nranks;

	mine->color = job->color;
	mine->key = job->key;
	atomic_store(&mine->number, number);
	for (int r = 0; r < parent->nranks; r++)
		while (atomic_load(&offer_of(parent, r, number)->number) != number) {
			if (atomic_load(&parent->aborted))
				return comm_failed(job->comm, ncclInternalError, "aborted");
			nap();
		}
	if (job->color == NCCL_SPLIT_NOCOLOR)
		return ncclSuccess;
	place_in_color(parent, number, job, &rank, &nranks);
	job->comm->rank = rank;
	job->comm->nranks = nranks;
	rendezvous_derive(&job->id, &parent->id, number, (uint64_t)job->color);
	return job_join(job);
}

static bool excluded(const struct job *job, int rank)
{
	for (int i = 0; i < job->excluded_count; i++)
		if (job->excluded[i] == rank)
			return true;
	return false;
}

/* Without the excluded ranks' help: they may be dead. */
ncclResult_t job_shrink(struct job *job)
{
	struct ncclComm *parent = job->parent;
	uint64_t without = 0;

	if (job->flags & NCCL_SHRINK_ABORT) {
		atomic_store(&parent->revoked, true);
		comm_wait(parent);
	}
	job->comm->rank = job->comm->nranks = 0;
	for (int r = 0; r < parent->nranks; r++) {
		if (excluded(job, r)) {
			without = without * 131 + (uint64_t)r + 1;
			continue;
		}
		job->comm->rank += r < parent->rank;
		job->comm->nranks++;
	}
	rendezvous_derive(&job->id, &parent->id, ++parent->children, without + (1ull << 40));
	return job_join(job);
}

ncclResult_t job_finalize(struct job *job)
{
	return comm_wait(job->comm);
}
