/* SPDX-License-Identifier: BSD-2-Clause */
/* gpu_costs_linked [ROUNDS]: what the driver's calls cost, on the host and on the device, and how close together the device runs work.
 * One JSON object a line: {"name": [samples, ns]}; scripts/gpu_check/costs.py says what each is worth.
 *
 * Costs on the device are read off events: behind a kernel that holds the stream back, so that all is queued before anything begins.
 * stamp__5us writes when it began and ended by the device's global timer; the simulated driver's kernels write nothing, and its
 * kernels take exactly 5 us. */
#include <cuda.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host_time.h"

#define CHAIN 128 /* operations between two events */
#define SAMPLES_MAX 4096
#define STAMP_NS 5000
#define POLL_GIVES_UP_NS 100000000

static CUfunction empty, hold, stamp;
static CUstream stream;
static CUevent first, last, chain[CHAIN];
static CUdeviceptr stamps, word;
static volatile uint32_t *word_on_host;
static uint64_t stamped[2 * CHAIN];
static long samples[SAMPLES_MAX];
static int n_samples;

static void sample(long ns)
{
	if (n_samples < SAMPLES_MAX)
		samples[n_samples++] = ns;
}

static void say(const char *name)
{
	printf("{\"%s\": [", name);
	for (int i = 0; i < n_samples; i++)
		printf("%s%ld", i ? ", " : "", samples[i]);
	puts("]}");
	fflush(stdout);
	n_samples = 0;
}

/* ---- the kernels ------------------------------------------------------------------------------------- */

#define HEAD ".version 6.4\n.target sm_75\n.address_size 64\n"
#define SPIN(ns)                                                              \
	"\tmov.u64 %begin, %globaltimer;\n\tadd.u64 %end, %begin, " #ns ";\n" \
	"again:\n\tmov.u64 %now, %globaltimer;\n\tsetp.lt.u64 %p, %now, %end;\n\t@%p bra again;\n"
#define REGISTERS "\t.reg .pred %p;\n\t.reg .u64 %place, %begin, %end, %now;\n"

static const char module_text[] = HEAD
	".visible .entry empty__1us()\n{\n\tret;\n}\n"
	".visible .entry hold__3000us()\n{\n" REGISTERS SPIN(
		3000000) "\tret;\n}\n"
			 ".visible .entry stamp__5us(.param .u64 place)\n{\n" REGISTERS
			 "\tld.param.u64 %place, [place];\n" SPIN(
				 5000) "\tst.global.u64 [%place], %begin;\n\tst.global.u64 [%place+8], %now;\n\tret;\n}\n";

