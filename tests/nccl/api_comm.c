/* SPDX-License-Identifier: BSD-2-Clause */
/* api_comm.c: the calls that make, ask and end communicators. */
#include "api.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { VERSION = 22809 };

_Static_assert(sizeof(struct rendezvous) == sizeof(ncclUniqueId), "a unique id holds where to meet");

API(ncclResult_t, ncclGetVersion, (int *version))
{
	struct log_call call = log_begin("ncclGetVersion", NULL);

	if (!version)
		return log_end(&call, ncclInvalidArgument);
	*version = VERSION;
	return log_end(&call, ncclSuccess);
}

API(ncclResult_t, ncclGetUniqueId, (ncclUniqueId * id))
{
	struct log_call call = log_begin("ncclGetUniqueId", NULL);
	struct rendezvous made;

	if (!id)
		return log_end(&call, ncclInvalidArgument);
	rendezvous_new(&made);
	memcpy(id, &made, sizeof(made));
	return log_end(&call, ncclSuccess);
}

API(const char *, ncclGetErrorString, (ncclResult_t result))
{
	static const char *const texts[ncclNumResults] = {
		"no error",
		"unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
		"unhandled system error (run with NCCL_DEBUG=INFO for details)",
		"internal error - please report this issue to the NCCL developers",
		"invalid argument (run with NCCL_DEBUG=WARN for details)",
		"invalid usage (run with NCCL_DEBUG=WARN for details)",
		"remote process exited or there was a network error",
		"NCCL operation in progress",
		"NCCL operation timed out",
	};
	struct log_call call = log_begin("ncclGetErrorString", NULL);

	log_end(&call, ncclSuccess);
	return (unsigned)result < ncclNumResults ? texts[result] : "unknown result code";
}

API(const char *, ncclGetLastError, (ncclComm_t comm))
{
	struct log_call call = log_begin("ncclGetLastError", comm);

	log_end(&call, ncclSuccess);
	return comm_last_error(comm);
}

API(void, ncclResetDebugInit, (void))
{
	struct log_call call = log_begin("ncclResetDebugInit", NULL);

	log_end(&call, ncclSuccess);
}

/* ---- making ---------------------------------------------------------------------------------------------- */

static ncclResult_t init_in(CUcontext context, ncclComm_t *comm, int nranks, const ncclUniqueId *id, int rank,
			    const ncclConfig_t *config)
{
	struct job job = { .run = job_join, .made = comm, .context = context };
	ncclResult_t result;

	memcpy(&job.id, id, sizeof(job.id));
	if (strcmp(job.id.magic, "STANDIN"))
		return comm_failed(NULL, ncclInvalidArgument, "the unique id is not from ncclGetUniqueId");
	job.comm = comm_new(nranks, rank, config);
	if (!job.comm)
		return ncclSystemError;
	job.comm->hash = rendezvous_hash(&job.id);
	*comm = job.comm;
	result = group_add_job(&job);
	return result;
}

/* Whose hash the log is to have: that of the communicator that is being made. */
static void log_made(struct log_call *call, const ncclUniqueId *id, int rank, int nranks)
{
	struct rendezvous place;

	memcpy(&place, id, sizeof(place));
	call->hash = rendezvous_hash(&place);
	call->rank = rank;
	call->nranks = nranks;
}

static ncclResult_t init(const char *name, ncclComm_t *comm, int nranks, const ncclUniqueId *id, int rank,
			 const ncclConfig_t *config)
{
	struct log_call call = log_begin(name, NULL);
	ncclResult_t result = ncclInvalidArgument;
	CUcontext context;

	if (comm && id && nranks > 0 && rank >= 0 && rank < nranks &&
	    (!config || config->magic == (unsigned)NCCL_CONFIG_MAGIC)) {
		log_made(&call, id, rank, nranks);
		result = driver_context(&context);
		if (!result)
			result = init_in(context, comm, nranks, id, rank, config);
	}
	if (result && result != ncclInProgress)
		group_error(result);
	return log_end(&call, result);
}

API(ncclResult_t, ncclCommInitRank, (ncclComm_t * comm, int nranks, ncclUniqueId id, int rank))
{
	return init("ncclCommInitRank", comm, nranks, &id, rank, NULL);
}

API(ncclResult_t, ncclCommInitRankConfig,
    (ncclComm_t * comm, int nranks, ncclUniqueId id, int rank, ncclConfig_t *config))
{
	return init("ncclCommInitRankConfig", comm, nranks, &id, rank, config);
}

/* Any of the ids would do to meet at: the first. */
API(ncclResult_t, ncclCommInitRankScalable,
    (ncclComm_t * comm, int nranks, int rank, int nids, ncclUniqueId *ids, ncclConfig_t *config))
{
	return init("ncclCommInitRankScalable", comm, nranks, nids > 0 && nids <= nranks ? ids : NULL, rank, config);
}

