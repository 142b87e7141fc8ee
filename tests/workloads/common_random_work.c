/* SPDX-License-Identifier: BSD-2-Clause */
/* Each thread has lanes: a stream, a device buffer that only this stream touches, and what the buffer must hold once all queued
 * work is done. Streams run in order, so what a copy brings back is known when it is queued, however late it arrives. */
#include "common_random_work.h"

#include "common_random.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	LANES = 5,
	BUFFER_BYTES = 192 << 10,
	SLOT_BYTES =
		48 << 10, /* a pinned transfer; below and above this size drivers treat pageable memory differently */
	SLOTS = 8,        /* pinned transfers on their way per lane */
	MAX_THREADS = 16,
};

struct readback { /* a pinned copy from the device that may still be on its way */
	const uint8_t *at;
	uint8_t *expect;
	size_t bytes;
};

struct lane {
	CUstream stream;
	CUdeviceptr buffer;
	uint8_t *expect; /* the buffer's bytes once all queued work is done */
	uint8_t *pinned; /* SLOTS slots */
	unsigned slots_used, readbacks;
	struct readback readback[SLOTS];
	CUevent event;
	bool recorded;
};

struct worker {
	struct random random;
	unsigned index;
	uint64_t checksum;
	struct lane lanes[LANES];
	CUmodule module;
	uint8_t *pageable;       /* BUFFER_BYTES */
	uint64_t host_functions; /* queued */
	uint64_t host_functions_run;
};

static struct options {
	uint64_t seed;
	unsigned actions, threads;
	bool endless;
	const char *calls;
} options = { .seed = 1, .actions = 500, .threads = 1 };

static CUcontext context;

static const char *const kernels[] = { "embed__5us",  "relu__12us",  "norm__30us",       "softmax__80us",
				       "gemm__250us", "conv__700us", "attention__2000us" };
enum { KERNELS = sizeof(kernels) / sizeof(*kernels) };

/* ---- checks ---------------------------------------------------------------------------------------------- */

#define MUST(expression) must(expression, #expression, __LINE__)
static void must(CUresult result, const char *what, int line)
{
	if (result == CUDA_SUCCESS)
		return;
	fprintf(stderr, "line %d: %s: result %d\n", line, what, (int)result);
	_exit(1);
}

static void *memory(size_t bytes)
{
	void *p = calloc(1, bytes);

	if (!p)
		abort();
	return p;
}

static void check_data(struct worker *w, const uint8_t *got, const uint8_t *expect, size_t bytes)
{
	if (memcmp(got, expect, bytes)) {
		fprintf(stderr, "wrong data from the device, %zu bytes\n", bytes);
		_exit(1);
	}
	w->checksum +=
		random_hash(bytes, got, bytes); /* a sum: when a copy is checked depends on when the device was done */
}

/* All the lane's work is done. */
static void lane_settled(struct worker *w, struct lane *l)
{
	for (unsigned i = 0; i < l->readbacks; i++) {
		check_data(w, l->readback[i].at, l->readback[i].expect, l->readback[i].bytes);
		free(l->readback[i].expect);
	}
	l->readbacks = l->slots_used = 0;
}

static void lane_synchronize(struct worker *w, struct lane *l)
{
	MUST(CU_WAITS(cuStreamSynchronize, l->stream));
	lane_settled(w, l);
}

static uint8_t *lane_slot(struct worker *w, struct lane *l)
{
	if (l->slots_used == SLOTS)
		lane_synchronize(w, l);
	return l->pinned + (size_t)l->slots_used++ * SLOT_BYTES;
}

static struct lane *any_lane(struct worker *w)
{
	return &w->lanes[random_below(&w->random, LANES)];
}

/* The default stream's lane: calls without a stream argument go there. Only thread 0's is the one they mean. */
static struct lane *default_lane(struct worker *w)
{
	return w->index == 0 ? &w->lanes[0] : NULL;
}

/* ---- copies ---------------------------------------------------------------------------------------------- */

struct part {
	size_t at, bytes;
};

static struct part any_part(struct worker *w, size_t limit)
{
	struct part p = { .bytes = 4 * (1 + random_below(&w->random, (unsigned)(limit / 4))) };

