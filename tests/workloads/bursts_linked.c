/* SPDX-License-Identifier: BSD-2-Clause */
/* bursts_linked CASE LAUNCHES: many launches and few waits, in the ways that bursts of timing events must leave as they are.
 *
 * threads       four threads, each in a stream of its own; every 500 launches a wait
 * capture       a capture is open in one stream while another works
 * programmatic  each kernel may begin before the one in front of it ends
 * sometimes     … one in 200 of them
 * overlap       two streams with more work than they can do
 * legacy        the default stream, with blocking ones beside it
 * beside        the default stream, while another thread puts work into two blocking ones
 * contexts      in turns three contexts, two of them on one of two devices, each with a stream of the lowest and one of the highest priority
 * shared        an event meant for another process is recorded and waited for all the time */
#include <pthread.h>
#include <unistd.h>

#include "sample.h"

#define THREADS 4

static unsigned long launches;
static CUcontext context;
static CUfunction tiny, longer;

static void launch(CUstream s, CUfunction f)
{
	CHECK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, s, NULL, NULL));
}

static CUstream stream_new(unsigned flags)
{
	CUstream s;

	CHECK(cuStreamCreate(&s, flags));
	return s;
}

static void *work(void *unused)
{
	CUstream s;

	(void)unused;
	CHECK(cuCtxSetCurrent(context));
	s = stream_new(CU_STREAM_NON_BLOCKING);
	for (unsigned long i = 0; i < launches; i++) {
		launch(s, tiny);
		if (i % 500 == 499)
			CHECK(cuStreamSynchronize(s));
	}
	CHECK(cuStreamDestroy(s));
	return NULL;
}

static void threads(void)
{
	pthread_t started[THREADS];

	for (unsigned i = 0; i < THREADS; i++)
		REQUIRE(pthread_create(&started[i], NULL, work, NULL) == 0);
	for (unsigned i = 0; i < THREADS; i++)
		REQUIRE(pthread_join(started[i], NULL) == 0);
}

static void capture(void)
{
	CUstream captured = stream_new(CU_STREAM_NON_BLOCKING), beside = stream_new(CU_STREAM_NON_BLOCKING);
	CUgraph graph;
	CUgraphExec exec;
	size_t nodes;

	for (unsigned long i = 0; i < launches; i++)
		launch(beside, tiny);
	CHECK(cuStreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_RELAXED));
	for (unsigned long i = 0; i < launches; i++) {
		launch(beside, tiny);
		if (i % 10 == 0)
			launch(captured, tiny);
	}
	CHECK(cuStreamEndCapture(captured, &graph));
	CHECK(cuGraphGetNodes(graph, NULL, &nodes));
	printf("%zu nodes\n", nodes);
	CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	for (unsigned long i = 0; i < launches; i++) {
		launch(beside, tiny);
		if (i % 100 == 0)
			CHECK(cuGraphLaunch(exec, captured));
	}
}

static void programmatic(void)
{
	CUlaunchAttribute overlaps = { .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
				       .value = { .programmaticStreamSerializationAllowed = 1 } };
	CUlaunchConfig config = { 1, 1, 1, 32, 1, 1, 0, stream_new(CU_STREAM_NON_BLOCKING), &overlaps, 1 };

	for (unsigned long i = 0; i < launches; i++)
		CHECK(cuLaunchKernelEx(&config, tiny, NULL, NULL));
}

static void sometimes(void)
{
	CUlaunchAttribute overlaps = { .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
				       .value = { .programmaticStreamSerializationAllowed = 1 } };
	CUlaunchConfig config = { 1, 1, 1, 32, 1, 1, 0, stream_new(CU_STREAM_NON_BLOCKING), &overlaps, 1 };

	for (unsigned long i = 0; i < launches; i++) {
		config.numAttrs = i % 200 == 0;
		CHECK(cuLaunchKernelEx(&config, tiny, NULL, NULL));
	}
}

static void overlap(void)
{
	CUstream a = stream_new(CU_STREAM_NON_BLOCKING), b = stream_new(CU_STREAM_NON_BLOCKING);

	for (unsigned long i = 0; i < launches; i++)
		launch(i % 2 ? a : b, longer);
}

static void legacy(void)
{
	CUstream blocking = stream_new(CU_STREAM_DEFAULT), apart = stream_new(CU_STREAM_NON_BLOCKING);

	for (unsigned long i = 0; i < launches; i++)
		launch(i % 8 == 7 ? NULL : i % 2 ? blocking : apart, tiny);
}