static ncclResult_t init_all(ncclComm_t *comms, int ndev, const int *devices)
{
	CUcontext context, before;
	ncclUniqueId id;
	ncclResult_t result, ended;

	if (!comms || ndev <= 0)
		return ncclInvalidArgument;
	result = driver_context(&before);
	if (!result)
		result = ncclGetUniqueId(&id);
	if (result)
		return result;
	group_begin();
	for (int i = 0; i < ndev && !result; i++) {
		result = ncclInvalidArgument;
		if (!driver.cuDevicePrimaryCtxRetain(&context, devices ? devices[i] : i))
			result = init_in(context, &comms[i], ndev, &id, i, NULL);
	}
	group_error(result);
	ended = group_end();
	driver.cuCtxSetCurrent(before);
	return ended;
}

API(ncclResult_t, ncclCommInitAll, (ncclComm_t * comms, int ndev, const int *devices))
{
	struct log_call call = log_begin("ncclCommInitAll", NULL);

	return log_end(&call, init_all(comms, ndev, devices));
}

/* ---- new ones of old ones -------------------------------------------------------------------------------- */

static ncclResult_t derive(struct job *job, const ncclConfig_t *config)
{
	if (config && config->magic != (unsigned)NCCL_CONFIG_MAGIC)
		return ncclInvalidArgument;
	*job->made = NULL;
	if (job->run == job_split && job->color == NCCL_SPLIT_NOCOLOR)
		return group_add_job(job);
	job->comm = comm_new(0, 0, config);
	if (!job->comm)
		return ncclSystemError;
	if (!config || config->blocking == NCCL_CONFIG_UNDEF_INT)
		job->comm->blocking = job->parent->blocking;
	*job->made = job->comm;
	return group_add_job(job);
}

API(ncclResult_t, ncclCommSplit, (ncclComm_t comm, int color, int key, ncclComm_t *newcomm, ncclConfig_t *config))
{
	struct log_call call = log_begin("ncclCommSplit", comm);
	ncclResult_t result = comm_check(comm);

	if (!result && (!newcomm || color < NCCL_SPLIT_NOCOLOR))
		result = ncclInvalidArgument;
	if (!result)
		result = derive(&(struct job){ .run = job_split,
					       .parent = comm,
					       .made = newcomm,
					       .context = comm->context,
					       .color = color,
					       .key = key },
				config);
	return log_end(&call, result);
}

static ncclResult_t shrink(ncclComm_t comm, const int *exclude, int count, ncclComm_t *newcomm,
			   const ncclConfig_t *config, int flags)
{
	struct job job = { .run = job_shrink,
			   .parent = comm,
			   .made = newcomm,
			   .context = comm->context,
			   .excluded_count = count,
			   .flags = flags };

	if (!newcomm || !exclude || count <= 0 || count >= comm->nranks || flags & ~NCCL_SHRINK_ABORT)
		return ncclInvalidArgument;
	for (int i = 0; i < count; i++)
		if (exclude[i] < 0 || exclude[i] >= comm->nranks || exclude[i] == comm->rank)
			return ncclInvalidArgument;
	job.excluded = malloc((size_t)count * sizeof(int)); /* the group's */
	if (!job.excluded)
		return ncclSystemError;
	memcpy(job.excluded, exclude, (size_t)count * sizeof(int));
	return derive(&job, config);
}

API(ncclResult_t, ncclCommShrink,
    (ncclComm_t comm, int *exclude, int count, ncclComm_t *newcomm, ncclConfig_t *config, int flags))
{
	struct log_call call = log_begin("ncclCommShrink", comm);
	ncclResult_t result = comm_check(comm);

	return log_end(&call, result ? result : shrink(comm, exclude, count, newcomm, config, flags));
}

/* 2.32: the id that new ranks need follows from the communicator and how many were made of it, so all old ranks know it. */
API(ncclResult_t, ncclCommGetUniqueId, (ncclComm_t comm, ncclUniqueId *id))
{
	struct log_call call = log_begin("ncclCommGetUniqueId", comm);
	ncclResult_t result = comm_check(comm);
	struct rendezvous next;

	if (!result && !id)
		result = ncclInvalidArgument;
	if (!result) {
		rendezvous_derive(&next, &comm->id, comm->children + 1, 1ull << 41);
		memcpy(id, &next, sizeof(next));
	}
	return log_end(&call, result);
}

