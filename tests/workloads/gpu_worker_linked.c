/* SPDX-License-Identifier: BSD-2-Clause */
/* gpu_worker_linked: steps of five shapes of work on demand, for gpu-check where PyTorch is not at hand; the protocol is in
 * scripts/gpu_check/worker.py. The kernels only take time, on a real device too: their PTX spins on the global timer.
 *
 * launch_bound   200 kernels of 2 us, some host work between them
 * transformer    96 kernels of 100 us, queued without a pause
 * graphs         a graph of 60 kernels of 5 us, launched twice
 * compiled       24 kernels of 20 us, hardly any host work
 * starved        waits 2 ms for its batch, copies it from pageable memory, 10 kernels of 50 us */
#include <cuda.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host_time.h"

#define STEPS_MAX 100000
#define BATCH_BYTES (2u << 20)
#define GRAPH_NODES 60

static CUfunction tiny, large, node, fused, small;
static CUstream stream;
static CUgraphExec graph;
static CUdeviceptr device_batch;
static char *host_batch;

static CUfunction kernel_new(const char *name, unsigned us)
{
	char text[1024];
	CUmodule module;
	CUfunction f;

	snprintf(
		text, sizeof(text),
		".version 6.4\n.target sm_75\n.address_size 64\n"
		".visible .entry %s()\n{\n\t.reg .pred %%p;\n\t.reg .u64 %%end, %%now;\n"
		"\tmov.u64 %%end, %%globaltimer;\n\tadd.u64 %%end, %%end, %u;\n"
		"again:\n\tmov.u64 %%now, %%globaltimer;\n\tsetp.lt.u64 %%p, %%now, %%end;\n\t@%%p bra again;\n\tret;\n}\n",
		name, us * 1000);
	CHECK(cuModuleLoadData(&module, text));
	CHECK(cuModuleGetFunction(&f, module, name));
	return f;
}

static void launch(CUfunction f)
{
	CHECK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
}

static void graph_new(void)
{
	CUDA_KERNEL_NODE_PARAMS p = { .func = node,
				      .gridDimX = 1,
				      .gridDimY = 1,
				      .gridDimZ = 1,
				      .blockDimX = 32,
				      .blockDimY = 1,
				      .blockDimZ = 1 };
	CUgraph g;
	CUgraphNode last = NULL;

	CHECK(cuGraphCreate(&g, 0));
	for (int i = 0; i < GRAPH_NODES; i++)
		CHECK(cuGraphAddKernelNode(&last, g, &last, i > 0, &p));
	CHECK(cuGraphInstantiate(&graph, g, 0));
	CHECK(cuGraphDestroy(g));
}

static void start(void)
{
	CUcontext context;

	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	tiny = kernel_new("tiny__2us", 2);
	large = kernel_new("gemm__100us", 100);
	node = kernel_new("node__5us", 5);
	fused = kernel_new("fused__20us", 20);
	small = kernel_new("small__50us", 50);
	graph_new();
	CHECK(cuMemAlloc(&device_batch, BATCH_BYTES));
	host_batch = calloc(1, BATCH_BYTES);
	if (!host_batch)
		exit(1);
}

/* ---- the shapes -------------------------------------------------------------------------------------- */

static void launch_bound(void)
{
	for (int i = 0; i < 200; i++) {
		launch(tiny);
		compute(3000 + i % 7 * 1000);
	}
}

static void transformer(void)
{
	for (int i = 0; i < 96; i++)
		launch(large);
}

static void graphs(void)
{
	for (int i = 0; i < 2; i++) {
		CHECK(cuGraphLaunch(graph, stream));
		compute(20000);
	}
}

static void compiled(void)
{
	for (int i = 0; i < 24; i++) {
		launch(fused);
		compute(2000);
	}
}

static void starved(void)
{
	usleep(2000);
	CHECK(cuMemcpyHtoDAsync(device_batch, host_batch, BATCH_BYTES, stream));
	for (int i = 0; i < 10; i++)
		launch(small);
}

static const struct shape {
	const char *name;
	void (*step)(void);
} shapes[] = { { "launch_bound", launch_bound },
	       { "transformer", transformer },
	       { "graphs", graphs },
	       { "compiled", compiled },
	       { "starved", starved } };

/* ---- commands ---------------------------------------------------------------------------------------- */

static const struct shape *shape_find(const char *name)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		if (strcmp(shapes[i].name, name) == 0)
			return &shapes[i];
	return NULL;
}

static void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

static void run(const struct shape *shape, long steps)
{
	long begin;

	CHECK(cuStreamSynchronize(stream));
	begin = now_ns();
	for (long i = 0; i < steps; i++)
		shape->step();
	CHECK(cuStreamSynchronize(stream));
	say("{\"ns\": %ld, \"result\": \"%s\"}", now_ns() - begin, shape->name);
}

static void mark_steps(const struct shape *shape, long steps)
{
	long *marks = calloc((size_t)steps + 1, sizeof(*marks));

	if (!marks)
		exit(1);
	CHECK(cuCtxSynchronize());
	marks[0] = now_ns();
	for (long i = 0; i < steps; i++) {
		shape->step();
		CHECK(cuCtxSynchronize());
		marks[i + 1] = now_ns();
	}
	printf("{\"marks\": [%ld", marks[0]);
	for (long i = 1; i <= steps; i++)
		printf(", %ld", marks[i]);
	say("], \"result\": \"%s\"}", shape->name);
	free(marks);
}

static bool obey(const char *line)
{
	static bool started;
	char command[16], name[32];
	long steps = 0;
	int words = sscanf(line, "%15s %31s %ld", command, name, &steps);
	const struct shape *shape = words >= 2 ? shape_find(name) : NULL;

	if (words == 1 && strcmp(command, "end") == 0)
		return false;
	if (!shape || steps < 0 || steps > STEPS_MAX) {
		say("{\"error\": \"no such command\"}");
		return true;
	}
	if (!started) {
		start();
		started = true;
	}
	if (strcmp(command, "prepare") == 0) {
		shape->step();
		CHECK(cuCtxSynchronize());
		say("{\"ok\": true}");
	} else if (strcmp(command, "run") == 0) {
		run(shape, steps);
	} else if (strcmp(command, "steps") == 0) {
		mark_steps(shape, steps);
	} else {
		say("{\"error\": \"no such command\"}");
	}
	return true;
}

int main(void)
{
	char line[128];

	say("{\"ready\": true}");
	while (fgets(line, sizeof(line), stdin) && obey(line))
		;
	return 0;
}
