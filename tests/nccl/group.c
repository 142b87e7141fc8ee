/* SPDX-License-Identifier: BSD-2-Clause */
/* group.c: what a thread collects between ncclGroupStart and the outermost ncclGroupEnd, and what happens then: first what makes
 * communicators, side by side, as each waits for its peers; then one kernel for each communicator. A call outside a group is a group
 * of its own, without a number. Where a communicator is not blocking, a thread of ours does all that, after the end has returned. */
#include "log.h"
#include "standin.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { DATA_LIMIT = 1 << 20, BLOCK_THREADS = 512, CHANNEL_BYTES = 64 << 10, MAX_CHANNELS = 24 };

struct work {
	struct ncclComm *comm;
	struct item item;
	CUstream stream;
	struct work *next;
};

struct group {
	int depth;
	uint64_t number;
	ncclResult_t error;
	bool in_background;
	struct job *jobs, **last_job;
	struct work *works, **last_work;
};

static __thread struct group group;
static _Atomic uint64_t groups;

struct group_place group_place(void)
{
	return (struct group_place){ group.number, group.number ? group.depth : 0 };
}

void group_begin(void)
{
	if (group.depth++ == 0) {
		group.last_job = &group.jobs;
		group.last_work = &group.works;
	}
}

void group_start(void)
{
	group_begin();
	if (group.depth == 1)
		group.number = atomic_fetch_add(&groups, 1) + 1;
}

void group_error(ncclResult_t result)
{
	if (group.depth && !group.error)
		group.error = result;
}

static void discard(struct group *g)
{
	while (g->jobs) {
		struct job *job = g->jobs;

		g->jobs = job->next;
		free(job->excluded);
		free(job);
	}
	while (g->works) {
		struct work *work = g->works;

		g->works = work->next;
		free(work);
	}
}

/* ---- kernels --------------------------------------------------------------------------------------------- */

static size_t data_limit(void)
{
	const char *text = getenv("NCCL_STANDIN_DATA");

	return text ? (size_t)strtoull(text, NULL, 10) / 8 * 8 : DATA_LIMIT;
}

/* The name of the real library's kernel for this: a mixture has none of its own. */
static const char *plan_name(const struct plan *plan)
{
	const char *name = kernel_name(plan->items[0].function, plan->items[0].type, plan->items[0].op);

	for (unsigned i = 1; i < plan->count; i++)
		if (kernel_name(plan->items[i].function, plan->items[i].type, plan->items[i].op) != name)
			return kernel_name(FUNCTION_GENERIC, ncclInt8, ncclSum);
	return name;
}

/* The plan is the kernel's from now on; it is freed where there is none. */
static CUresult launch(struct plan *plan, CUstream stream)
{
	union {
		struct plan *plan;
		unsigned char bytes[KERNEL_ARGUMENT_BYTES];
	} argument = { .bytes = { 0 } };
	void *parameters[] = { &argument };
	size_t bytes = 0;
	CUlaunchConfig config = { .gridDimY = 1,
				  .gridDimZ = 1,
				  .blockDimX = BLOCK_THREADS,
				  .blockDimY = 1,
				  .blockDimZ = 1,
				  .hStream = stream };
	CUfunction kernel;
	CUresult result;

	argument.plan = plan;
	for (unsigned i = 0; i < plan->count; i++)
		bytes += plan->items[i].count * type_bytes(plan->items[i].type);
	log_kernel(plan, plan_name(plan), stream);
	config.gridDimX = (unsigned)(bytes / CHANNEL_BYTES < MAX_CHANNELS ? bytes / CHANNEL_BYTES + 1 : MAX_CHANNELS);
	result = kernel_find(plan_name(plan), &kernel) ? CUDA_ERROR_NOT_FOUND
						       : driver.cuLaunchKernelEx(&config, kernel, parameters, NULL);
	if (result)
		free(plan);
	return result;
}

/* `to` goes on when `from` has come as far as it is now. */
static CUresult wait_for(CUstream to, CUstream from)
{
	CUevent event;
	CUresult result = driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);

	if (result)
		return result;
	result = driver.cuEventRecord(event, from);
	if (!result)
		result = driver.cuStreamWaitEvent(to, event, 0);
	driver.cuEventDestroy(event);
	return result;
}