	p.at = 4 * random_below(&w->random, (unsigned)((BUFFER_BYTES - p.bytes) / 4 + 1));
	return p;
}

static void to_device_pageable(struct worker *w)
{
	struct lane *l = any_lane(w);
	struct part p = any_part(w, BUFFER_BYTES);

	random_fill(&w->random, w->pageable, p.bytes);
	memcpy(l->expect + p.at, w->pageable, p.bytes);
	if (l == default_lane(w) && random_below(&w->random, 2))
		MUST(CU(cuMemcpyHtoD_v2, l->buffer + p.at, w->pageable, p.bytes));
	else
		MUST(CU(cuMemcpyHtoDAsync_v2, l->buffer + p.at, w->pageable, p.bytes, l->stream));
	memset(w->pageable, 0xee, p.bytes); /* ours again, whether or not the device has it */
}

static void to_device_pinned(struct worker *w)
{
	struct lane *l = any_lane(w);
	struct part p = any_part(w, SLOT_BYTES);
	uint8_t *slot = lane_slot(w, l);

	random_fill(&w->random, slot, p.bytes);
	memcpy(l->expect + p.at, slot, p.bytes);
	if (l == default_lane(w) && random_below(&w->random, 3) == 0)
		MUST(CU_WAITS(cuMemcpyHtoD_v2, l->buffer + p.at, slot, p.bytes));
	else
		MUST(CU(cuMemcpyHtoDAsync_v2, l->buffer + p.at, slot, p.bytes, l->stream));
}

static void to_host_pageable(struct worker *w)
{
	struct lane *l = any_lane(w);
	struct part p = any_part(w, BUFFER_BYTES);

	if (l == default_lane(w) && random_below(&w->random, 2))
		MUST(CU_WAITS(cuMemcpyDtoH_v2, w->pageable, l->buffer + p.at, p.bytes));
	else
		MUST(CU_WAITS(cuMemcpyDtoHAsync_v2, w->pageable, l->buffer + p.at, p.bytes, l->stream));
	check_data(w, w->pageable, l->expect + p.at, p.bytes);
}

static void to_host_pinned(struct worker *w)
{
	struct lane *l = any_lane(w);
	struct part p = any_part(w, SLOT_BYTES);
	uint8_t *slot = lane_slot(w, l), *expect = memory(p.bytes);

	memcpy(expect, l->expect + p.at, p.bytes);
	MUST(CU(cuMemcpyDtoHAsync_v2, slot, l->buffer + p.at, p.bytes, l->stream));
	l->readback[l->readbacks++] = (struct readback){ slot, expect, p.bytes };
}

static void on_device(struct worker *w)
{
	struct lane *l = any_lane(w);
	struct part p = any_part(w, BUFFER_BYTES / 4);
	size_t to = (p.at + BUFFER_BYTES / 2) % (BUFFER_BYTES - p.bytes + 1) & ~(size_t)3;

	if (to < p.at + p.bytes && p.at < to + p.bytes)
		return; /* overlapping copies are undefined */
	memcpy(l->expect + to, l->expect + p.at, p.bytes);
	if (l == default_lane(w) && random_below(&w->random, 2))
		MUST(CU(cuMemcpyDtoD_v2, l->buffer + to, l->buffer + p.at, p.bytes));
	else
		MUST(CU(cuMemcpyDtoDAsync_v2, l->buffer + to, l->buffer + p.at, p.bytes, l->stream));
}

static void set(struct worker *w)
{
	struct lane *l = any_lane(w);
	struct part p = any_part(w, BUFFER_BYTES);
	uint32_t value = (uint32_t)random_next(&w->random);

	if (random_below(&w->random, 2)) {
		for (size_t i = 0; i < p.bytes; i += 4)
			memcpy(l->expect + p.at + i, &value, 4);
		MUST(CU(cuMemsetD32Async, l->buffer + p.at, value, p.bytes / 4, l->stream));
		return;
	}
	memset(l->expect + p.at, (int)(value & 0xff), p.bytes);
	if (l == default_lane(w) && value & 0x100)
		MUST(CU(cuMemsetD8_v2, l->buffer + p.at, value & 0xff, p.bytes));
	else
		MUST(CU(cuMemsetD8Async, l->buffer + p.at, value & 0xff, p.bytes, l->stream));
}

