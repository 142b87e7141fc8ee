/* SPDX-License-Identifier: BSD-2-Clause */
/* shim_driver.h: a driver made of a few lines under the recorder's own parts, and a trace file of the test's own. Who includes it has
 * included cmocka, and the shim's edge.c, whose counts are set here. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/capture.h"
#include "shim/file.h"
#include "shim/gate.h"
#include "shim/helper.h"
#include "shim/segment.h"
#include "shim/settings.h"
#include "shim/stream.h"
#include "tests/unit/tsan_apart.h"

#define CONTEXT ((CUcontext)0x1000)
#define STREAM_A ((CUstream)0xa000)
#define STREAM_B ((CUstream)0xb000)
#define GREEN ((CUgreenCtx)0x2000)
#define GREEN_CONTEXT ((CUcontext)0x2800)
#define STREAM_GREEN ((CUstream)0xc000)

/* ---- the driver ------------------------------------------------------------------------------------------------------- */

static struct {
	unsigned created, queried, elapsed;
	struct {
		CUevent event;
		CUstream stream;
	} recorded[1 << 16]; /* in their order; a launch (launch_whole) is among them as no event */
	unsigned n_recorded;
	CUresult query_answer;
	CUstream capturing;
	CUcontext current;
	float ms; /* of every edge against its base; 0: more each time */
} driver;

static CUresult fake_current(CUcontext *c)
{
	*c = driver.current;
	return CUDA_SUCCESS;
}
static CUresult fake_device(CUdevice *d)
{
	*d = 3;
	return CUDA_SUCCESS;
}
static CUresult fake_stream_context(CUstream s, CUcontext *c)
{
	*c = s == STREAM_GREEN ? GREEN_CONTEXT : driver.current;
	return CUDA_SUCCESS;
}
static CUresult fake_stream_device(CUstream s, CUdevice *d)
{
	assert_ptr_equal(s, STREAM_GREEN);
	*d = 5;
	return CUDA_SUCCESS;
}
static CUresult fake_from_green(CUcontext *c, CUgreenCtx green)
{
	*c = green == GREEN ? GREEN_CONTEXT : NULL;
	return green == GREEN ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
static CUresult fake_flags(CUstream s, unsigned *f)
{
	(void)s;
	*f = 0;
	return CUDA_SUCCESS;
}
static CUresult fake_priority(CUstream s, int *p)
{
	(void)s;
	*p = 0;
	return CUDA_SUCCESS;
}
static CUresult fake_uuid(CUuuid *u, CUdevice d)
{
	(void)d;
	memset(u, 7, sizeof(*u));
	return CUDA_SUCCESS;
}
static CUresult fake_memory(size_t *n, CUdevice d)
{
	(void)d;
	*n = 1;
	return CUDA_SUCCESS;
}
static CUresult fake_name(char *n, int size, CUdevice d)
{
	(void)d;
	snprintf(n, (size_t)size, "fake");
	return CUDA_SUCCESS;
}

static CUresult fake_create(CUevent *e, unsigned flags)
{
	assert_int_equal(flags, CU_EVENT_DEFAULT); /* timing on, no blocking sync */
	*e = (CUevent)(uintptr_t)(0xe000 + __atomic_add_fetch(&driver.created, 1, __ATOMIC_RELAXED));
	return CUDA_SUCCESS;
}

/* Events of the program, as those that it opened from other processes, are none of ours. */
static void assert_ours(CUevent e)
{
	assert_in_range((uintptr_t)e, 0xe001, 0xe000 + __atomic_load_n(&driver.created, __ATOMIC_RELAXED));
}

static CUresult fake_record(CUevent e, CUstream s)
{
	unsigned n = __atomic_fetch_add(&driver.n_recorded, 1, __ATOMIC_RELAXED);

	if (e)
		assert_ours(e);
	assert_true(n < sizeof(driver.recorded) / sizeof(driver.recorded[0]));
	driver.recorded[n].event = e;
	driver.recorded[n].stream = s;
	return CUDA_SUCCESS;
}

static CUresult fake_query(CUevent e)
{
	assert_ours(e);
	__atomic_fetch_add(&driver.queried, 1, __ATOMIC_RELAXED);
	return driver.query_answer;
}

static CUresult fake_elapsed(float *ms, CUevent a, CUevent b)
{
	unsigned n;

	assert_ours(a);
	assert_ours(b);
	assert_ptr_not_equal(a, b);
	n = __atomic_add_fetch(&driver.elapsed, 1, __ATOMIC_RELAXED);
	*ms = driver.ms != 0 ? driver.ms : 1.5f * (float)n;
	return CUDA_SUCCESS;
}

static CUresult fake_is_capturing(CUstream s, CUstreamCaptureStatus *status)
{
	*status = s == driver.capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}

/* ---- around each test --------------------------------------------------------------------------------------------------- */

static char directory[64];
static struct thread *me;

static int make_directory(void **state)
{
	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/gpushim-edge-XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command);
}

