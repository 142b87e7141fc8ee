/* SPDX-License-Identifier: BSD-2-Clause */
/* cases_data.c: what moves data: every collective with its values, a training loop, graphs, several devices, streams and copies. */
#include "client.h"

#include <pthread.h>
#include <string.h>

enum { COUNT = 8 };

static void sync(CUstream stream)
{
	CU(cuStreamSynchronize(stream));
}

/* ---- each collective, with numbers that tell who sent what ----------------------------------------------- */

struct buffers {
	float *send, *recv;
	CUstream stream;
};

static struct buffers buffers_new(const struct client *c)
{
	return (struct buffers){ numbers(COUNT * (size_t)c->ranks), numbers(COUNT * (size_t)c->ranks), new_stream() };
}

static void refill(const struct client *c, const struct buffers *b)
{
	fill(b->send, COUNT * (size_t)c->ranks, (float)(100 * c->rank), 1);
	fill(b->recv, COUNT * (size_t)c->ranks, -1, 0);
}

static void reducing(struct client *c, const struct nccl *n, const struct buffers *b, ncclComm_t comm)
{
	static const char *const names[] = { "sum", "prod", "max", "min", "avg" };

	for (unsigned op = 0; op < ncclNumOps; op++) {
		refill(c, b);
		OK(n->ncclAllReduce(b->send, b->recv, COUNT, ncclFloat32, (ncclRedOp_t)op, comm, b->stream));
		sync(b->stream);
		show(c, names[op], b->recv, COUNT);
	}
	refill(c, b);
	OK(n->ncclAllReduce(b->send, b->send, COUNT, ncclFloat32, ncclSum, comm, b->stream));
	sync(b->stream);
	show(c, "in place", b->send, COUNT);
	refill(c, b);
	OK(n->ncclReduce(b->send, b->recv, COUNT, ncclFloat32, ncclSum, c->ranks - 1, comm, b->stream));
	sync(b->stream);
	show(c, "reduce", b->recv, COUNT);
	refill(c, b);
	OK(n->ncclReduceScatter(b->send, b->recv, COUNT, ncclFloat32, ncclMax, comm, b->stream));
	sync(b->stream);
	show(c, "reduce-scatter", b->recv, COUNT + 1);
}

static void copying(struct client *c, const struct nccl *n, const struct buffers *b, ncclComm_t comm)
{
	const size_t all = COUNT * (size_t)c->ranks;

	refill(c, b);
	OK(n->ncclBroadcast(b->send, b->recv, COUNT, ncclFloat32, 1 % c->ranks, comm, b->stream));
	sync(b->stream);
	show(c, "broadcast", b->recv, COUNT);
	refill(c, b);
	OK(n->ncclBcast(b->send, COUNT, ncclFloat32, 0, comm, b->stream));
	sync(b->stream);
	show(c, "bcast", b->send, COUNT);
	refill(c, b);
	OK(n->ncclAllGather(b->send, b->recv, COUNT, ncclFloat32, comm, b->stream));
	sync(b->stream);
	show(c, "all-gather", b->recv, all);
	refill(c, b);
	OK(n->ncclAlltoAll(b->send, b->recv, COUNT, ncclFloat32, comm, b->stream));
	sync(b->stream);
	show(c, "all-to-all", b->recv, all);
	refill(c, b);
	OK(n->ncclGather(b->send, b->recv, COUNT, ncclFloat32, 0, comm, b->stream));
	sync(b->stream);
	show(c, "gather", b->recv, all);
	refill(c, b);
	OK(n->ncclScatter(b->send, b->recv, COUNT, ncclFloat32, 0, comm, b->stream));
	sync(b->stream);
	show(c, "scatter", b->recv, COUNT);
}

