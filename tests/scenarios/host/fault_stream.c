/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_stream.c: the next kernel is queued while the device is still busy, and behind something that takes longer ($LAB_WAY): a host function in its own
 * stream or in one whose event it waits for, another device's kernel, a value that the host writes, or another stream, a host node of a graph.
 * The truth is from then to that something's end. Or behind nothing: then the device takes its own time ($SIMGPU_LATENCY_US), or has
 * been taken by another process. */
#include "work.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

enum way { WAY_FUNCTION, WAY_EVENT, WAY_DEVICE, WAY_VALUE_HOST, WAY_VALUE_STREAM, WAY_GRAPH };

#define BEFORE_US 1000

static CUfunction before, next;
static CUstream stream, side;
static CUevent event;
static CUdeviceptr value;
static long way, length;

/* In the driver's thread, which must not be taken for the loop's. */
static void CUDA_CB take_long(void *unused)
{
	(void)unused;
	if (lab_param("LAB_ON_CPU", 0))
		compute_until(lab_now() + length);
	else
		sleep_ns(length);
}

/* ---- a thread that writes the value ------------------------------------------------------------------------------------- */

static pthread_t writer;
static sem_t asked;
static atomic_bool over;
static long step_now;

static void *write_value(void *unused)
{
	for (;;) {
		sem_wait(&asked);
		if (over)
			return unused;
		sleep_ns(BEFORE_US * 1000 + length);
		__atomic_store_n((uint32_t *)value, (uint32_t)step_now + 1,
				 __ATOMIC_RELEASE); /* device memory, which the host reaches here */
	}
}

/* ---- a graph with a host node between two kernels ------------------------------------------------------------------------- */

static CUgraphExec graph;

static void make_graph(void)
{
	CUDA_KERNEL_NODE_PARAMS kernel = { .func = next,
					   .gridDimX = 64,
					   .gridDimY = 1,
					   .gridDimZ = 1,
					   .blockDimX = 128,
					   .blockDimY = 1,
					   .blockDimZ = 1 };
	CUDA_HOST_NODE_PARAMS host = { .fn = take_long };
	CUgraphNode nodes[3];
	CUgraph made;

	CHECK(cuGraphCreate(&made, 0));
	CHECK(cuGraphAddKernelNode(&nodes[0], made, NULL, 0, &kernel));
	CHECK(cuGraphAddHostNode(&nodes[1], made, &nodes[0], 1, &host));
	CHECK(cuGraphAddKernelNode(&nodes[2], made, &nodes[1], 1, &kernel));
	CHECK(cuGraphInstantiate(&graph, made, 0));
}

static void open_stream(void)
{
	way = lab_param("LAB_WAY", WAY_FUNCTION);
	before = work_kernel_of(0, "before", BEFORE_US);
	next = work_kernel(0, "next__300us");
	stream = work_stream(0, 0);
	side = work_stream(0, 1);
	CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	CHECK(cuMemAlloc(&value, 4096));
	CHECK(cuMemsetD32(value, 0, 1024));
	if (way == WAY_GRAPH)
		make_graph();
	if (way == WAY_DEVICE) {
		CUcontext was = work_enter(1);

		CHECK(cuEventDestroy(event));
		CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
		work_stream(1, 0);
		work_leave(was);
	}
	sem_init(&asked, 0, 0);
	REQUIRE(pthread_create(&writer, NULL, write_value, NULL) == 0);
}

/* What the next kernel waits for, into the stream; the word by which the driver's log has it. */
static const char *submit_wait(long step)
{
	static char producer[64];
	CUcontext was;

	switch (way) {
	case WAY_EVENT:
		work_launch(0, before, side);
		CHECK(cuLaunchHostFunc(side, take_long, NULL));
		CHECK(cuEventRecord(event, side));
		CHECK(cuStreamWaitEvent(stream, event, 0));
		return "hostfn";
	case WAY_DEVICE:
		snprintf(producer, sizeof(producer), "producer_%ld__%ldus", step, BEFORE_US + length / 1000);
		work_launch(1, work_kernel(1, producer), work_stream(1, 0));
		was = work_enter(1);
		CHECK(cuEventRecord(event, work_stream(1, 0)));
		work_leave(was);
		CHECK(cuStreamWaitEvent(stream, event, 0));
		return producer;
	case WAY_VALUE_HOST:
		step_now = step;
		CHECK(cuStreamWaitValue32(stream, value, (cuuint32_t)step + 1, CU_STREAM_WAIT_VALUE_GEQ));
		sem_post(&asked);
		return NULL;
	case WAY_VALUE_STREAM:
		work_launch(0, before, side);
		CHECK(cuLaunchHostFunc(side, take_long, NULL));
		CHECK(cuStreamWriteValue32(side, value, (cuuint32_t)step + 1, 0));
		CHECK(cuStreamWaitValue32(stream, value, (cuuint32_t)step + 1, CU_STREAM_WAIT_VALUE_GEQ));
		return "hostfn";
	default:
		CHECK(cuLaunchHostFunc(stream, take_long, NULL));
		return "hostfn";
	}
}

