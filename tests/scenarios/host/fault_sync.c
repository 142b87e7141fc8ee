/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_sync.c: the thread waits for the device so often that nothing is ever queued: after each short kernel it waits for its stream, an event, a
 * number that it copies (.item()), or asks until it is done ($LAB_WAY). Or it waits for another device, while this one has nothing to do. */
#include "work.h"

enum way { WAY_STREAM, WAY_EVENT, WAY_ITEM, WAY_QUERY, WAY_CONTEXT };

static CUfunction kernel;
static CUstream stream;
static CUevent event;
static CUdeviceptr number;
static long rounds, way;

static void open_sync(void)
{
	work_realtime();
	kernel = work_kernel_of(0, "layer", lab_param("LAB_LAYER_US", 100));
	stream = work_stream(0, 0);
	rounds = lab_param("LAB_ROUNDS", 40);
	way = lab_param("LAB_WAY", WAY_STREAM);
	CHECK(cuEventCreate(&event, lab_param("LAB_EVENT_FLAGS", CU_EVENT_DISABLE_TIMING)));
	CHECK(cuMemAlloc(&number, 4096));
}

static void wait_for_it(void)
{
	float loss;

	switch (way) {
	case WAY_EVENT:
		CHECK(cuEventRecord(event, stream));
		CHECK(cuEventSynchronize(event));
		break;
	case WAY_ITEM:
		CHECK(cuMemcpyDtoHAsync(&loss, number, sizeof(loss), stream));
		CHECK(cuStreamSynchronize(stream));
		break;
	case WAY_QUERY:
		while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY)
			;
		break;
	case WAY_CONTEXT:
		CHECK(cuCtxSynchronize());
		break;
	default:
		CHECK(cuStreamSynchronize(stream));
	}
}

static void act_sync(long step)
{
	struct span s = span_begin("sync-bubble", "main", step);

	for (long i = 0; i < rounds; i++) {
		work_launch(0, kernel, stream);
		wait_for_it();
	}
	span_end(&s);
}

/* The same work without a look at it: healthy. */
static void act_queued(long step)
{
	(void)step;
	for (long i = 0; i < rounds; i++)
		work_launch(0, kernel, stream);
	CHECK(cuStreamSynchronize(stream));
}

/* ---- another device ----------------------------------------------------------------------------------------------------- */

static CUdeviceptr result;

static void open_other(void)
{
	CUcontext was = work_enter(1);

	CHECK(cuMemAlloc(&result, 4096));
	work_leave(was);
	way = lab_param("LAB_WAY", WAY_CONTEXT);
}

static void act_other(long step)
{
	struct span s;
	CUcontext was;
	float loss;

	work_launch(1, work_kernel_of(1, "other", lab_length(step) / 1000 + 1), work_stream(1, 0));
	s = span_begin("sync-bubble", "main", step);
	s.device = 0;
	was = work_enter(1);
	if (way == WAY_ITEM) {
		CHECK(cuMemcpyDtoHAsync(&loss, result, sizeof(loss), work_stream(1, 0)));
		CHECK(cuStreamSynchronize(work_stream(1, 0)));
	} else {
		CHECK(cuCtxSynchronize());
	}
	work_leave(was);
	span_end(&s);
}

const struct fault fault_sync = { "sync", open_sync, NULL, act_sync, NULL };
const struct fault fault_queued = { "queued", open_sync, NULL, act_queued, NULL };
const struct fault fault_other = { "sync-other", open_other, NULL, act_other, NULL };
