/* SPDX-License-Identifier: BSD-2-Clause */
/* edges_linked CASE PAIRS: work whose kind changes with each call, so many times, in one stream and without a wait until all is in it.
 *
 * copies   256 KiB from pinned memory and a kernel, in turns
 * hostfns  a host function and a kernel
 * waits    a wait for another context's event and a kernel
 * stalled  behind a wait for a value, which is written when all is in it: a kernel, and another stream's for whose end the host waits */
#include "sample.h"

#define COPY_BYTES (256u << 10)

static unsigned long pairs;
static CUcontext context;
static CUfunction tiny;
static CUstream stream;

static void launch(void)
{
	CHECK(cuLaunchKernel(tiny, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
}

static void copies(void)
{
	CUdeviceptr there;
	void *here;

	CHECK(cuMemAlloc(&there, COPY_BYTES));
	CHECK(cuMemAllocHost(&here, COPY_BYTES));
	for (unsigned long i = 0; i < pairs; i++) {
		CHECK(cuMemcpyHtoDAsync(there, here, COPY_BYTES, stream));
		launch();
	}
}

static void nothing(void *unused)
{
	(void)unused;
}

static void hostfns(void)
{
	for (unsigned long i = 0; i < pairs; i++) {
		CHECK(cuLaunchHostFunc(stream, nothing, NULL));
		launch();
	}
}

/* The event is recorded once, behind a kernel: the recorder knows both contexts. */
static void waits(void)
{
	CUcontext other;
	CUstream beside;
	CUevent event;

	CHECK(cuCtxCreate(&other, NULL, 0, 0));
	CHECK(cuStreamCreate(&beside, CU_STREAM_NON_BLOCKING));
	CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	CHECK(cuLaunchKernel(sample_function(sample_module("x"), "tiny__2us"), 1, 1, 1, 32, 1, 1, 0, beside, NULL,
			     NULL));
	CHECK(cuEventRecord(event, beside));
	CHECK(cuCtxSetCurrent(context));
	for (unsigned long i = 0; i < pairs; i++) {
		CHECK(cuStreamWaitEvent(stream, event, 0));
		launch();
	}
}

static void stalled(void)
{
	CUdeviceptr value;
	CUstream beside;

	CHECK(cuMemAlloc(&value, 4096));
	CHECK(cuMemsetD32(value, 0, 1024));
	CHECK(cuStreamCreate(&beside, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamWaitValue32(stream, value, 1, CU_STREAM_WAIT_VALUE_GEQ));
	for (unsigned long i = 0; i < pairs; i++) {
		launch();
		CHECK(cuLaunchKernel(tiny, 1, 1, 1, 32, 1, 1, 0, beside, NULL, NULL));
		CHECK(cuStreamSynchronize(beside));
	}
	CHECK(cuStreamWriteValue32(beside, value, 1, 0));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = { { "copies", copies }, { "hostfns", hostfns }, { "waits", waits }, { "stalled", stalled } };

	if (argc != 3)
		return 2;
	pairs = strtoul(argv[2], NULL, 10);
	sample_device(0);
	CHECK(cuCtxGetCurrent(&context));
	tiny = sample_function(sample_module("x"), "tiny__2us");
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(cases[i].name, argv[1]) != 0)
			continue;
		launch();
		cases[i].run();
		CHECK(cuStreamSynchronize(stream));
		printf("end\n");
		return 0;
	}
	return 2;
}
