/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_copy.c: the device copies or sets memory and does nothing else meanwhile, in one of the ways ($LAB_WAY): that is no idle time. The truth is in
 * the driver's own log. */
#include "work.h"

#include <string.h>

enum way { WAY_H2D_PAGEABLE, WAY_H2D_PINNED, WAY_D2H_PAGEABLE, WAY_D2H_PINNED, WAY_D2D, WAY_PEER, WAY_MEMSET };

static CUdeviceptr here, there;
static void *pageable, *pinned;
static CUstream stream;
static size_t size;
static long way;

static void open_copy(void)
{
	way = lab_param("LAB_WAY", WAY_H2D_PAGEABLE);
	size = (size_t)lab_param("LAB_BYTES", 4 << 20);
	stream = work_stream(0, 0);
	CHECK(cuMemAlloc(&here, size));
	if (way == WAY_PEER) {
		CUcontext was = work_enter(1);

		CHECK(cuMemAlloc(&there, size));
		work_leave(was);
	} else {
		CHECK(cuMemAlloc(&there, size));
	}
	CHECK(cuMemHostAlloc(&pinned, size, 0));
	REQUIRE((pageable = malloc(size)));
	memset(pageable, 1, size);
}

static void act_copy(long step)
{
	(void)step;
	switch (way) {
	case WAY_H2D_PINNED:
		CHECK(cuMemcpyHtoDAsync(here, pinned, size, stream));
		break;
	case WAY_D2H_PAGEABLE:
		CHECK(cuMemcpyDtoHAsync(pageable, here, size, stream));
		break;
	case WAY_D2H_PINNED:
		CHECK(cuMemcpyDtoHAsync(pinned, here, size, stream));
		break;
	case WAY_D2D:
		CHECK(cuMemcpyDtoDAsync(there, here, size, stream));
		break;
	case WAY_PEER:
		CHECK(cuMemcpyPeerAsync(there, work_context(1), here, work_context(0), size, stream));
		break;
	case WAY_MEMSET:
		CHECK(cuMemsetD8Async(here, 1, size, stream));
		break;
	default:
		CHECK(cuMemcpyHtoDAsync(here, pageable, size, stream));
	}
	CHECK(cuStreamSynchronize(stream));
}

const struct fault fault_copy = { "copy", open_copy, NULL, act_copy, NULL };
