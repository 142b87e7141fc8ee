/* SPDX-License-Identifier: BSD-2-Clause */
#include "work.h"

#include <pthread.h>
#include <sched.h>

#define STREAMS_MAX 8

static struct device {
	CUcontext context;
	CUmodule module;
	CUstream streams[STREAMS_MAX];
} devices[DEVICES_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct device *device_of(int device)
{
	struct device *d = &devices[device];

	REQUIRE(device >= 0 && device < DEVICES_MAX);
	pthread_mutex_lock(&lock);
	if (!d->context) {
		CUcontext was;

		CHECK(cuCtxGetCurrent(&was));
		CHECK(cuDevicePrimaryCtxRetain(&d->context, device));
		CHECK(cuCtxSetCurrent(d->context));
		CHECK(cuModuleLoadData(&d->module, "x"));
		CHECK(cuCtxSetCurrent(was));
	}
	pthread_mutex_unlock(&lock);
	return d;
}

CUcontext work_context(int device)
{
	return device_of(device)->context;
}

CUcontext work_enter(int device)
{
	CUcontext was;

	CHECK(cuCtxGetCurrent(&was));
	if (was != work_context(device))
		CHECK(cuCtxSetCurrent(work_context(device)));
	return was;
}

void work_leave(CUcontext was)
{
	CUcontext is;

	CHECK(cuCtxGetCurrent(&is));
	if (is != was)
		CHECK(cuCtxSetCurrent(was));
}

CUfunction work_kernel(int device, const char *name)
{
	CUcontext was = work_enter(device);
	CUfunction kernel;

	CHECK(cuModuleGetFunction(&kernel, devices[device].module, name));
	work_leave(was);
	return kernel;
}

CUfunction work_kernel_of(int device, const char *word, long us)
{
	char name[64];

	snprintf(name, sizeof(name), "%s__%ldus", word, us);
	return work_kernel(device, name);
}

CUstream work_stream(int device, int n)
{
	struct device *d = device_of(device);

	REQUIRE(n < STREAMS_MAX);
	if (!d->streams[n]) {
		CUcontext was = work_enter(device);

		CHECK(cuStreamCreate(&d->streams[n], CU_STREAM_NON_BLOCKING));
		work_leave(was);
	}
	return d->streams[n];
}

void work_launch(int device, CUfunction kernel, CUstream stream)
{
	CUcontext was = work_enter(device);

	CHECK(cuLaunchKernel(kernel, 64, 1, 1, 128, 1, 1, 0, stream, NULL, NULL));
	work_leave(was);
}

void work_wait(int device)
{
	CUcontext was = work_enter(device);

	CHECK(cuCtxSynchronize());
	work_leave(was);
}

void work_realtime(void)
{
	struct sched_param first = { .sched_priority = 1 };

	if (lab_param("LAB_REALTIME", 0))
		sched_setscheduler(0, SCHED_FIFO, &first);
}