/* A communicator's kernels run one after the other, whatever their streams. The kernel runs in the last stream that was new to the
 * group, as in the real library; the group's other streams wait with it. */
static ncclResult_t launch_ordered(struct ncclComm *comm, struct plan *plan, const CUstream *streams, unsigned count)
{
	CUstream stream = streams[count - 1];
	CUstreamCaptureStatus capturing = CU_STREAM_CAPTURE_STATUS_NONE;
	CUresult result = driver.cuStreamIsCapturing(stream, &capturing);
	bool persistent = capturing != CU_STREAM_CAPTURE_STATUS_NONE;

	plan->persistent = persistent;
	for (unsigned i = 0; i + 1 < count && !result; i++)
		result = wait_for(stream, streams[i]);
	if (!persistent && comm->has_last_stream && comm->last_stream != stream)
		wait_for(stream,
			 comm->last_stream); /* it may be destroyed: then its work is done, or nobody's concern */
	if (persistent)
		comm->captured = true;
	else
		atomic_fetch_add(&comm->issued, 1);
	if (!result)
		result = launch(plan, stream); /* and its kernel may have ended, and freed it, by now */
	else
		free(plan);
	if (result && !persistent)
		atomic_fetch_sub(&comm->issued, 1);
	if (result)
		return comm_failed(comm, ncclUnhandledCudaError, "a kernel could not be launched");
	for (unsigned i = 0; i + 1 < count && !result; i++)
		result = wait_for(streams[i], stream);
	if (!persistent) {
		comm->last_stream = stream;
		comm->has_last_stream = true;
	}
	return result ? ncclUnhandledCudaError : ncclSuccess;
}

static void add_stream(CUstream *streams, unsigned *count, CUstream stream)
{
	for (unsigned i = 0; i < *count; i++)
		if (streams[i] == stream)
			return;
	streams[(*count)++] = stream;
}

/* All that the group has for this communicator, taken out of it. */
static ncclResult_t launch_comm(struct group *g, struct ncclComm *comm)
{
	CUcontext before = NULL;
	struct plan *plan;
	CUstream *streams;
	unsigned all = 0, streams_count = 0;
	ncclResult_t result;

	for (const struct work *work = g->works; work; work = work->next)
		all += work->comm == comm;
	plan = calloc(1, sizeof(*plan) + all * sizeof(struct item));
	streams = calloc(all, sizeof(CUstream));
	if (!plan || !streams) {
		free(plan);
		free(streams);
		return ncclSystemError;
	}
	plan->comm = comm;
	plan->data_limit = data_limit();
	for (struct work **at = &g->works, *work = *at; work; work = *at) {
		if (work->comm != comm) {
			at = &work->next;
			continue;
		}
		plan->items[plan->count++] = work->item;
		add_stream(streams, &streams_count, work->stream);
		*at = work->next;
		free(work);
	}
	plan->transfer_ns = exchange_transfer_ns(plan->items, plan->count, comm->nranks);
	driver.cuCtxGetCurrent(&before);
	driver.cuCtxSetCurrent(comm->context);
	result = launch_ordered(comm, plan, streams, streams_count);
	driver.cuCtxSetCurrent(before);
	free(streams);
	return result;
}

/* ---- the end --------------------------------------------------------------------------------------------- */

static void *run_job(void *argument)
{
	struct job *job = argument;

	job->result = job->run(job);
	return NULL;
}

/* Each in a thread of its own, unless there is only one: they wait for each other. */
static ncclResult_t run_jobs(struct job *jobs)
{
	ncclResult_t result = ncclSuccess;
	unsigned count = 0, started = 0;
	pthread_t *threads;

	for (struct job *job = jobs; job; job = job->next)
		count++;
	threads = calloc(count + 1, sizeof(*threads));
	if (!threads)
		return ncclSystemError;
	for (struct job *job = jobs; job && count > 1; job = job->next, started++)
		if (pthread_create(&threads[started], NULL, run_job, job))
			break;
	if (count == 1)
		run_job(jobs);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	for (struct job *job = jobs; job; job = job->next) {
		if (job->result && !result)
			result = job->result;
		if (job->comm)
			atomic_store(&job->comm->state, job->result);
		if (job->result && job->made && job->comm->blocking)
			*job->made = NULL;
	}
	return count > 1 && started < count ? ncclSystemError : result;
}

