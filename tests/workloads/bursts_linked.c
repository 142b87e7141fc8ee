/* SPDX-License-Identifier: BSD-2-Clause */
/* bursts_linked CASE LAUNCHES: many launches and few waits, in the ways that bursts of timing events must leave as they are.
 *
 * threads       four threads, each in a stream of its own; every 500 launches a wait
 * capture       a capture is open in one stream while another works
 * programmatic  each kernel may begin before the one in front of it ends
 * overlap       two streams with more work than they can do
 * legacy        the default stream, with blocking ones beside it */
#include <pthread.h>

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

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = { { "threads", threads },
		      { "capture", capture },
		      { "programmatic", programmatic },
		      { "overlap", overlap },
		      { "legacy", legacy } };
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