/* To the right, from the left, in one group. */
static void ring(const struct client *c, const struct nccl *n, const struct buffers *b, ncclComm_t comm)
{
	OK(n->ncclGroupStart());
	OK(n->ncclSend(b->send, COUNT, ncclFloat32, (c->rank + 1) % c->ranks, comm, b->stream));
	OK(n->ncclRecv(b->recv, COUNT, ncclFloat32, (c->rank + c->ranks - 1) % c->ranks, comm, b->stream));
	OK(n->ncclGroupEnd());
}

static void own_operation(struct client *c, const struct nccl *n, const struct buffers *b, ncclComm_t comm)
{
	float scalar = (float)(c->rank + 1);
	ncclRedOp_t op;

	refill(c, b);
	OK(n->ncclRedOpCreatePreMulSum(&op, &scalar, ncclFloat32, ncclScalarHostImmediate, comm));
	OK(n->ncclAllReduce(b->send, b->recv, COUNT, ncclFloat32, op, comm, b->stream));
	OK(n->ncclRedOpDestroy(op, comm));
	sync(b->stream);
	show(c, "own operation", b->recv, COUNT);
}

/* Nested groups are one: nothing runs before the last end. Several calls, two streams, one kernel. */
static void groups(struct client *c, const struct nccl *n, const struct buffers *b, ncclComm_t comm)
{
	CUstream other = new_stream();

	refill(c, b);
	OK(n->ncclGroupStart());
	OK(n->ncclAllReduce(b->send, b->recv, COUNT, ncclFloat32, ncclSum, comm, b->stream));
	OK(n->ncclGroupStart());
	OK(n->ncclBroadcast(b->send, b->recv + COUNT, COUNT, ncclFloat32, 0, comm, b->stream));
	OK(n->ncclGroupEnd());
	CU(cuStreamSynchronize(b->stream));
	CHECK(-1, b->recv[0]);
	OK(n->ncclAllGather(b->send, b->recv + 2 * COUNT, 1, ncclFloat32, comm, other));
	OK(n->ncclGroupEnd());
	sync(b->stream);
	sync(other);
	show(c, "group", b->recv, 2 * COUNT + (size_t)c->ranks);
	CU(cuStreamDestroy(other));
}

static void collectives_on(struct client *c, const struct nccl *n)
{
	struct buffers b = buffers_new(c);
	ncclComm_t comm = join(c, n);
	int count, rank, device;

	OK(n->ncclCommCount(comm, &count));
	OK(n->ncclCommUserRank(comm, &rank));
	OK(n->ncclCommCuDevice(comm, &device));
	printf("rank %d of %d on device %d\n", rank, count, device);
	reducing(c, n, &b, comm);
	copying(c, n, &b, comm);
	refill(c, &b);
	ring(c, n, &b, comm);
	sync(b.stream);
	show(c, "ring", b.recv, COUNT);
	own_operation(c, n, &b, comm);
	groups(c, n, &b, comm);
	refill(c, &b);
	OK(n->ncclAllReduceConfig(b.send, b.recv, COUNT, ncclFloat32, ncclSum, comm, b.stream, NULL));
	sync(b.stream);
	show(c, "with configuration", b.recv, COUNT);
	OK(n->ncclCommFinalize(comm));
	OK(n->ncclCommDestroy(comm));
}

static void collectives(struct client *c)
{
	collectives_on(c, &c->nccl);
}

static void two_copies(struct client *c)
{
	CHECK(true, c->has_other);
	collectives_on(c, &c->nccl);
	collectives_on(c, &c->other);
}

/* ---- other types of numbers ------------------------------------------------------------------------------ */

static const struct type {
	ncclDataType_t type;
	size_t bytes;
	unsigned char three[8]; /* sums of small numbers are exact in all of them */
} types[] = {
	{ ncclInt8, 1, { 3 } },
	{ ncclUint8, 1, { 3 } },
	{ ncclInt32, 4, { 3 } },
	{ ncclUint32, 4, { 3 } },
	{ ncclInt64, 8, { 3 } },
	{ ncclUint64, 8, { 3 } },
	{ ncclFloat16, 2, { 0x00, 0x42 } },
	{ ncclFloat32, 4, { 0, 0, 0x40, 0x40 } },
	{ ncclFloat64, 8, { 0, 0, 0, 0, 0, 0, 0x08, 0x40 } },
	{ ncclBfloat16, 2, { 0x40, 0x40 } },
	{ ncclFloat8e4m3, 1, { 0x44 } },
	{ ncclFloat8e5m2, 1, { 0x42 } },
};

