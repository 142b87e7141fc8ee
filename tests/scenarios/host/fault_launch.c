/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_launch.c: many kernels that are shorter than their own launch ($SIMGPU_LAUNCH_NS), in $LAB_LANES streams; before each the thread runs what a
 * framework runs ($LAB_EAGER_NS). Nothing is waited for but the end. Or it computes between kernels: also without waiting. */
#include "work.h"

static CUfunction tiny[4], layer;
static long launches, lanes, eager_ns;

static void open_launch(void)
{
	long us = lab_param("LAB_TINY_US", 4);

	work_realtime();
	for (int i = 0; i < 4; i++) { /* as a network's layers differ */
		char word[] = "tiny0";

		word[4] = (char)('0' + i);
		tiny[i] = work_kernel_of(0, word, us + us * i / 4);
	}
	launches = lab_param("LAB_LAUNCHES", 400);
	lanes = lab_param("LAB_LANES", 1);
	eager_ns = lab_param("LAB_EAGER_NS", 0);
}

static void act_launch(long step)
{
	struct span s = span_begin("launch-bound", "main", step);

	for (long i = 0; i < launches; i++) {
		compute_until(lab_now() + eager_ns);
		work_launch(0, tiny[i % 4], work_stream(0, (int)(i % lanes)));
	}
	span_end(&s);
	work_wait(0);
}

/* Without a wait between the layers: the device is done long before each next one comes. */
static void open_compute(void)
{
	layer = work_kernel(0, "layer__50us");
}

static void act_between(long step)
{
	long part = lab_length(step) / 4;

	for (int i = 0; i < 4; i++) {
		struct span s = span_begin("host-compute", "main", step);

		compute_cpu(part);
		span_end(&s);
		work_launch(0, layer, work_stream(0, 0));
	}
	work_wait(0);
}

static void act_compute(long step)
{
	struct span s = span_begin("host-compute", "main", step);

	compute_cpu(lab_length(step));
	span_end(&s);
}

const struct fault fault_launches = { "launch", open_launch, NULL, act_launch, NULL };
const struct fault fault_between = { "compute-between", open_compute, NULL, act_between, NULL };
const struct fault fault_host_compute = { "compute", NULL, NULL, act_compute, NULL };
