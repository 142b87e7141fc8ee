/* SPDX-License-Identifier: BSD-2-Clause */
/* waits_linked CASE ROUNDS: a device stands idle although work for it is queued, for a reason that is known.
 *   devices   the second device's kernel waits for an event behind a longer one of the first
 *   relay     … and a third device's for the second's, which does no work of its own in between
 *   streams   a kernel waits for an event in another stream, where a host function holds it up
 *   values    the second device's kernel waits for a value in memory, which the first device's stream writes behind a longer one
 *   late      … which nothing stands before, but the host writes it only after 1.5 ms
 *   unseen    … which the host writes with a store
 *   graph     a graph of two kernels, and between them a host node
 *   latency   a kernel is queued while another stream's runs; the device takes long to start it (SIMGPU_LATENCY_US)
 *   alone     a kernel, a synchronise, a pause: what another process on the device does to it
 *   other     that process: half of the time the device is full of its kernels */
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DEVICES 3

static struct device {
	CUcontext context;
	CUfunction shorter, longer;
	CUstream stream, other;
	CUevent event;
} devices[DEVICES];

static void check(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "%s: error %d\n", what, rc);
	exit(1);
}

static long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void compute_until(long us)
{
	while (now_us() < us)
		;
}

static void start(int n)
{
	CUmodule module;

	check(cuInit(0), "cuInit");
	for (int i = 0; i < n; i++) {
		struct device *d = &devices[i];

		check(cuDevicePrimaryCtxRetain(&d->context, i), "retain");
		check(cuCtxSetCurrent(d->context), "set current");
		check(cuModuleLoadData(&module, "x"), "load");
		check(cuModuleGetFunction(&d->shorter, module, "shorter__50us"), "function");
		check(cuModuleGetFunction(&d->longer, module, "longer__1500us"), "function");
		check(cuStreamCreate(&d->stream, CU_STREAM_NON_BLOCKING), "create");
		check(cuStreamCreate(&d->other, CU_STREAM_NON_BLOCKING), "create");
		check(cuEventCreate(&d->event, CU_EVENT_DISABLE_TIMING), "event");
	}
}

static void launch(struct device *d, CUfunction f, CUstream s)
{
	check(cuCtxSetCurrent(d->context), "set current");
	check(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, s, NULL, NULL), "launch");
}

static void finish(struct device *d)
{
	check(cuCtxSetCurrent(d->context), "set current");
	check(cuCtxSynchronize(), "synchronise");
}

/* n devices, each behind the one before; those between do nothing in `other`, through which the wait goes on. */
static void devices_round(int n)
{
	struct device *first = &devices[0], *last = &devices[n - 1];

	launch(last, last->shorter, last->stream);
	launch(first, first->longer, first->stream);
	check(cuEventRecord(first->event, first->stream), "record");
	for (int i = 1; i < n; i++) {
		struct device *d = &devices[i];
		CUstream s = d == last ? d->stream : d->other;

		check(cuCtxSetCurrent(d->context), "set current");
		check(cuStreamWaitEvent(s, devices[i - 1].event, 0), "wait");
		if (d == last)
			launch(d, d->shorter, s);
		else
			check(cuEventRecord(d->event, s), "record");
	}
	finish(last);
	finish(first);
}

