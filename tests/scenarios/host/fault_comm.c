/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_comm.c: two ranks in one process, each with its device. The first makes a communicator in the loop, alone or as the end of a group
 * ($LAB_WAY), and waits for the other one, who comes late. Or they exchange, and the other one's device is late. */
#include "work.h"

#include "shim/nccl_api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

enum way { WAY_INIT, WAY_GROUP };

#define NCCL(name) static typeof(name) *nccl_##name;
#define NCCL_CALLS             \
	NCCL(ncclGetUniqueId)  \
	NCCL(ncclCommInitRank) \
	NCCL(ncclCommDestroy)  \
	NCCL(ncclAllReduce)    \
	NCCL(ncclGroupStart)   \
	NCCL(ncclGroupEnd)
NCCL_CALLS
#undef NCCL

#define OK(call) REQUIRE((call) == ncclSuccess)

static ncclUniqueId id;
static ncclComm_t comms[2];
static CUdeviceptr numbers[2];
static sem_t asked, done;
static atomic_long length;
static atomic_bool over;
static pthread_t other;
static long way, count;

static void *other_rank(void *arg)
{
	(void)arg;
	CHECK(cuCtxSetCurrent(work_context(1)));
	for (;;) {
		sem_wait(&asked);
		if (over)
			return NULL;
		compute_until(lab_now() + length);
		OK(nccl_ncclCommInitRank(&comms[1], 2, id, 1));
		OK(nccl_ncclCommDestroy(comms[1]));
		sem_post(&done);
	}
}

static void open_nccl(void)
{
	void *library = dlopen("libnccl.so.2", RTLD_NOW);

	REQUIRE(library);
#define NCCL(name) REQUIRE((nccl_##name = dlsym(library, #name)));
	NCCL_CALLS
#undef NCCL
}

static void open_comm(void)
{
	open_nccl();
	way = lab_param("LAB_WAY", WAY_INIT);
	work_context(1);
	sem_init(&asked, 0, 0);
	sem_init(&done, 0, 0);
	REQUIRE(pthread_create(&other, NULL, other_rank, NULL) == 0);
}

static void act_comm(long step)
{
	struct span s;

	if (step > 0)
		sem_wait(&done); /* the other one is done with the last communicator long since */
	OK(nccl_ncclGetUniqueId(&id));
	length = lab_length(step);
	sem_post(&asked);
	s = span_begin("comm-host", "main", step);
	s.device = 0;
	if (way == WAY_GROUP)
		OK(nccl_ncclGroupStart());
	OK(nccl_ncclCommInitRank(&comms[0], 2, id, 0));
	if (way == WAY_GROUP)
		OK(nccl_ncclGroupEnd());
	OK(nccl_ncclCommDestroy(comms[0]));
	span_end(&s);
}

static void close_comm(void)
{
	over = true;
	sem_post(&asked);
	pthread_join(other, NULL);
}

/* ---- exposed communication: nothing else runs meanwhile ------------------------------------------------------------------- */

static void *join(void *arg)
{
	(void)arg;
	CHECK(cuCtxSetCurrent(work_context(1)));
	OK(nccl_ncclCommInitRank(&comms[1], 2, id, 1));
	return NULL;
}

static void open_reduce(void)
{
	CUcontext was;

	open_nccl();
	count = lab_param("LAB_COUNT", 1 << 20);
	OK(nccl_ncclGetUniqueId(&id));
	REQUIRE(pthread_create(&other, NULL, join, NULL) == 0);
	OK(nccl_ncclCommInitRank(&comms[0], 2, id, 0));
	pthread_join(other, NULL);
	for (int i = 0; i < 2; i++) {
		was = work_enter(i);
		CHECK(cuMemAlloc(&numbers[i], (size_t)count * sizeof(float)));
		work_leave(was);
	}
}

static void act_reduce(long step)
{
	(void)step;
	OK(nccl_ncclGroupStart());
	for (int i = 0; i < 2; i++)
		OK(nccl_ncclAllReduce((void *)numbers[i], (void *)numbers[i], (size_t)count, ncclFloat32, ncclSum,
				      comms[i], work_stream(i, 0)));
	OK(nccl_ncclGroupEnd());
	work_wait(0);
	work_wait(1);
}

const struct fault fault_comm = { "comm", open_comm, NULL, act_comm, close_comm };
const struct fault fault_reduce = { "reduce", open_reduce, NULL, act_reduce, NULL };