static void start(void)
{
	CUcontext context;
	CUmodule module;
	void *pinned;

	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, module_text));
	CHECK(cuModuleGetFunction(&empty, module, "empty__1us"));
	CHECK(cuModuleGetFunction(&hold, module, "hold__3000us"));
	CHECK(cuModuleGetFunction(&stamp, module, "stamp__5us"));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuEventCreate(&first, CU_EVENT_DEFAULT));
	CHECK(cuEventCreate(&last, CU_EVENT_DEFAULT));
	for (int i = 0; i < CHAIN; i++)
		CHECK(cuEventCreate(&chain[i], CU_EVENT_DEFAULT));
	CHECK(cuMemAlloc(&stamps, sizeof(stamped)));
	CHECK(cuMemsetD8(stamps, 0, sizeof(stamped)));
	CHECK(cuMemHostAlloc(&pinned, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
	memset(pinned, 0, 4096);
	word_on_host = pinned;
	CHECK(cuMemHostGetDevicePointer(&word, pinned, 0));
}

static void launch(CUfunction f, void **arguments)
{
	CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
}

static void launch_stamp(int i)
{
	CUdeviceptr place = stamps + 16 * (unsigned)i;
	void *arguments[] = { &place };

	launch(stamp, arguments);
}

static void wait_all(void)
{
	CHECK(cuStreamSynchronize(stream));
}

/* ---- host: a call, timed by itself ------------------------------------------------------------------- */

/* BODY is called `times` times; each is a sample, less what two readings of the clock take. */
#define TIME_CALL(name, times, before, body)                  \
	do {                                                  \
		for (int i = 0; i < (times); i++) {           \
			long begin_;                          \
			before;                               \
			begin_ = now_ns();                    \
			body;                                 \
			sample(now_ns() - begin_ - clock_ns); \
		}                                             \
		say(name);                                    \
	} while (0)

static void host_costs(int rounds)
{
	long clock_ns = 0, begin = now_ns();
	float ms;

	for (int i = 0; i < 1000; i++)
		now_ns();
	clock_ns = (now_ns() - begin) / 1001;
	for (int i = 0; i < 100; i++) { /* warm */
		launch(empty, NULL);
		CHECK(cuEventRecord(first, stream));
		wait_all();
	}
	sample(clock_ns);
	say("clock_ns");
	TIME_CALL("launch_ns", rounds, wait_all(), launch(empty, NULL));
	TIME_CALL("event_record_ns", rounds, wait_all(), CHECK(cuEventRecord(first, stream)));
	CHECK(cuEventRecord(first, stream));
	CHECK(cuEventRecord(last, stream));
	wait_all();
	TIME_CALL("event_query_ns", rounds, (void)0, CHECK(cuEventQuery(first)));
	TIME_CALL("stream_query_ns", rounds, (void)0, CHECK(cuStreamQuery(stream)));
	TIME_CALL("event_elapsed_ns", rounds, (void)0, CHECK(cuEventElapsedTime(&ms, first, last)));
	TIME_CALL("stream_write_ns", rounds, wait_all(), CHECK(cuStreamWriteValue32(stream, word, 0, 0)));
	wait_all();
	launch(hold, NULL);
	TIME_CALL("event_record_busy_ns", CHAIN, (void)0, CHECK(cuEventRecord(chain[i], stream)));
	CHECK(cuEventRecord(last, stream));
	TIME_CALL("event_query_busy_ns", CHAIN, (void)0, (void)cuEventQuery(last));
	wait_all();
}

/* ---- device: how far apart ----------------------------------------------------------------------------- */

enum link { LINK_EVENT, LINK_KERNEL, LINK_WRITE, LINK_STAMP, LINK_STAMP_EVENT };

static void put(enum link link, int i)
{
	switch (link) {
	case LINK_EVENT:
		CHECK(cuEventRecord(chain[i], stream));
		break;
	case LINK_KERNEL:
		launch(empty, NULL);
		break;
	case LINK_WRITE:
		CHECK(cuStreamWriteValue32(stream, word, (uint32_t)i, 0));
		break;
	case LINK_STAMP:
		launch_stamp(i);
		break;
	case LINK_STAMP_EVENT:
		launch_stamp(i);
		CHECK(cuEventRecord(chain[i], stream));
		break;
	}
}

static long between(CUevent a, CUevent b)
{
	float ms;

	CHECK(cuEventElapsedTime(&ms, a, b));
	return (long)((double)ms * 1e6 + 0.5);
}

static void read_stamps(void)
{
	CHECK(cuMemcpyDtoH(stamped, stamps, sizeof(stamped)));
}

/* From one kernel's end to the next one's begin; nothing where the kernels wrote nothing. */
static void stamp_gaps(const char *name)
{
	for (int i = 1; i < CHAIN && stamped[2 * i]; i++)
		sample((long)(stamped[2 * i] - stamped[2 * i - 1]));
	say(name);
}

static void stamp_resolution(void)
{
	for (int i = 0; i < CHAIN && stamped[2 * i]; i++)
		sample((long)(stamped[2 * i + 1] - stamped[2 * i]));
	say("stamped_kernel_ns");
}

/* Whether all was queued before the first of it began; else a sample is of the host's pace. */
static bool held_back(CUevent begin)
{
	return cuEventQuery(begin) == CUDA_ERROR_NOT_READY;
}

/* What each of CHAIN operations in a row takes of the stream's time. */
static void device_cost(const char *name, enum link link, int rounds)
{
	for (int round = 0; round < rounds; round++) {
		bool held;

		launch(hold, NULL);
		CHECK(cuEventRecord(first, stream));
		for (int i = 0; i < CHAIN; i++)
			put(link, i);
		CHECK(cuEventRecord(last, stream));
		held = held_back(first);
		wait_all();
		if (held)
			sample(between(first, last) / CHAIN);
	}
	say(name);
}

/* An event right behind a kernel that an event stands right before: what is more than the kernel itself. */
static void event_after_work(void)
{
	bool held;

	launch(hold, NULL);
	for (int i = 0; i + 1 < CHAIN; i += 2) {
		CHECK(cuEventRecord(chain[i], stream));
		launch_stamp(i);
		CHECK(cuEventRecord(chain[i + 1], stream));
	}
	held = held_back(chain[0]);
	wait_all();
	read_stamps();
	for (int i = 0; held && i + 1 < CHAIN; i += 2) {
		long kernel_ns = stamped[2 * i] ? (long)(stamped[2 * i + 1] - stamped[2 * i]) : STAMP_NS;

		sample(between(chain[i], chain[i + 1]) - kernel_ns);
	}
	say("event_after_work_ns");
}

static void graph_cost(int rounds)
{
	CUgraph g;
	CUgraphExec exec;
	CUgraphNode node = NULL;

	CHECK(cuGraphCreate(&g, 0));
	for (int i = 0; i < CHAIN; i++) {
		CUdeviceptr place = stamps + 16 * (unsigned)i;
		void *arguments[] = { &place };
		CUDA_KERNEL_NODE_PARAMS p = { .func = stamp,
					      .gridDimX = 1,
					      .gridDimY = 1,
					      .gridDimZ = 1,
					      .blockDimX = 1,
					      .blockDimY = 1,
					      .blockDimZ = 1,
					      .kernelParams = arguments };

		CHECK(cuGraphAddKernelNode(&node, g, &node, i > 0, &p));
	}
	CHECK(cuGraphInstantiate(&exec, g, 0));
	CHECK(cuGraphLaunch(exec, stream));
	wait_all();
	for (int round = 0; round < rounds; round++) {
		bool held;

		launch(hold, NULL);
		CHECK(cuEventRecord(first, stream));
		CHECK(cuGraphLaunch(exec, stream));
		CHECK(cuEventRecord(last, stream));
		held = held_back(first);
		wait_all();
		if (held)
			sample(between(first, last) / CHAIN - STAMP_NS);
	}
	say("graph_node_gap_by_events_ns");
	read_stamps();
	stamp_gaps("graph_node_gap_ns");
}

/* ---- host and device ------------------------------------------------------------------------------------ */

/* From a launch's return, on an empty stream, to the first query that finds it done: no start can be later. */
static void launch_latency(int rounds, unsigned pause_us, const char *name)
{
	for (int i = 0; i < rounds; i++) {
		long returned;

		wait_all();
		if (pause_us)
			usleep(pause_us);
		launch(empty, NULL);
		returned = now_ns();
		while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY)
			;
		sample(now_ns() - returned);
	}
	say(name);
}