/* ---- kernels and host functions -------------------------------------------------------------------------- */

static CUfunction kernel(CUmodule module, unsigned i)
{
	CUfunction f;

	MUST(CU(cuModuleGetFunction, &f, module, kernels[i]));
	return f;
}

static void launch(CUfunction f, CUstream stream)
{
	MUST(CU(cuLaunchKernel, f, 64, 1, 1, 128, 1, 1, 0, stream, NULL, NULL));
}

static void launch_one(struct worker *w)
{
	launch(kernel(w->module, random_below(&w->random, KERNELS)), any_lane(w)->stream);
}

static void launch_burst(struct worker *w)
{
	struct lane *l = any_lane(w);
	CUfunction f = kernel(w->module, random_below(&w->random, KERNELS - 1));
	unsigned count = 2 + random_below(&w->random, 30);

	for (unsigned i = 0; i < count; i++)
		launch(f, l->stream);
}

static void host_function(void *argument)
{
	struct worker *w = argument;

	if (__atomic_fetch_add(&w->host_functions_run, 1, __ATOMIC_RELAXED) % 4 == 0)
		usleep(1500);
}

static void launch_host_function(struct worker *w)
{
	MUST(CU(cuLaunchHostFunc, any_lane(w)->stream, host_function, w));
	w->host_functions++;
}

/* ---- waiting --------------------------------------------------------------------------------------------- */

static void synchronize_stream(struct worker *w)
{
	lane_synchronize(w, any_lane(w));
}

static void synchronize_all(struct worker *w)
{
	MUST(CU_WAITS(cuCtxSynchronize, ));
	for (unsigned i = 0; i < LANES; i++)
		lane_settled(w, &w->lanes[i]);
	if (__atomic_load_n(&w->host_functions_run, __ATOMIC_RELAXED) != w->host_functions) {
		fprintf(stderr, "host functions not run: %llu of %llu\n", (unsigned long long)w->host_functions_run,
			(unsigned long long)w->host_functions);
		_exit(1);
	}
}

static void record_event(struct worker *w)
{
	struct lane *l = any_lane(w);

	MUST(CU(cuEventRecord, l->event, l->stream));
	l->recorded = true;
}

static void wait_for_other_lane(struct worker *w)
{
	struct lane *from = any_lane(w), *to = any_lane(w);

	if (from->recorded)
		MUST(CU(cuStreamWaitEvent, to->stream, from->event, 0));
}

static void synchronize_event(struct worker *w)
{
	struct lane *l = any_lane(w);

	if (l->recorded)
		MUST(CU_WAITS(cuEventSynchronize, l->event));
}

static void query(struct worker *w)
{
	struct lane *l = any_lane(w);
	CUresult result = CU(cuStreamQuery, l->stream);

	if (result == CUDA_SUCCESS)
		lane_settled(w, l);
	else if (result != CUDA_ERROR_NOT_READY)
		MUST(result);
	result = CU(cuEventQuery, l->event);
	if (result != CUDA_ERROR_NOT_READY)
		MUST(result);
}

static void poll_until_done(struct worker *w)
{
	struct lane *l = any_lane(w);

	while (CU(cuStreamQuery, l->stream) == CUDA_ERROR_NOT_READY)
		usleep(50);
	lane_settled(w, l);
}

static void measure_kernel(struct worker *w)
{
	struct lane *l = any_lane(w);
	CUevent from, to;
	float ms = -1;

	MUST(CU(cuEventCreate, &from, CU_EVENT_DEFAULT));
	MUST(CU(cuEventCreate, &to, CU_EVENT_BLOCKING_SYNC));
	MUST(CU(cuEventRecord, from, l->stream));
	launch(kernel(w->module, 4), l->stream);
	MUST(CU(cuEventRecord, to, l->stream));
	MUST(CU_WAITS(cuEventSynchronize, to));
	MUST(CU(cuEventElapsedTime, &ms, from, to));
	MUST(CU(cuEventDestroy_v2, from));
	MUST(CU(cuEventDestroy_v2, to));
	if (ms < 0.249f) {
		fprintf(stderr, "a kernel of 250 us took %f ms by its events\n", (double)ms);
		_exit(1);
	}
}