/* All of it is in the queue before the first kernel ends. */
static void act_stream(long step)
{
	struct span s;

	length = lab_length(step);
	if (way == WAY_GRAPH) {
		s = span_begin("device-dependency", "main", step);
		s.until = "hostfn";
		CHECK(cuGraphLaunch(graph, stream));
	} else {
		work_launch(0, before, stream);
		s = span_begin("device-dependency", "main", step);
		s.until = submit_wait(step);
		work_launch(0, next, stream);
	}
	s.device = 0;
	work_wait(0);
	span_end(&s);
	if (way == WAY_DEVICE)
		work_wait(1);
}

static void close_stream(void)
{
	over = true;
	sem_post(&asked);
	pthread_join(writer, NULL);
}

/* ---- latency: queued, with nothing to wait for, but not for long enough when the kernel before it ends ---------------------- */

#define FIRST_US 300
#define NEXT_US 200
#define AHEAD_US 50

static CUfunction first;

static void open_latency(void)
{
	work_realtime();
	first = work_kernel_of(0, "first", FIRST_US);
	next = work_kernel_of(0, "next", NEXT_US);
	stream = work_stream(0, 0);
	side = work_stream(0, lab_param("LAB_LANES", 2) > 1);
}

/* With $LAB_AHEAD nothing waits for the device until the step's end: each round's first kernel is queued while the one before it runs, so that
 * a start's latency shows where it is looked for, and nowhere else. */
static void act_latency(long step)
{
	long rounds = lab_param("LAB_ROUNDS", 20), latency = lab_param("SIMGPU_LATENCY_US", 5) * 1000;
	bool ahead = lab_param("LAB_AHEAD", 0);
	long begin = lab_now(), late = latency / 2 + FIRST_US * 1000 + (ahead ? AHEAD_US * 1000 : 0);

	for (long i = 0; i < rounds; i++) {
		struct span s;

		if (ahead && i > 0)
			begin += latency / 2 + (FIRST_US + NEXT_US) * 1000;
		else
			begin = lab_now();
		compute_until(begin);
		work_launch(0, first, stream);
		compute_until(begin + late);
		work_launch(0, next, side);
		s = span_begin("device-latency", "main", step);
		s.device = 0;
		s.until = "next__200us";
		if (!ahead || i + 1 == rounds)
			work_wait(0);
		span_end(&s);
	}
}

/* ---- contention: nothing to wait for, but another process has the device ($SIMGPU_SHARED) ------------------------------------- */

static void open_contended(void)
{
	next = work_kernel(0, "shared__300us");
	stream = work_stream(0, 0);
}

/* The step's own kernel waits as well. */
static void ahead_contended(long step)
{
	static char name[32];
	struct span s = span_begin("device-contention", "main", step);

	snprintf(name, sizeof(name), "step__%ldus", lab_param("LAB_KERNEL_US", 2000));
	s.until = name;
	span_end(&s);
}

static void act_contended(long step)
{
	for (int i = 0; i < 10; i++) {
		struct span s;

		work_launch(0, next, stream);
		s = span_begin("device-contention", "main", step);
		s.until = "shared__300us";
		CHECK(cuStreamSynchronize(stream));
		span_end(&s);
	}
}

const struct fault fault_dependency = { "dependency", open_stream, NULL, act_stream, close_stream };
const struct fault fault_latency = { "latency", open_latency, NULL, act_latency, NULL };
const struct fault fault_contended = { "contended", open_contended, ahead_contended, act_contended, NULL };