static ncclResult_t run(struct group *g)
{
	ncclResult_t result = g->jobs ? run_jobs(g->jobs) : ncclSuccess;

	while (g->works && !result)
		result = launch_comm(g, g->works->comm);
	discard(g);
	return result;
}

static void mark(struct ncclComm **comms, unsigned *count, struct ncclComm *comm)
{
	for (unsigned i = 0; i < *count; i++)
		if (comms[i] == comm)
			return;
	atomic_store(&comm->state, ncclInProgress);
	atomic_fetch_add(&comm->busy, 1);
	comms[(*count)++] = comm;
}

struct background {
	struct group group;
	CUcontext context;
	unsigned count;
	struct ncclComm *comms[];
};

static void *run_background(void *argument)
{
	struct background *b = argument;
	ncclResult_t result;

	driver.cuCtxSetCurrent(b->context);
	result = run(&b->group);
	for (unsigned i = 0; i < b->count; i++) {
		atomic_store(&b->comms[i]->state, result);
		atomic_fetch_sub(&b->comms[i]->busy, 1);
	}
	free(b);
	return NULL;
}

static ncclResult_t start_background(struct group *g)
{
	struct background *b;
	pthread_t thread;
	unsigned most = 0;

	for (const struct job *job = g->jobs; job; job = job->next)
		most++;
	for (const struct work *work = g->works; work; work = work->next)
		most++;
	b = calloc(1, sizeof(*b) + most * sizeof(struct ncclComm *));
	if (!b)
		return ncclSystemError;
	b->group = *g;
	driver.cuCtxGetCurrent(&b->context);
	for (const struct job *job = g->jobs; job; job = job->next)
		if (job->comm)
			mark(b->comms, &b->count, job->comm);
	for (const struct work *work = g->works; work; work = work->next)
		mark(b->comms, &b->count, work->comm);
	if (pthread_create(&thread, NULL, run_background, b)) {
		free(b);
		return ncclSystemError;
	}
	pthread_detach(thread);
	return ncclInProgress;
}

static ncclResult_t end(void)
{
	struct group mine = group;

	memset(&group, 0, sizeof(group));
	if (mine.error) {
		discard(&mine);
		return mine.error;
	}
	if (mine.in_background && (mine.jobs || mine.works))
		return start_background(&mine);
	return run(&mine);
}

ncclResult_t group_end(void)
{
	if (!group.depth)
		return comm_failed(NULL, ncclInvalidUsage, "ncclGroupEnd: not in a group call.");
	if (group.depth > 1) {
		group.depth--;
		return ncclSuccess;
	}
	return end();
}

ncclResult_t group_cancel(void)
{
	if (!group.depth)
		return comm_failed(NULL, ncclInvalidUsage, "ncclGroupSimulateEnd: not in a group call.");
	if (--group.depth == 0) {
		discard(&group);
		memset(&group, 0, sizeof(group));
	}
	return ncclSuccess;
}

/* ---- adding ---------------------------------------------------------------------------------------------- */

ncclResult_t group_add_job(const struct job *job)
{
	struct job *copy = malloc(sizeof(*copy));
	bool alone = !group.depth;

	if (!copy)
		return ncclSystemError;
	if (alone)
		group_begin();
	*copy = *job;
	copy->next = NULL;
	*group.last_job = copy;
	group.last_job = &copy->next;
	if ((job->comm && !job->comm->blocking) || (!job->comm && !job->parent->blocking))
		group.in_background = true;
	return alone ? end() : ncclSuccess;
}

ncclResult_t group_add_item(struct ncclComm *comm, const struct item *item, CUstream stream)
{
	struct work *work = malloc(sizeof(*work));
	bool alone = !group.depth;

	if (!work)
		return ncclSystemError;
	if (alone)
		group_begin();
	*work = (struct work){ comm, *item, stream, NULL };
	*group.last_work = work;
	group.last_work = &work->next;
	if (!comm->blocking)
		group.in_background = true;
	return alone ? end() : ncclSuccess;
}