/* ---- the host's own business ----------------------------------------------------------------------------- */

static void host_silence(struct worker *w)
{
	uint64_t ns = 1000000 + random_below(&w->random, 19000) * 1000ull, until_ns = now_ns() + ns;

	if (random_below(&w->random, 2)) {
		usleep((useconds_t)(ns / 1000));
		return;
	}
	while (now_ns() < until_ns)
		continue;
}

static void synchronize_then_silence(struct worker *w)
{
	synchronize_all(w);
	host_silence(w);
}

static void allocate(struct worker *w)
{
	struct lane *l = any_lane(w);
	size_t bytes = (size_t)1 << (10 + random_below(&w->random, 13));
	CUdeviceptr p;

	MUST(CU(cuMemAlloc_v2, &p, bytes));
	MUST(CU(cuMemsetD8Async, p, 1, 1024, l->stream));
	if (random_below(&w->random, 2))
		lane_synchronize(w, l);
	MUST(CU(cuMemFree_v2, p));
}

static void pin_and_unpin(struct worker *w)
{
	void *p = NULL;

	if (random_below(&w->random, 2)) {
		MUST(CU(cuMemHostAlloc, &p, 1 << 16, 0));
		MUST(CU(cuMemFreeHost, p));
		return;
	}
	if (posix_memalign(&p, 4096, 1 << 16))
		abort();
	MUST(CU(cuMemHostRegister_v2, p, 1 << 16, 0));
	MUST(CU(cuMemHostUnregister, p));
	free(p);
}

static void load_module(struct worker *w)
{
	struct lane *l = any_lane(w);
	CUmodule module;

	MUST(CU(cuModuleLoadData, &module, "an image"));
	launch(kernel(module, random_below(&w->random, KERNELS)), l->stream);
	lane_synchronize(w, l);
	MUST(CU(cuModuleUnload, module));
}