static long event_latency_once(void)
{
	long returned;

	wait_all();
	CHECK(cuEventRecord(first, stream));
	returned = now_ns();
	while (cuEventQuery(first) == CUDA_ERROR_NOT_READY)
		;
	return now_ns() - returned;
}

static volatile uint32_t awaited;
static volatile long seen_ns;
static volatile bool watching;

/* A second thread sees in memory when the stream has come to the write behind the work; it makes no call. */
static void *watch(void *unused)
{
	while (watching)
		if (awaited && *word_on_host == awaited) {
			awaited = 0;
			seen_ns = now_ns();
		}
	return unused;
}

static void wake(int rounds, bool blocking, const char *name)
{
	pthread_t watcher;
	CUevent event;

	CHECK(cuEventCreate(&event, CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING));
	watching = true;
	if (pthread_create(&watcher, NULL, watch, NULL))
		exit(1);
	for (int i = 0; i < rounds; i++) {
		long returned, until;
		uint32_t value = (uint32_t)i + 1000;

		seen_ns = 0;
		awaited = value;
		for (int k = 0; k < 20; k++)
			launch_stamp(k);
		CHECK(cuStreamWriteValue32(stream, word, value, 0));
		if (blocking) {
			CHECK(cuEventRecord(event, stream));
			CHECK(cuEventSynchronize(event));
		} else {
			wait_all();
		}
		returned = now_ns();
		until = returned + POLL_GIVES_UP_NS;
		while (!seen_ns && now_ns() < until)
			;
		if (seen_ns)
			sample(returned - seen_ns);
		awaited = 0;
	}
	watching = false;
	pthread_join(watcher, NULL);
	say(name);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 400, few = rounds / 40 + 2;

	if (rounds < 1 || rounds > SAMPLES_MAX)
		return 2;
	start();
	host_costs(rounds);
	device_cost("device_event_ns", LINK_EVENT, few);
	device_cost("device_kernel_ns", LINK_KERNEL, few);
	device_cost("device_write_ns", LINK_WRITE, few);
	device_cost("device_stamp_event_ns", LINK_STAMP_EVENT, few);
	device_cost("device_stamp_ns", LINK_STAMP, few);
	read_stamps();
	stamp_resolution();
	stamp_gaps("stream_gap_ns");
	event_after_work();
	graph_cost(few);
	launch_latency(rounds, 0, "launch_latency_ns");
	launch_latency(rounds / 4 + 1, 500, "launch_latency_after_pause_ns");
	for (int i = 0; i < rounds; i++)
		sample(event_latency_once());
	say("event_latency_ns");
	wake(rounds / 4 + 1, false, "wake_ns");
	wake(rounds / 4 + 1, true, "wake_blocking_ns");
	return 0;
}
