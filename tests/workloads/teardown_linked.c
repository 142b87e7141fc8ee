/* SPDX-License-Identifier: BSD-2-Clause */
/* teardown_linked CASE [LIBRARY]: what a recorder may trip over when contexts, streams and threads go and the loader is busy.
 * Linked to the driver, so that a first call reaches the shim without a look-up before it. */
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 6000 /* more than the shim's table has places for streams (4096) */

static CUcontext context;
static CUfunction kernel;

static void check(CUresult rc, const char *what)
{
	if (rc != CUDA_SUCCESS)
		printf("%s: error %d\n", what, (int)rc);
}

static void start(const char *name)
{
	CUmodule module;

	check(cuInit(0), "init");
	check(cuDevicePrimaryCtxRetain(&context, 0), "retain");
	check(cuCtxSetCurrent(context), "set current");
	check(cuModuleLoadData(&module, "x"), "load");
	check(cuModuleGetFunction(&kernel, module, name), "function");
}

static void launch(CUstream s)
{
	check(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, s, NULL, NULL), "launch");
}

/* The primary context goes while it is no thread's current one and work is outstanding; then there is time to notice. */
static void release(void)
{
	CUstream s;

	start("kernel__2000us");
	check(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), "create");
	launch(s);
	check(cuCtxSetCurrent(NULL), "unset");
	check(cuDevicePrimaryCtxRelease(0), "release");
	usleep(300000);
}

/* The process's first look-up of a call; the driver may lack most of the others. */
static void look_up(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW), *function;
	const char *error;

	dlerror();
	function = dlsym(driver, "cuInit");
	error = dlerror();
	printf("cuInit: %s, dlerror: %s\n", function ? "found" : "none", error ? error : "none");
}

static void *one_launch(void *arg)
{
	check(cuCtxSetCurrent(context), "set current");
	launch(CU_STREAM_PER_THREAD);
	check(cuStreamSynchronize(CU_STREAM_PER_THREAD), "synchronise");
	return arg;
}

/* Threads one after the other, each with a default stream of its own. */
static void threads(void)
{
	start("kernel__2us");
	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, one_launch, NULL) != 0)
			exit(3);
		pthread_join(thread, NULL);
	}
}

static void *load(void *library)
{
	if (!dlopen(library, RTLD_NOW))
		fprintf(stderr, "%s\n", dlerror());
	return NULL;
}

/* The first call is made while another thread is in the constructor of LIBRARY and so holds the loader's lock. That constructor
 * says so in the pipe named by TEARDOWN_PIPE, gives us time to be in the call, and then looks the same call up. */
static void loader_lock(char *library)
{
	pthread_t thread;
	char text[16];
	int ends[2];

	if (pipe(ends) != 0)
		exit(3);
	snprintf(text, sizeof(text), "%d", ends[1]);
	setenv("TEARDOWN_PIPE", text, 1);
	if (pthread_create(&thread, NULL, load, library) != 0 || read(ends[0], text, 1) != 1)
		exit(3);
	check(cuInit(0), "init");
	pthread_join(thread, NULL);
}

/* A handle is used after its stream was destroyed; then a new stream gets the same one. */
static void handle_again(void)
{
	CUstream before, after;

	start("kernel__200us"); /* longer than what a launch may take to begin: how long each ran is then known */
	check(cuStreamCreate(&before, CU_STREAM_NON_BLOCKING), "create");
	check(cuStreamDestroy(before), "destroy");
	launch(before);
	check(cuStreamCreate(&after, CU_STREAM_NON_BLOCKING), "create again");
	printf("same handle: %d\n", before == after);
	for (int i = 0; i < 20; i++) {
		launch(after);
		check(cuStreamSynchronize(after), "synchronise");
		usleep(1000);
	}
}

int main(int argc, char **argv)
{
	const char *which = argc > 1 ? argv[1] : "";

	if (strcmp(which, "release") == 0)
		release();
	else if (strcmp(which, "look-up") == 0)
		look_up();
	else if (strcmp(which, "threads") == 0)
		threads();
	else if (strcmp(which, "loader-lock") == 0 && argc > 2)
		loader_lock(argv[2]);
	else if (strcmp(which, "handle-again") == 0)
		handle_again();
	else
		return 2;
	puts("end");
	return 0;
}
