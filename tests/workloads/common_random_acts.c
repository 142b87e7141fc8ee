/* SPDX-License-Identifier: BSD-2-Clause */
#include "common_random_acts.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- kernels and host functions -------------------------------------------------------------------------- */

static const char *const kernels[] = { "embed__5us",  "relu__12us",  "norm__30us",       "softmax__80us",
				       "gemm__250us", "conv__700us", "attention__2000us" };
enum { KERNELS = sizeof(kernels) / sizeof(*kernels) };

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

void random_synchronize_all(struct worker *w)
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
	random_synchronize_all(w);
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

/* ---- by chance ------------------------------------------------------------------------------------------- */

static const struct action {
	unsigned weight;
	void (*run)(struct worker *w);
} actions[] = {
	{ 14, launch_one },
	{ 12, launch_burst },
	{ 8, random_to_device_pageable },
	{ 8, random_to_device_pinned },
	{ 6, random_to_host_pageable },
	{ 8, random_to_host_pinned },
	{ 5, random_on_device },
	{ 5, random_memset },
	{ 2, launch_host_function },
	{ 5, record_event },
	{ 4, wait_for_other_lane },
	{ 3, synchronize_event },
	{ 5, synchronize_stream },
	{ 2, random_synchronize_all },
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

void random_act(struct worker *w)
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
