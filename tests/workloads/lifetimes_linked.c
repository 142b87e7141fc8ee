/* SPDX-License-Identifier: BSD-2-Clause */
/* lifetimes_linked CASE: contexts, streams and threads that end in ways a recorder of streams may trip over. */
#include <cuda.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static CUfunction kernel;

static void check(CUresult rc, const char *what)
{
	if (rc != CUDA_SUCCESS)
		printf("%s: error %d\n", what, rc);
}

static void start(const char *name)
{
	CUcontext context;
	CUmodule module;

	check(cuInit(0), "cuInit");
	check(cuDevicePrimaryCtxRetain(&context, 0), "retain");
	check(cuCtxSetCurrent(context), "set current");
	check(cuModuleLoadData(&module, "x"), "load");
	check(cuModuleGetFunction(&kernel, module, name), "function");
}

static CUresult launch(CUstream s)
{
	return cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, s, NULL, NULL);
}

/* The primary context goes while it is no thread's current one and work is still in it; then the program does something else. */
static void release_uncurrent(void)
{
	CUstream s;

	start("kernel__2000us");
	check(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), "create");
	check(launch(s), "launch");
	check(cuCtxSetCurrent(NULL), "unset");
	check(cuDevicePrimaryCtxRelease(0), "release");
	usleep(200000);
}

/* A handle that was used when it meant nothing comes back as a stream. */
static void handle_again(void)
{
	CUstream before, after;

	start("kernel__20us");
	check(cuStreamCreate(&before, CU_STREAM_NON_BLOCKING), "create");
	check(cuStreamDestroy(before), "destroy");
	printf("launch into nothing: %d\n", launch(before));
	check(cuStreamCreate(&after, CU_STREAM_NON_BLOCKING), "create again");
	printf("same handle: %d\n", before == after);
	for (int i = 0; i < 20; i++) {
		check(launch(after), "launch");
		check(cuStreamSynchronize(after), "synchronise");
		usleep(1000);
	}
}

static void *one_launch(void *arg)
{
	check(cuCtxSetCurrent(arg), "set current");
	check(launch(CU_STREAM_PER_THREAD), "launch");
	check(cuStreamSynchronize(CU_STREAM_PER_THREAD), "synchronise");
	return NULL;
}

/* More threads, one after the other, than anybody has places for streams; each uses a default stream of its own. */
static void many_threads(void)
{
	CUcontext context;

	start("kernel__1us");
	check(cuCtxGetCurrent(&context), "current");
	for (int i = 0; i < 5000; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, one_launch, context) == 0)
			pthread_join(thread, NULL);
	}
}

int main(int argc, char **argv)
{
	const char *which = argc > 1 ? argv[1] : "";

	if (strcmp(which, "release-uncurrent") == 0)
		release_uncurrent();
	else if (strcmp(which, "handle-again") == 0)
		handle_again();
	else if (strcmp(which, "many-threads") == 0)
		many_threads();
	else
		return 2;
	puts("end");
	return 0;
}
