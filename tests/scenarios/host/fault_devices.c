/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_devices.c: each further device has a thread that feeds it, and a cause of its own for which it is idle: the first of them sleeps, the second
 * computes, the third takes memory and gives it back ($SIMGPU_SLOW). The loop's own device waits for what the main thread computes. */
#include "work.h"

#include <pthread.h>
#include <stdatomic.h>

static pthread_t threads[DEVICES_MAX];
static atomic_bool over;
static int devices;

static struct span begin_on(const char *cause, int device, long step)
{
	struct span s = span_begin(cause, "main", step);

	s.device = device;
	return s;
}

static void be_late(int device, long step)
{
	long ns = (long)(lab_random((uint64_t)device, (uint64_t)step) % (8 * MS)) + MS;
	CUdeviceptr memory;
	struct span s;

	switch (device % 3) {
	case 1:
		s = begin_on("host-sleep", device, step);
		sleep_ns(ns);
		break;
	case 2:
		s = begin_on("host-compute", device, step);
		compute_cpu(ns);
		break;
	default:
		s = begin_on("allocator", device, step);
		CHECK(cuMemAlloc(&memory, 4 << 20));
		CHECK(cuMemFree(memory));
	}
	span_end(&s);
}

static void *feed(void *arg)
{
	int device = (int)(long)arg;
	CUfunction kernel = work_kernel(device, "theirs__1500us");
	CUstream stream = work_stream(device, 0);

	CHECK(cuCtxSetCurrent(work_context(device)));
	for (long step = 0; !over; step++) {
		work_launch(device, kernel, stream);
		CHECK(cuStreamSynchronize(stream));
		be_late(device, step);
	}
	work_launch(device, kernel, stream);
	CHECK(cuStreamSynchronize(stream));
	return NULL;
}

static void open_devices(void)
{
	devices = (int)lab_param("SIMGPU_DEVICES", 2);
	for (long i = 1; i < devices; i++)
		REQUIRE(pthread_create(&threads[i], NULL, feed, (void *)i) == 0);
}

static void act_devices(long step)
{
	struct span s = begin_on("host-compute", 0, step);

	compute_cpu(lab_length(step));
	span_end(&s);
}

static void close_devices(void)
{
	over = true;
	for (int i = 1; i < devices; i++)
		pthread_join(threads[i], NULL);
}

const struct fault fault_devices = { "devices", open_devices, NULL, act_devices, close_devices };
