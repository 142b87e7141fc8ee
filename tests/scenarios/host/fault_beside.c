/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_beside.c: what other faults do, but while a kernel runs that takes longer than all of it: healthy. A host function and an event in a stream
 * that nothing waits for, memory, code, a line of a log, a pinned copy, computing, a short sleep. */
#include "work.h"

#include <fcntl.h>

#define LONG_US 6000
#define TAKEN 4096 /* bytes each step */

static CUfunction whole;
static CUstream stream, side;
static CUevent event;
static CUdeviceptr copied;
static void *pinned;
static int out;

static void open_beside(void)
{
	whole = work_kernel_of(0, "whole", LONG_US);
	stream = work_stream(0, 0);
	side = work_stream(0, 1);
	CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	CHECK(cuMemAlloc(&copied, 1 << 20));
	CHECK(cuMemHostAlloc(&pinned, 1 << 20, 0));
	REQUIRE((out = open("/dev/null", O_WRONLY | O_CLOEXEC)) >= 0);
}

static void CUDA_CB take_a_while(void *unused)
{
	(void)unused;
	sleep_ns(MS);
}

static void ahead_beside(long step)
{
	CUdeviceptr memory; /* kept: freeing would wait */
	CUmodule module;

	(void)step;
	work_launch(0, whole, stream);
	CHECK(cuLaunchHostFunc(side, take_a_while, NULL));
	CHECK(cuMemcpyDtoHAsync(pinned, copied, 1 << 20, side));
	CHECK(cuEventRecord(event, side));
	CHECK(cuMemAlloc(&memory, TAKEN));
	CHECK(cuModuleLoadData(&module, "x"));
	CHECK(cuEventSynchronize(event));
	REQUIRE(write(out, "loss\n", 5) == 5);
	compute_cpu(MS / 2);
	sleep_ns(MS / 2);
}

static void act_beside(long step)
{
	(void)step;
	CHECK(cuStreamSynchronize(stream));
}

const struct fault fault_beside = { "beside", open_beside, ahead_beside, act_beside, NULL };
