/* SPDX-License-Identifier: BSD-2-Clause */
/* cases_lives.c: communicators that are split, shrunk, aborted, made in the background or refused. */
#include "client.h"

#include <pthread.h>
#include <unistd.h>

static float reduced(struct client *c, ncclComm_t comm, float value)
{
	CUstream stream = new_stream();
	float *number = numbers(1);

	*number = value;
	OK(c->nccl.ncclAllReduce(number, number, 1, ncclFloat32, ncclSum, comm, stream));
	CU(cuStreamSynchronize(stream));
	CU(cuStreamDestroy(stream));
	return *number;
}

static void place(struct client *c, const char *what, ncclComm_t comm)
{
	int rank, count;

	OK(c->nccl.ncclCommUserRank(comm, &rank));
	OK(c->nccl.ncclCommCount(comm, &count));
	printf("rank %d %s: %d of %d\n", c->rank, what, rank, count);
}

/* Two halves, each in reverse order, then one without the last rank. */
static void split(struct client *c)
{
	ncclComm_t comm = join(c, &c->nccl), half, most;

	OK(c->nccl.ncclCommSplit(comm, c->rank % 2, -c->rank, &half, NULL));
	place(c, "half", half);
	printf("rank %d sum of its half: %g\n", c->rank, (double)reduced(c, half, (float)c->rank));
	OK(c->nccl.ncclCommSplit(comm, c->rank == c->ranks - 1 ? NCCL_SPLIT_NOCOLOR : 7, 0, &most, NULL));
	if (most)
		printf("rank %d sum of most: %g\n", c->rank, (double)reduced(c, most, 1));
	printf("rank %d sum of all: %g\n", c->rank, (double)reduced(c, comm, 1));
	OK(c->nccl.ncclCommDestroy(half));
	if (most)
		OK(c->nccl.ncclCommDestroy(most));
	OK(c->nccl.ncclCommDestroy(comm));
}