static void short_lived_stream(struct worker *w)
{
	CUstream s;

	MUST(CU(cuStreamCreate, &s, random_below(&w->random, 2) ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
	launch(kernel(w->module, random_below(&w->random, KERNELS)), s);
	MUST(CU(cuStreamDestroy_v2, s)); /* its work goes on */
}

static void ask_around(struct worker *w)
{
	size_t free_bytes, total_bytes;
	CUdevice device;

	(void)w;
	MUST(CU(cuMemGetInfo_v2, &free_bytes, &total_bytes));
	MUST(CU(cuCtxGetDevice, &device));
}

static const struct action {
	unsigned weight;
	void (*run)(struct worker *w);
} actions[] = {
	{ 14, launch_one },
	{ 12, launch_burst },
	{ 8, to_device_pageable },
	{ 8, to_device_pinned },
	{ 6, to_host_pageable },
	{ 8, to_host_pinned },
	{ 5, on_device },
	{ 5, set },
	{ 2, launch_host_function },
	{ 5, record_event },
	{ 4, wait_for_other_lane },
	{ 3, synchronize_event },
	{ 5, synchronize_stream },
	{ 2, synchronize_all },
	{ 4, query },
	{ 2, poll_until_done },
	{ 2, measure_kernel },
	{ 2, host_silence },
	{ 4, synchronize_then_silence },
	{ 2, allocate },
	{ 1, pin_and_unpin },
	{ 1, load_module },
	{ 1, short_lived_stream },
	{ 1, ask_around },
};

static void act(struct worker *w)
{
	unsigned total = 0, at;

	for (unsigned i = 0; i < sizeof(actions) / sizeof(*actions); i++)
		total += actions[i].weight;
	at = random_below(&w->random, total);
	for (unsigned i = 0; i < sizeof(actions) / sizeof(*actions); i++) {
		if (at < actions[i].weight) {
			actions[i].run(w);
			return;
		}
		at -= actions[i].weight;
	}
}

/* ---- a worker's life ------------------------------------------------------------------------------------- */

static void lane_open(struct worker *w, unsigned i)
{
	struct lane *l = &w->lanes[i];

	switch (i) {
	case 0:
		l->stream = w->index == 0 ? NULL : CU_STREAM_PER_THREAD;
		break;
	case 1:
		MUST(CU(cuStreamCreate, &l->stream, CU_STREAM_DEFAULT));
		break;
	case 2:
		MUST(CU(cuStreamCreateWithPriority, &l->stream, CU_STREAM_NON_BLOCKING, -1));
		break;
	default:
		MUST(CU(cuStreamCreate, &l->stream, CU_STREAM_NON_BLOCKING));
		break;
	}
	MUST(CU(cuMemAlloc_v2, &l->buffer, BUFFER_BYTES));
	MUST(CU(cuMemAllocHost_v2, (void **)&l->pinned, SLOTS * SLOT_BYTES));
	MUST(CU(cuEventCreate, &l->event, i % 2 ? CU_EVENT_DISABLE_TIMING : CU_EVENT_DEFAULT));
	l->expect = memory(BUFFER_BYTES);
	MUST(CU(cuMemsetD8Async, l->buffer, 0, BUFFER_BYTES, l->stream));
}

static void lane_close(struct lane *l, bool created)
{
	MUST(CU(cuEventDestroy_v2, l->event));
	if (created)
		MUST(CU(cuStreamDestroy_v2, l->stream));
	MUST(CU(cuMemFree_v2, l->buffer));
	MUST(CU(cuMemFreeHost, l->pinned));
	free(l->expect);
}

static void *worker_run(void *argument)
{
	struct worker *w = argument;

	w->random = random_from(options.seed * MAX_THREADS + w->index);
	w->pageable = memory(BUFFER_BYTES);
	MUST(CU(cuCtxSetCurrent, context));
	MUST(CU(cuModuleLoadData, &w->module, "an image"));
	for (unsigned i = 0; i < LANES; i++)
		lane_open(w, i);
	for (unsigned i = 0; options.endless || i < options.actions; i++)
		act(w);
	synchronize_all(w);
	for (unsigned i = 0; i < LANES; i++)
		lane_close(&w->lanes[i], i > 0);
	MUST(CU(cuModuleUnload, w->module));
	free(w->pageable);
	return NULL;
}

/* ---- the program ----------------------------------------------------------------------------------------- */

static int usage(const char *program)
{
	fprintf(stderr,
		"%s [--seed N] [--actions N] [--threads N] [--endless] [--counter FILE] [--calls FILE] [--names]\n",
		program);
	return 2;
}

static bool parse(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (!strcmp(name, "--endless")) {
			options.endless = true;
			continue;
		}
		if (!value)
			return false;
		i++;
		if (!strcmp(name, "--seed"))
			options.seed = strtoull(value, NULL, 10);
		else if (!strcmp(name, "--actions"))
			options.actions = (unsigned)atoi(value);
		else if (!strcmp(name, "--threads"))
			options.threads = (unsigned)atoi(value);
		else if (!strcmp(name, "--counter"))
			calls_count_in(value);
		else if (!strcmp(name, "--calls"))
			options.calls = value;
		else
			return false;
	}
	return options.threads > 0 && options.threads <= MAX_THREADS;
}

int random_work_main(int argc, char **argv)
{
	static struct worker workers[MAX_THREADS];
	pthread_t threads[MAX_THREADS];
	uint64_t checksum = 0;
	CUdevice device;

	if (argc == 2 && !strcmp(argv[1], "--names")) {
		calls_print_names();
		return 0;
	}
	if (!parse(argc, argv))
		return usage(argv[0]);
	if (options.calls)
		calls_keep();
	MUST(CU(cuInit, 0));
	MUST(CU(cuDeviceGet, &device, 0));
	MUST(CU(cuDevicePrimaryCtxRetain, &context, device));
	for (unsigned i = 1; i < options.threads; i++) {
		workers[i].index = i;
		if (pthread_create(&threads[i], NULL, worker_run, &workers[i]))
			abort();
	}
	worker_run(&workers[0]);
	for (unsigned i = 1; i < options.threads; i++)
		pthread_join(threads[i], NULL);
	MUST(CU(cuDevicePrimaryCtxRelease_v2, device));
	for (unsigned i = 0; i < options.threads; i++)
		checksum = random_hash(checksum, (uint8_t *)&workers[i].checksum, sizeof(checksum));
	printf("checksum %016llx\n", (unsigned long long)checksum);
	if (options.calls)
		calls_write(options.calls);
	return 0;
}