static void all_types(struct client *c)
{
	struct buffers b = buffers_new(c);
	ncclComm_t comm = join(c, &c->nccl);

	for (unsigned i = 0; i < sizeof(types) / sizeof(*types); i++) {
		unsigned char *sum = (unsigned char *)b.recv;

		memcpy(b.send, types[i].three, types[i].bytes);
		memset(b.recv, 0xee, 8);
		OK(c->nccl.ncclAllReduce(b.send, b.recv, 1, types[i].type, ncclSum, comm, b.stream));
		sync(b.stream);
		printf("rank %d type %u:", c->rank, (unsigned)types[i].type);
		for (size_t at = 0; at < 8; at++)
			printf(" %02x", sum[at]);
		putchar('\n');
	}
	OK(c->nccl.ncclCommDestroy(comm));
}

/* ---- training on all ranks ------------------------------------------------------------------------------- */

enum { BUCKETS = 3, BUCKET = 4096 };

/* The buckets' gradients in one group, as soon as the backward kernels have been enqueued. */
static void gradients(struct client *c, ncclComm_t comm, float *const *buckets, CUstream compute, CUstream comms)
{
	const struct nccl *n = &c->nccl;
	CUevent done;

	CU(cuEventCreate(&done, CU_EVENT_DISABLE_TIMING));
	kernel(c, "backward__100us", compute);
	CU(cuEventRecord(done, compute));
	CU(cuStreamWaitEvent(comms, done, 0));
	OK(n->ncclGroupStart());
	for (unsigned i = 0; i < BUCKETS; i++)
		OK(n->ncclAllReduce(buckets[i], buckets[i], BUCKET, ncclFloat32, ncclAvg, comm, comms));
	OK(n->ncclGroupEnd());
	CU(cuEventRecord(done, comms));
	CU(cuStreamWaitEvent(compute, done, 0));
	kernel(c, "optimizer__50us", compute);
	CU(cuEventDestroy(done));
}

static void train(struct client *c)
{
	CUstream compute = new_stream(), comms = new_stream();
	struct buffers b = buffers_new(c);
	float *buckets[BUCKETS], *flag = numbers(1);
	ncclComm_t comm = join(c, &c->nccl);

	for (unsigned i = 0; i < BUCKETS; i++) {
		buckets[i] = numbers(BUCKET);
		fill(buckets[i], BUCKET, (float)(c->rank + (int)i), 0);
		OK(c->nccl.ncclBroadcast(buckets[i], buckets[i], BUCKET, ncclFloat32, 0, comm, comms));
	}
	sync(comms);
	for (int step = 0; step < c->steps; step++) {
		kernel(c, "forward__100us", compute);
		for (unsigned i = 0; i < BUCKETS; i++)
			buckets[i][0] = (float)(c->rank * (step + 1));
		gradients(c, comm, buckets, compute, comms);
		fill(b.send, COUNT, (float)c->rank, 1);
		ring(c, &c->nccl, &b, comm);
		*flag = 1;
		OK(c->nccl.ncclAllReduce(flag, flag, 1, ncclFloat32, ncclSum, comm, comms));
		sync(comms);
		sync(compute);
		sync(b.stream);
		printf("rank %d step %d: %g %g %g\n", c->rank, step, (double)buckets[0][0], (double)*flag,
		       (double)b.recv[1]);
		fflush(stdout);
	}
	OK(c->nccl.ncclCommDestroy(comm));
}

/* ---- graphs ---------------------------------------------------------------------------------------------- */

