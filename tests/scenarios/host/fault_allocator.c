/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_allocator.c: memory is taken from the driver in the loop and given back, in one of its ways ($LAB_WAY); how long that takes
 * $SIMGPU_SLOW says. Or there is none left ($SIMGPU_MEM_BYTES), and what a cache held goes back first. */
#include "work.h"

#define BYTES (64ul << 20)
#define CACHED 8

enum way { WAY_PLAIN, WAY_MAPPED, WAY_POOL, WAY_PINNED };

static long way;
static CUmemGenericAllocationHandle handle;
static CUdeviceptr range;
static CUmemAllocationProp place = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
static CUmemoryPool pool;

static void open_allocator(void)
{
	way = lab_param("LAB_WAY", WAY_PLAIN);
	CHECK(cuMemAddressReserve(&range, BYTES, 0, 0, 0));
	CHECK(cuDeviceGetDefaultMemPool(&pool, 0));
}

static void take_mapped(void)
{
	CUmemAccessDesc access = { .location = place.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };

	CHECK(cuMemCreate(&handle, BYTES, &place, 0));
	CHECK(cuMemMap(range, BYTES, 0, handle, 0));
	CHECK(cuMemSetAccess(range, BYTES, &access, 1));
	CHECK(cuMemUnmap(range, BYTES));
	CHECK(cuMemRelease(handle));
}

static void take_pooled(void)
{
	CUdeviceptr memory;

	CHECK(cuMemAllocAsync(&memory, BYTES, work_stream(0, 0)));
	CHECK(cuMemFreeAsync(memory, work_stream(0, 0)));
	CHECK(cuMemPoolTrimTo(pool, 0));
}

static void act_allocator(long step)
{
	struct span s = span_begin("allocator", "main", step);
	CUdeviceptr memory;
	void *pinned;

	switch (way) {
	case WAY_MAPPED:
		take_mapped();
		break;
	case WAY_POOL:
		take_pooled();
		break;
	case WAY_PINNED:
		CHECK(cuMemHostAlloc(&pinned, 1 << 20, 0));
		CHECK(cuMemFreeHost(pinned));
		break;
	default:
		CHECK(cuMemAlloc(&memory, BYTES));
		CHECK(cuMemFree(memory));
	}
	span_end(&s);
}

/* ---- nothing left: the cache is emptied, and all of it asked for again --------------------------------------------------- */

static CUdeviceptr cached[CACHED];

static void open_full(void)
{
	while (true) {
		CUdeviceptr memory; /* the rest is others' */

		if (cuMemAlloc(&memory, BYTES / CACHED) != CUDA_SUCCESS)
			break;
		for (int i = CACHED - 1; i > 0; i--)
			cached[i] = cached[i - 1];
		cached[0] = memory;
	}
	REQUIRE(cached[CACHED - 1]);
}

static void act_full(long step)
{
	struct span s = span_begin("allocator", "main", step);
	CUdeviceptr memory;

	REQUIRE(cuMemAlloc(&memory, BYTES) == CUDA_ERROR_OUT_OF_MEMORY);
	for (int i = 0; i < CACHED; i++)
		CHECK(cuMemFree(cached[i]));
	CHECK(cuMemAlloc(&memory, BYTES));
	CHECK(cuMemFree(memory));
	for (int i = 0; i < CACHED; i++)
		CHECK(cuMemAlloc(&cached[i], BYTES / CACHED));
	span_end(&s);
}

const struct fault fault_allocator = { "allocator", open_allocator, NULL, act_allocator, NULL };
const struct fault fault_full = { "out-of-memory", open_full, NULL, act_full, NULL };