/* The second device waits for the number of the round. */
static void values_round(const char *how)
{
	static uint32_t *value, number;
	struct device *first = &devices[0], *last = &devices[1];
	long begin_us;
	CUdeviceptr at;

	if (!value)
		check(cuMemHostAlloc((void **)&value, 4096, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
		      "alloc");
	number++;
	launch(last, last->shorter, last->stream);
	check(cuMemHostGetDevicePointer(&at, value, 0), "pointer");
	check(cuStreamWaitValue32(last->stream, at, number, CU_STREAM_WAIT_VALUE_GEQ), "wait");
	launch(last, last->shorter, last->stream);
	begin_us = now_us();
	check(cuCtxSetCurrent(first->context), "set current");
	if (strcmp(how, "values") == 0)
		launch(first, first->longer, first->stream);
	else
		compute_until(begin_us + 1500);
	if (strcmp(how, "unseen") == 0)
		__atomic_store_n(value, number, __ATOMIC_RELEASE);
	else
		check(cuStreamWriteValue32(first->stream, at, number, CU_STREAM_WRITE_VALUE_DEFAULT), "write");
	finish(last);
	finish(first);
}

static void CUDA_CB sleep_a_while(void *arg)
{
	(void)arg;
	usleep(1500);
}

static void streams_round(void)
{
	struct device *d = &devices[0];

	launch(d, d->shorter, d->other);
	check(cuLaunchHostFunc(d->other, sleep_a_while, NULL), "host function");
	check(cuEventRecord(d->event, d->other), "record");
	check(cuStreamWaitEvent(d->stream, d->event, 0), "wait");
	launch(d, d->shorter, d->stream);
	finish(d);
}

static void graph_round(void)
{
	static CUgraphExec exec;
	struct device *d = &devices[0];

	if (!exec) {
		CUDA_KERNEL_NODE_PARAMS kernel = { .func = d->shorter,
						   .gridDimX = 1,
						   .gridDimY = 1,
						   .gridDimZ = 1,
						   .blockDimX = 32,
						   .blockDimY = 1,
						   .blockDimZ = 1 };
		const CUDA_HOST_NODE_PARAMS host = { .fn = sleep_a_while };
		CUgraphNode first, between, last;
		CUgraph graph;

		check(cuGraphCreate(&graph, 0), "graph");
		check(cuGraphAddKernelNode(&first, graph, NULL, 0, &kernel), "kernel node");
		check(cuGraphAddHostNode(&between, graph, &first, 1, &host), "host node");
		check(cuGraphAddKernelNode(&last, graph, &between, 1, &kernel), "kernel node");
		check(cuGraphInstantiate(&exec, graph, 0), "instantiate");
	}
	check(cuGraphLaunch(exec, d->stream), "graph launch");
	finish(d);
}

/* The second launch comes half the latency before the first kernel ends: the device is idle for the other half. The program asks when the
 * first is done: an event of the recorder's, as before a synchronise, would take as long to fire as the second kernel to start. */
static void latency_round(void)
{
	struct device *d = &devices[0];
	long begin_us = now_us(), latency_us = atol(getenv("SIMGPU_LATENCY_US"));

	launch(d, d->longer, d->stream);
	compute_until(begin_us + latency_us / 2 + 1500);
	launch(d, d->shorter, d->other);
	while (cuStreamQuery(d->stream) == CUDA_ERROR_NOT_READY)
		;
	finish(d);
}

static void alone_round(void)
{
	launch(&devices[0], devices[0].shorter, devices[0].stream);
	finish(&devices[0]);
	usleep(105000); /* the recorder looks at a start ten times a second */
}

/* A pause is twice as long as one of alone's: of four rounds there, about two find the device free. */
static void other_round(void)
{
	long until_us = now_us() + 210000;

	while (now_us() < until_us) {
		for (int i = 0; i < 4; i++)
			launch(&devices[0], devices[0].longer, devices[0].stream);
		finish(&devices[0]);
	}
	usleep(210000);
}

int main(int argc, char **argv)
{
	const char *name = argc == 3 ? argv[1] : "";
	long rounds = argc == 3 ? atol(argv[2]) : 0;
	int n = strcmp(name, "devices") == 0 ? 2 : strcmp(name, "relay") == 0 ? 3 : 1;
	bool values = strcmp(name, "values") == 0 || strcmp(name, "late") == 0 || strcmp(name, "unseen") == 0;

	if (!rounds)
		return 2;
	n = values ? 2 : n;
	start(n);
	for (int i = 0; i<n; i += n> 1 ? n - 1 : 1) { /* warm */
		launch(&devices[i], devices[i].shorter, devices[i].stream);
		finish(&devices[i]);
	}
	while (rounds-- > 0) {
		if (values)
			values_round(name);
		else if (n > 1)
			devices_round(n);
		else if (strcmp(name, "streams") == 0)
			streams_round();
		else if (strcmp(name, "graph") == 0)
			graph_round();
		else if (strcmp(name, "latency") == 0)
			latency_round();
		else if (strcmp(name, "other") == 0)
			other_round();
		else
			alone_round();
	}
	return 0;
}
