/* SPDX-License-Identifier: BSD-2-Clause */
/* idle_shapes_linked SHAPE SECONDS SEED: one stream of work after another whose idle time no record shows unless single submissions are
 * timed. The host's pauses between submissions are random, but the same for a seed.
 *
 *   launch-bound   kernels of three lengths, each alone: the device waits for the host after most of them
 *   sync-bound     a few kernels, a synchronise, some computing
 *   streams        eight streams that overlap, and wait for each other's events now and then
 *   graphs         launches of a graph of six kernels, which run alone before it is made
 *   mixture        all of these in turn, a queue that is always full, copies, and sleep */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host_time.h"

#define STREAMS 8
#define NODES 6
#define PHASE_NS 60000000
#define BYTES 65536u

static CUstream streams[STREAMS];
static CUevent events[STREAMS];
static CUfunction short_kernel, middle_kernel, long_kernel;
static CUgraphExec executable;
static CUdeviceptr buffer;
static void *host;
static unsigned long state;

/* low <= result < high */
static long between(long low, long high)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return low + (long)((state >> 33) % (unsigned long)(high - low));
}

static void launch(CUfunction kernel, unsigned blocks, CUstream s)
{
	check(cuLaunchKernel(kernel, blocks, 1, 1, 128, 1, 1, 0, s, NULL, NULL), "launch");
}

static void any_launch(CUstream s)
{
	CUfunction kernels[] = { short_kernel, middle_kernel, long_kernel };

	launch(kernels[between(0, 3)], 64, s);
}

/* ---- one round of each --------------------------------------------------------------------------------- */

static void launch_bound(void)
{
	any_launch(streams[0]);
	compute(between(5000, 80000));
}

static void sync_bound(void)
{
	for (long n = between(1, 5); n > 0; n--)
		launch(long_kernel, 32, streams[0]);
	check(cuStreamSynchronize(streams[0]), "synchronise");
	compute(between(5000, 120000));
}

static void overlapping(void)
{
	long to = between(0, STREAMS), from = between(0, STREAMS);

	if (between(0, 8) == 0) {
		check(cuEventRecord(events[from], streams[from]), "record");
		check(cuStreamWaitEvent(streams[to], events[from], 0), "wait");
	}
	any_launch(streams[to]);
	compute(between(0, 60000));
}

static void graph(void)
{
	check(cuGraphLaunch(executable, streams[0]), "graph launch");
	compute(between(150000, 500000));
}

static void full_queue(void)
{
	launch(long_kernel, 16, streams[0]);
}

static void copies(void)
{
	check(cuMemcpyHtoDAsync(buffer, host, BYTES, streams[1]), "copy");
	check(cuEventRecord(events[1], streams[1]), "record");
	check(cuStreamWaitEvent(streams[0], events[1], 0), "wait");
	launch(middle_kernel, 8, streams[0]);
	check(cuMemcpyDtoHAsync(host, buffer, BYTES, streams[0]), "copy back");
	check(cuMemsetD8Async(buffer, 0, BYTES, streams[0]), "set");
	compute(between(20000, 90000));
}

static void sleep_a_while(void)
{
	usleep((unsigned)between(1000, 9000));
	launch(long_kernel, 32, streams[0]);
}

static void mixture(void)
{
	static void (*const phases[])(void) = { launch_bound, sync_bound, overlapping,  graph,
						full_queue,   copies,     sleep_a_while };

	phases[now_ns() / PHASE_NS % (long)(sizeof(phases) / sizeof(phases[0]))]();
}

/* ---- all ------------------------------------------------------------------------------------------------ */

static void make_graph(void)
{
	CUgraph made;

	for (int i = 0; i < 400; i++) {
		launch(middle_kernel, 64, streams[0]);
		launch(long_kernel, 64, streams[0]);
	}
	check(cuStreamSynchronize(streams[0]), "synchronise");
	check(cuStreamBeginCapture(streams[0], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "begin capture");
	for (int i = 0; i < NODES; i++)
		launch(i % 2 ? long_kernel : middle_kernel, 64, streams[0]);
	check(cuStreamEndCapture(streams[0], &made), "end capture");
	check(cuGraphInstantiateWithFlags(&executable, made, 0), "instantiate");
}

static void set_up(void)
{
	CUcontext context;
	CUmodule module;

	check(cuInit(0), "init");
	check(cuDevicePrimaryCtxRetain(&context, 0), "retain");
	check(cuCtxSetCurrent(context), "set current");
	check(cuModuleLoadData(&module, "x"), "load");
	check(cuModuleGetFunction(&short_kernel, module, "short__6us"), "function");
	check(cuModuleGetFunction(&middle_kernel, module, "middle__17us"), "function");
	check(cuModuleGetFunction(&long_kernel, module, "long__45us"), "function");
	check(cuMemAlloc(&buffer, BYTES), "alloc");
	check(cuMemHostAlloc(&host, BYTES, 0), "host alloc");
	for (int i = 0; i < STREAMS; i++) {
		check(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING), "stream");
		check(cuEventCreate(&events[i], CU_EVENT_DISABLE_TIMING), "event");
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*round)(void);
	} shapes[] = { { "launch-bound", launch_bound },
		       { "sync-bound", sync_bound },
		       { "streams", overlapping },
		       { "graphs", graph },
		       { "mixture", mixture } };
	void (*round)(void) = NULL;
	long end;

	for (size_t i = 0; argc == 4 && i < sizeof(shapes) / sizeof(shapes[0]); i++)
		if (strcmp(argv[1], shapes[i].name) == 0)
			round = shapes[i].round;
	if (!round)
		return 2;
	state = strtoul(argv[3], NULL, 10) * 2654435761u + 1;
	set_up();
	if (round == graph || round == mixture)
		make_graph();
	end = now_ns() + (long)(strtod(argv[2], NULL) * 1e9);
	while (now_ns() < end)
		round();
	check(cuCtxSynchronize(), "synchronise");
	return 0;
}