static int set_up(void **state)
{
	(void)state;
	memset(&driver, 0, sizeof(driver));
	driver.current = CONTEXT;
	real.cuCtxGetCurrent = fake_current;
	real.cuCtxGetDevice = fake_device;
	real.cuStreamGetCtx = fake_stream_context;
	real.cuStreamGetDevice = fake_stream_device;
	real.cuCtxFromGreenCtx = fake_from_green;
	real.cuStreamGetFlags = fake_flags;
	real.cuStreamGetPriority = fake_priority;
	real.cuDeviceGetUuid_v2 = fake_uuid;
	real.cuDeviceTotalMem_v2 = fake_memory;
	real.cuDeviceGetName = fake_name;
	real.cuEventCreate = fake_create;
	real.cuEventRecord = fake_record;
	real.cuEventQuery = fake_query;
	real.cuEventElapsedTime = fake_elapsed;
	real.cuStreamIsCapturing = fake_is_capturing;
	settings.enabled = true;
	settings.level = GST_LEVEL_EDGES;
	settings.limit_bytes = 1 << 30;
	snprintf(settings.out, sizeof(settings.out), "%s", directory);
	helper_bell = HELPER_AWAKE; /* no thread beside these: there would be more calls than the tests make */
	me = thread_self();
	assert_non_null(me);
	edges_forget();
	streams_forget();
	me->last_stream = NULL;
	me->context_known = false;
	return 0;
}

static inline unsigned recorded_on(CUstream s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < driver.n_recorded; i++)
		n += driver.recorded[i].stream == s && driver.recorded[i].event;
	return n;
}

static inline void forget_recorded(void)
{
	driver.n_recorded = 0;
}

static inline void run_host_function(CUstream handle)
{
	struct call c;

	call_enter(&c, HOOK_cuLaunchHostFunc, GST_FAMILY_HOSTFN);
	launch_host_function(&c, handle, NULL);
	call_exit(&c, CUDA_SUCCESS);
}

#define NO_CALL UINT16_MAX /* as gst_call.hook */

static inline struct gst_call last_call_of(const uint8_t *segment, uint32_t end)
{
	struct gst_call found = { .hook = NO_CALL };

	for (uint32_t at = sizeof(struct gst_segment_header); at + sizeof(struct gst_record) <= end;) {
		const struct gst_record *r = (const void *)(segment + at);

		if (r->type == GST_CALL)
			memcpy(&found, r, sizeof(found));
		at += r->size ? r->size : (uint32_t)sizeof(*r);
	}
	return found;
}

/* The last call that this thread has written down: there may be none yet in a segment that it has just begun. */
static inline struct gst_call last_call(void)
{
	struct gst_call found = last_call_of(me->ring.segment, me->ring.at);
	const struct gst_segment_header *header = (const void *)me->ring.segment;

	if (found.hook == NO_CALL && header->previous != GST_NONE) {
		struct segment before = { .index = header->previous };

		assert_int_equal(segment_map(&before, false), 0);
		found = last_call_of(before.base, GST_SEGMENT_BYTES);
		segment_release(before.base);
	}
	assert_int_not_equal(found.hook, NO_CALL);
	return found;
}