API(ncclResult_t, ncclCommGrow,
    (ncclComm_t comm, int nranks, const ncclUniqueId *id, int rank, ncclComm_t *newcomm, ncclConfig_t *config))
{
	struct log_call call = log_begin("ncclCommGrow", comm);
	ncclResult_t result = comm ? comm_check(comm) : ncclSuccess;
	struct rendezvous next;
	ncclUniqueId same;
	CUcontext context = NULL;

	if (!result && (!newcomm || (comm ? nranks <= comm->nranks || rank != -1 : !id || rank < 0 || rank >= nranks)))
		result = ncclInvalidArgument;
	if (!result)
		result = driver_context(&context);
	if (!result && comm) {
		rendezvous_derive(&next, &comm->id, ++comm->children, 1ull << 41);
		memcpy(&same, &next, sizeof(same));
	}
	if (!result)
		result = init_in(comm ? comm->context : context, newcomm, nranks, comm ? &same : id,
				 comm ? comm->rank : rank, config);
	return log_end(&call, result);
}

/* ---- asking ---------------------------------------------------------------------------------------------- */

static ncclResult_t ask(const char *name, const struct ncclComm *comm, int *to, int (*of)(const struct ncclComm *comm))
{
	struct log_call call = log_begin(name, comm);
	ncclResult_t result = comm_check(comm);

	if (!result && !to)
		result = ncclInvalidArgument;
	if (!result)
		*to = of(comm);
	return log_end(&call, result);
}

static int count_of(const struct ncclComm *comm)
{
	return comm->nranks;
}

static int rank_of(const struct ncclComm *comm)
{
	return comm->rank;
}

static int device_of(const struct ncclComm *comm)
{
	return comm->device;
}

API(ncclResult_t, ncclCommCount, (const ncclComm_t comm, int *count))
{
	return ask("ncclCommCount", comm, count, count_of);
}

API(ncclResult_t, ncclCommUserRank, (const ncclComm_t comm, int *rank))
{
	return ask("ncclCommUserRank", comm, rank, rank_of);
}

API(ncclResult_t, ncclCommCuDevice, (const ncclComm_t comm, int *device))
{
	return ask("ncclCommCuDevice", comm, device, device_of);
}

API(ncclResult_t, ncclCommGetAsyncError, (ncclComm_t comm, ncclResult_t *error))
{
	struct log_call call = log_begin("ncclCommGetAsyncError", comm);

	if (!comm || comm->magic != COMM_MAGIC || !error)
		return log_end(&call, ncclInvalidArgument);
	*error = (ncclResult_t)atomic_load(&comm->state);
	return log_end(&call, ncclSuccess);
}

/* ---- ending ---------------------------------------------------------------------------------------------- */

API(ncclResult_t, ncclCommFinalize, (ncclComm_t comm))
{
	struct log_call call = log_begin("ncclCommFinalize", comm);
	ncclResult_t result = comm_check(comm);

	if (!result && (comm->finalized || comm->revoked))
		result = comm_failed(comm, ncclInvalidUsage, "finalized or revoked before");
	if (!result) {
		comm->finalized = true;
		result = group_add_job(&(struct job){ .run = job_finalize, .comm = comm, .context = comm->context });
	}
	return log_end(&call, result);
}

static void wait_for_threads(struct ncclComm *comm)
{
	const struct timespec a_while = { 0, 100000 };

	while (atomic_load(&comm->busy))
		nanosleep(&a_while, NULL);
}

API(ncclResult_t, ncclCommDestroy, (ncclComm_t comm))
{
	struct log_call call = log_begin("ncclCommDestroy", comm);

	if (!comm)
		return log_end(&call, ncclSuccess);
	if (comm->magic != COMM_MAGIC)
		return log_end(&call, ncclInvalidArgument);
	wait_for_threads(comm);
	comm_wait(comm);
	comm_close(comm);
	return log_end(&call, ncclSuccess);
}

static void give_kernels_time_to_end(struct ncclComm *comm)
{
	const struct timespec a_while = { 0, 100000 };

	/* One may stand in its stream behind something that never ends. */
	for (unsigned i = 0; i < 1000 && atomic_load(&comm->ended) < atomic_load(&comm->issued); i++)
		nanosleep(&a_while, NULL);
}

API(ncclResult_t, ncclCommAbort, (ncclComm_t comm))
{
	struct log_call call = log_begin("ncclCommAbort", comm);

	if (!comm)
		return log_end(&call, ncclSuccess);
	if (comm->magic != COMM_MAGIC)
		return log_end(&call, ncclInvalidArgument);
	atomic_store(&comm->aborted, true);
	wait_for_threads(comm);
	give_kernels_time_to_end(comm);
	comm_close(comm);
	return log_end(&call, ncclSuccess);
}

API(ncclResult_t, ncclCommRevoke, (ncclComm_t comm, int flags))
{
	struct log_call call = log_begin("ncclCommRevoke", comm);
	ncclResult_t result = comm_check(comm);

	if (!result && (flags || comm->revoked))
		result = flags ? ncclInvalidArgument : ncclInvalidUsage;
	if (!result) {
		atomic_store(&comm->revoked, true);
		give_kernels_time_to_end(comm);
	}
	return log_end(&call, result);
}