/* The last rank leaves before the second reduction: the others give it up and go on without it. */
static void shrink(struct client *c)
{
	ncclComm_t comm = join(c, &c->nccl), rest;
	CUstream stream = new_stream();
	float *number = numbers(1);
	int gone = c->ranks - 1;

	printf("rank %d sum: %g\n", c->rank, (double)reduced(c, comm, 1));
	if (c->rank == gone)
		return;
	OK(c->nccl.ncclAllReduce(number, number, 1, ncclFloat32, ncclSum, comm, stream));
	usleep(50000);
	CHECK(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
	OK(c->nccl.ncclCommShrink(comm, &gone, 1, &rest, NULL, NCCL_SHRINK_ABORT));
	CU(cuStreamSynchronize(stream));
	place(c, "rest", rest);
	printf("rank %d sum of the rest: %g\n", c->rank, (double)reduced(c, rest, 1));
	OK(c->nccl.ncclCommAbort(comm));
	OK(c->nccl.ncclCommDestroy(rest));
}

struct watchdog {
	struct client *c;
	ncclComm_t comm;
};

static void *abort_soon(void *argument)
{
	struct watchdog *w = argument;

	usleep(50000);
	OK(w->c->nccl.ncclCommAbort(w->comm));
	return NULL;
}

/* The others never come: a thread that watches ends the wait. */
static void abort_it(struct client *c)
{
	struct watchdog w = { c, join(c, &c->nccl) };
	CUstream stream = new_stream();
	float *number = numbers(1);
	pthread_t thread;

	if (c->rank == 0) {
		OK(c->nccl.ncclAllReduce(number, number, 1, ncclFloat32, ncclSum, w.comm, stream));
		CHECK(0, pthread_create(&thread, NULL, abort_soon, &w));
		CU(cuStreamSynchronize(stream));
		pthread_join(thread, NULL);
	} else {
		OK(c->nccl.ncclCommAbort(w.comm));
	}
	printf("rank %d is back\n", c->rank);
}

static void settle(struct client *c, ncclComm_t comm, ncclResult_t result)
{
	while (result == ncclInProgress) {
		usleep(200);
		OK(c->nccl.ncclCommGetAsyncError(comm, &result));
	}
	OK(result);
}

static void nonblocking(struct client *c)
{
	ncclConfig_t config = {
		.size = sizeof(config), .magic = (unsigned)NCCL_CONFIG_MAGIC, .version = 22809, .blocking = 0
	};
	ncclUniqueId id = exchange_id(c, &c->nccl);
	CUstream stream = new_stream();
	float *number = numbers(1);
	ncclResult_t begun;
	ncclComm_t comm;

	begun = c->nccl.ncclCommInitRankConfig(&comm, c->ranks, id, c->rank, &config);
	CHECK(ncclInProgress, begun);
	settle(c, comm, begun);
	for (int step = 0; step < c->steps; step++) {
		*number = (float)step;
		OK(c->nccl.ncclGroupStart());
		OK(c->nccl.ncclAllReduce(number, number, 1, ncclFloat32, ncclSum, comm, stream));
		settle(c, comm, c->nccl.ncclGroupEnd());
		CU(cuStreamSynchronize(stream));
		printf("rank %d sum: %g\n", c->rank, (double)*number);
	}
	settle(c, comm, c->nccl.ncclCommFinalize(comm));
	OK(c->nccl.ncclCommDestroy(comm));
}

/* What is refused, and what that does to a group. */
static void errors(struct client *c)
{
	const struct nccl *n = &c->nccl;
	ncclComm_t comm = join(c, n);
	float *number = numbers(4);

	CHECK(ncclInvalidArgument, n->ncclAllReduce(number, number, 1, ncclFloat32, ncclSum, NULL, NULL));
	CHECK(ncclInvalidArgument, n->ncclAllReduce(number, number, 1, (ncclDataType_t)99, ncclSum, comm, NULL));
	CHECK(ncclInvalidArgument, n->ncclBroadcast(number, number, 1, ncclFloat32, c->ranks, comm, NULL));
	CHECK(ncclInvalidArgument, n->ncclReduce(number, number, 1, ncclFloat32, (ncclRedOp_t)9, 0, comm, NULL));
	CHECK(ncclInvalidUsage, n->ncclGroupEnd());
	OK(n->ncclGroupStart());
	OK(n->ncclAllReduce(number, number, 1, ncclFloat32, ncclSum, comm, NULL));
	CHECK(ncclInvalidArgument, n->ncclSend(number, 1, ncclFloat32, -1, comm, NULL));
	CHECK(ncclInvalidArgument, n->ncclGroupEnd());
	OK(n->ncclAllReduce(number, number, 0, ncclFloat32, ncclSum, comm, NULL)); /* nothing to do */
	CHECK(CUDA_SUCCESS, cuStreamQuery(NULL));
	puts(n->ncclGetErrorString(ncclInvalidArgument));
	printf("rank %d sum: %g\n", c->rank, (double)reduced(c, comm, 2));
	OK(n->ncclCommDestroy(comm));
	CHECK(ncclInvalidArgument, n->ncclCommDestroy(comm));
	OK(n->ncclCommDestroy(NULL));
}

/* Memory from NCCL, registered, and a window, which is registered by a call of the library to itself. */
static void memory(struct client *c)
{
	const struct nccl *n = &c->nccl;
	ncclComm_t comm = join(c, n);
	CUstream stream = new_stream();
	void *number, *handle;
	ncclWindow_t window;

	OK(n->ncclMemAlloc(&number, 4096));
	OK(n->ncclCommRegister(comm, number, 4096, &handle));
	OK(n->ncclCommWindowRegister(comm, number, 4096, &window, 0));
	*(float *)number = (float)c->rank;
	OK(n->ncclAllReduce(number, number, 1, ncclFloat32, ncclSum, comm, stream));
	CU(cuStreamSynchronize(stream));
	printf("rank %d sum: %g\n", c->rank, (double)*(float *)number);
	OK(n->ncclCommWindowDeregister(comm, window));
	OK(n->ncclCommDeregister(comm, handle));
	OK(n->ncclMemFree(number));
	OK(n->ncclCommDestroy(comm));
}

/* Never ends by itself: somebody is killed, and somebody kills. */
static void endless(struct client *c)
{
	ncclComm_t comm = join(c, &c->nccl);
	CUstream stream = new_stream();
	float *number = numbers(1);

	puts("begun");
	fflush(stdout);
	for (;;) {
		OK(c->nccl.ncclAllReduce(number, number, 1, ncclFloat32, ncclSum, comm, stream));
		CU(cuStreamSynchronize(stream));
	}
}

const struct client_case cases_lives[] = {
	{ "split", split },   { "shrink", shrink }, { "abort", abort_it },  { "nonblocking", nonblocking },
	{ "errors", errors }, { "memory", memory }, { "endless", endless }, { NULL, NULL },
};