static struct {
	bool started, over;
} turns;

static void *work_in_two(void *unused)
{
	CUstream streams[2];

	(void)unused;
	CHECK(cuCtxSetCurrent(context));
	for (int i = 0; i < 2; i++)
		streams[i] = stream_new(CU_STREAM_DEFAULT);
	for (unsigned long i = 0; i < launches || !__atomic_load_n(&turns.over, __ATOMIC_ACQUIRE); i++) {
		launch(streams[i % 2], tiny);
		__atomic_store_n(&turns.started, true, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void beside(void)
{
	pthread_t other;

	REQUIRE(pthread_create(&other, NULL, work_in_two, NULL) == 0);
	while (!__atomic_load_n(&turns.started, __ATOMIC_ACQUIRE))
		usleep(100);
	for (unsigned long i = 0; i < launches; i++)
		launch(NULL, tiny);
	__atomic_store_n(&turns.over, true, __ATOMIC_RELEASE);
	REQUIRE(pthread_join(other, NULL) == 0);
}

struct place {
	CUcontext context;
	CUfunction kernel;
	CUstream streams[2];
};

static struct place place_new(CUcontext c)
{
	struct place p = { .context = c };
	int lowest, highest, given;

	CHECK(cuCtxSetCurrent(c));
	p.kernel = sample_function(sample_module("x"), "tiny__2us");
	CHECK(cuCtxGetStreamPriorityRange(&lowest, &highest));
	for (int i = 0; i < 2; i++) {
		CHECK(cuStreamCreateWithPriority(&p.streams[i], CU_STREAM_NON_BLOCKING, i ? highest : lowest));
		CHECK(cuStreamGetPriority(p.streams[i], &given));
		REQUIRE(given == (i ? highest : lowest) && lowest > highest);
	}
	return p;
}

static void contexts(void)
{
	CUcontext second, other;
	struct place places[3];

	CHECK(cuCtxCreate(&second, NULL, 0, 0));
	CHECK(cuDevicePrimaryCtxRetain(&other, 1));
	places[0] = place_new(context);
	places[1] = place_new(second);
	places[2] = place_new(other);
	for (unsigned long i = 0; i < launches; i++) {
		const struct place *p = &places[i / 40 % 3];

		if (i % 40 == 0)
			CHECK(cuCtxSetCurrent(p->context));
		launch(p->streams[i % 3 == 0], p->kernel);
		if (i % 400 == 39)
			CHECK(cuCtxSynchronize());
	}
	for (int i = 0; i < 3; i++) {
		CHECK(cuCtxSetCurrent(places[i].context));
		CHECK(cuCtxSynchronize());
	}
}

static void shared(void)
{
	CUstream a = stream_new(CU_STREAM_NON_BLOCKING), b = stream_new(CU_STREAM_NON_BLOCKING);
	CUipcEventHandle handle;
	CUevent event, theirs;

	CHECK(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
	printf("to share it: %d\n", (int)cuIpcGetEventHandle(&handle, event));
	printf("to open what is none: %d\n", (int)cuIpcOpenEventHandle(&theirs, (CUipcEventHandle){ "x" }));
	for (unsigned long i = 0; i < launches; i++) {
		launch(i % 2 ? a : b, tiny);
		if (i % 20 == 0) {
			CHECK(cuEventRecord(event, a));
			CHECK(cuStreamWaitEvent(b, event, 0));
		}
	}
	CHECK(cuEventSynchronize(event));
	CHECK(cuEventDestroy(event));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = { { "threads", threads },     { "capture", capture },   { "programmatic", programmatic },
		      { "sometimes", sometimes }, { "beside", beside },     { "overlap", overlap },
		      { "legacy", legacy },       { "contexts", contexts }, { "shared", shared } };
	CUmodule module;

	if (argc != 3)
		return 2;
	launches = strtoul(argv[2], NULL, 10);
	sample_device(0);
	CHECK(cuCtxGetCurrent(&context));
	module = sample_module("x");
	tiny = sample_function(module, "tiny__2us");
	longer = sample_function(module, "longer__50us");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(cases[i].name, argv[1]) != 0)
			continue;
		cases[i].run();
		CHECK(cuCtxSynchronize());
		puts("end");
		return 0;
	}
	return 2;
}