static void graph(struct client *c)
{
	struct buffers b = buffers_new(c);
	ncclComm_t comm = join(c, &c->nccl);
	CUgraphExec exec;
	CUgraph made;

	refill(c, &b);
	CU(cuStreamBeginCapture(b.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	kernel(c, "before__20us", b.stream);
	OK(c->nccl.ncclAllReduce(b.send, b.send, COUNT, ncclFloat32, ncclSum, comm, b.stream));
	CU(cuStreamEndCapture(b.stream, &made));
	CU(cuGraphInstantiate(&exec, made, 0));
	for (int step = 0; step < c->steps; step++) {
		CU(cuGraphLaunch(exec, b.stream));
		sync(b.stream);
		show(c, "graph", b.send, COUNT);
	}
	OK(c->nccl.ncclAllReduce(b.send, b.send, COUNT, ncclFloat32, ncclMax, comm, b.stream));
	sync(b.stream);
	show(c, "after", b.send, COUNT);
}

/* ---- several devices, or several threads, in one process ------------------------------------------------- */

enum { DEVICES = 4 };

static void all_devices(struct client *c)
{
	const struct nccl *n = &c->nccl;
	float *values[DEVICES];
	CUcontext contexts[DEVICES];
	CUstream streams[DEVICES];
	ncclComm_t comms[DEVICES];

	OK(n->ncclCommInitAll(comms, DEVICES, NULL));
	for (int i = 0; i < DEVICES; i++) {
		CU(cuDevicePrimaryCtxRetain(&contexts[i], i));
		CU(cuCtxSetCurrent(contexts[i]));
		values[i] = numbers(COUNT);
		fill(values[i], COUNT, (float)i, 1);
		streams[i] = new_stream();
	}
	for (int step = 0; step < c->steps; step++) {
		OK(n->ncclGroupStart());
		for (int i = 0; i < DEVICES; i++)
			OK(n->ncclAllReduce(values[i], values[i], COUNT, ncclFloat32, ncclSum, comms[i], streams[i]));
		OK(n->ncclGroupEnd());
	}
	for (int i = 0; i < DEVICES; i++) {
		CU(cuCtxSetCurrent(contexts[i]));
		sync(streams[i]);
		show(c, "all devices", values[i], COUNT);
		OK(n->ncclCommDestroy(comms[i]));
	}
}

struct thread {
	struct client *c;
	ncclUniqueId id;
	float *values;
};

static void *thread_main(void *argument)
{
	struct thread *t = argument;
	const struct nccl *n = &t->c->nccl;
	ncclComm_t comm;

	CU(cuCtxSetCurrent(t->c->context));
	OK(n->ncclCommInitRank(&comm, t->c->ranks, t->id, t->c->rank));
	for (int step = 0; step < t->c->steps; step++) {
		OK(n->ncclAllReduce(t->values, t->values, COUNT, ncclFloat32, ncclSum, comm, CU_STREAM_PER_THREAD));
		sync(CU_STREAM_PER_THREAD);
	}
	OK(n->ncclCommDestroy(comm));
	return NULL;
}

/* A communicator and a default stream for each of two threads. */
static void threads(struct client *c)
{
	struct thread all[2];
	pthread_t running[2];

	for (int i = 0; i < 2; i++) {
		all[i] = (struct thread){ c, exchange_id(c, &c->nccl), numbers(COUNT) };
		fill(all[i].values, COUNT, (float)(c->rank + 10 * i), 1);
	}
	for (int i = 0; i < 2; i++)
		CHECK(0, pthread_create(&running[i], NULL, thread_main, &all[i]));
	for (int i = 0; i < 2; i++) {
		pthread_join(running[i], NULL);
		show(c, "thread", all[i].values, COUNT);
	}
}

const struct client_case cases_data[] = {
	{ "collectives", collectives },
	{ "two-copies", two_copies },
	{ "types", all_types },
	{ "train", train },
	{ "graph", graph },
	{ "all-devices", all_devices },
	{ "threads", threads },
	{ NULL, NULL },
};
