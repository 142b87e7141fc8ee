/* SPDX-License-Identifier: BSD-2-Clause */
/* copy_kinds_linked [near]: copies between every two kinds of memory there are, through each family of calls, on two devices: pageable,
 * pinned, managed and device memory, arrays, rows, boxes, unified pointers, other devices, a graph's nodes; and a memset. `near`: many within
 * one device alone. Prints how many. */
#include "sample.h"

#define BYTES 65536u
#define ROW 256u

static CUcontext contexts[2];
static CUdeviceptr near_a, near_b, far, managed;
static void *pageable, *pinned;
static CUarray array;
static CUstream stream;
static unsigned copies;

#define COPY(call)           \
	do {                 \
		CHECK(call); \
		copies++;    \
	} while (0)

static void open_device(int ordinal)
{
	CUdevice device;

	CHECK(cuDeviceGet(&device, ordinal));
	CHECK(cuDevicePrimaryCtxRetain(&contexts[ordinal], device));
	CHECK(cuCtxSetCurrent(contexts[ordinal]));
}

static void open_memory(void)
{
	CUDA_ARRAY_DESCRIPTOR flat = {
		.Width = ROW, .Height = 16, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1
	};

	CHECK(cuInit(0));
	open_device(1);
	CHECK(cuMemAlloc(&far, BYTES));
	open_device(0);
	CHECK(cuCtxEnablePeerAccess(contexts[1], 0));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc(&near_a, BYTES));
	CHECK(cuMemAlloc(&near_b, BYTES));
	CHECK(cuMemAllocManaged(&managed, BYTES, CU_MEM_ATTACH_GLOBAL));
	CHECK(cuMemHostAlloc(&pinned, BYTES, 0));
	CHECK(cuArrayCreate(&array, &flat));
	pageable = calloc(1, BYTES);
	REQUIRE(pageable != NULL);
}

static CUdeviceptr unified(const void *host)
{
	return (CUdeviceptr)(uintptr_t)host;
}

static void linear(void)
{
	COPY(cuMemcpyHtoD(near_a, pageable, BYTES));
	COPY(cuMemcpyHtoDAsync(near_a, pinned, BYTES, stream));
	COPY(cuMemcpyDtoH(pageable, near_a, BYTES));
	COPY(cuMemcpyDtoHAsync(pinned, near_a, BYTES, stream));
	COPY(cuMemcpyDtoDAsync(near_b, near_a, BYTES, stream));
	COPY(cuMemcpyDtoDAsync(near_b, far, BYTES, stream)); /* no D2D copy, for all its name */
	COPY(cuMemcpyDtoDAsync(near_b, managed, BYTES, stream));
	COPY(cuMemcpyPeerAsync(far, contexts[1], near_a, contexts[0], BYTES, stream));
}

/* The driver finds out what the pointers are. */
static void by_pointer(void)
{
	COPY(cuMemcpyAsync(near_a, unified(pageable), BYTES, stream));
	COPY(cuMemcpyAsync(near_a, unified(pinned), BYTES, stream));
	COPY(cuMemcpyAsync(unified(pageable), near_a, BYTES, stream));
	COPY(cuMemcpyAsync(unified(pinned), near_a, BYTES, stream));
	COPY(cuMemcpyAsync(near_a, near_b, BYTES, stream));
	COPY(cuMemcpyAsync(far, near_b, BYTES, stream));
	COPY(cuMemcpyAsync(managed, near_b, BYTES, stream));
}

static CUDA_MEMCPY2D rows(CUmemorytype from, CUdeviceptr from_at, CUmemorytype to, CUdeviceptr to_at)
{
	CUDA_MEMCPY2D p = { .srcMemoryType = from,
			    .srcHost = (void *)(uintptr_t)from_at,
			    .srcDevice = from_at,
			    .srcArray = array,
			    .srcPitch = ROW,
			    .dstMemoryType = to,
			    .dstHost = (void *)(uintptr_t)to_at,
			    .dstDevice = to_at,
			    .dstArray = array,
			    .dstPitch = ROW,
			    .WidthInBytes = 128,
			    .Height = 16 };

	return p;
}

static void of_rows(void)
{
	const CUDA_MEMCPY2D all[] = {
		rows(CU_MEMORYTYPE_HOST, unified(pageable), CU_MEMORYTYPE_DEVICE, near_a),
		rows(CU_MEMORYTYPE_HOST, unified(pinned), CU_MEMORYTYPE_DEVICE, near_a),
		rows(CU_MEMORYTYPE_DEVICE, near_a, CU_MEMORYTYPE_HOST, unified(pinned)),
		rows(CU_MEMORYTYPE_DEVICE, near_a, CU_MEMORYTYPE_DEVICE, near_b),
		rows(CU_MEMORYTYPE_DEVICE, near_a, CU_MEMORYTYPE_DEVICE, far),
		rows(CU_MEMORYTYPE_UNIFIED, unified(pinned), CU_MEMORYTYPE_UNIFIED, near_b),
		rows(CU_MEMORYTYPE_UNIFIED, far, CU_MEMORYTYPE_UNIFIED, near_b),
		rows(CU_MEMORYTYPE_UNIFIED, near_b, CU_MEMORYTYPE_ARRAY, 0),
		rows(CU_MEMORYTYPE_UNIFIED, unified(pinned), CU_MEMORYTYPE_ARRAY, 0),
		rows(CU_MEMORYTYPE_ARRAY, 0, CU_MEMORYTYPE_UNIFIED, near_b),
		rows(CU_MEMORYTYPE_ARRAY, 0, CU_MEMORYTYPE_UNIFIED, unified(pageable)),
		rows(CU_MEMORYTYPE_ARRAY, 0, CU_MEMORYTYPE_HOST, unified(pageable)),
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		COPY(cuMemcpy2DAsync(&all[i], stream));
}

static CUDA_MEMCPY3D box(CUmemorytype from, CUdeviceptr from_at, CUmemorytype to, CUdeviceptr to_at)
{
	CUDA_MEMCPY3D p = { .srcMemoryType = from,
			    .srcHost = (void *)(uintptr_t)from_at,
			    .srcDevice = from_at,
			    .srcPitch = ROW,
			    .srcHeight = 4,
			    .dstMemoryType = to,
			    .dstHost = (void *)(uintptr_t)to_at,
			    .dstDevice = to_at,
			    .dstPitch = ROW,
			    .dstHeight = 4,
			    .WidthInBytes = 64,
			    .Height = 4,
			    .Depth = 4 };

	return p;
}

static void of_boxes(void)
{
	const CUDA_MEMCPY3D all[] = {
		box(CU_MEMORYTYPE_HOST, unified(pageable), CU_MEMORYTYPE_DEVICE, near_a),
		box(CU_MEMORYTYPE_DEVICE, near_a, CU_MEMORYTYPE_HOST, unified(pinned)),
		box(CU_MEMORYTYPE_UNIFIED, near_a, CU_MEMORYTYPE_UNIFIED, near_b),
		box(CU_MEMORYTYPE_UNIFIED, near_a, CU_MEMORYTYPE_UNIFIED, far),
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		COPY(cuMemcpy3DAsync(&all[i], stream));
}

/* The same as nodes. */
static void of_a_graph(void)
{
	const CUDA_MEMCPY3D all[] = {
		box(CU_MEMORYTYPE_HOST, unified(pinned), CU_MEMORYTYPE_DEVICE, near_a),
		box(CU_MEMORYTYPE_DEVICE, near_a, CU_MEMORYTYPE_HOST, unified(pinned)),
		box(CU_MEMORYTYPE_DEVICE, near_a, CU_MEMORYTYPE_DEVICE, near_b),
		box(CU_MEMORYTYPE_DEVICE, near_a, CU_MEMORYTYPE_DEVICE, far),
	};
	const size_t n = sizeof(all) / sizeof(all[0]);
	CUgraphNode node, last = NULL;
	CUgraphExec exec;
	CUgraph graph;

	CHECK(cuGraphCreate(&graph, 0));
	for (size_t i = 0; i < n; i++) {
		CHECK(cuGraphAddMemcpyNode(&node, graph, &last, i > 0, &all[i], contexts[0]));
		last = node;
	}
	CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	CHECK(cuGraphLaunch(exec, stream));
	CHECK(cuStreamSynchronize(stream));
	CHECK(cuGraphExecDestroy(exec));
	CHECK(cuGraphDestroy(graph));
	copies += (unsigned)n;
}

/* As a rank does: it sees all devices and uses one. */
static int within_one(void)
{
	CHECK(cuInit(0));
	open_device(0);
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc(&near_a, BYTES));
	CHECK(cuMemAlloc(&near_b, BYTES));
	for (unsigned i = 0; i < 50; i++) {
		COPY(cuMemcpyDtoDAsync(near_b, near_a, BYTES, stream));
		COPY(cuMemcpyDtoDAsync(near_a, near_b, BYTES, stream));
	}
	CHECK(cuStreamSynchronize(stream));
	printf("%u copies\n", copies);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "near") == 0)
		return within_one();
	open_memory();
	linear();
	by_pointer();
	of_rows();
	of_boxes();
	CHECK(cuMemsetD8Async(near_a, 1, BYTES, stream));
	CHECK(cuStreamSynchronize(stream));
	of_a_graph();
	printf("%u copies\n", copies);
	return 0;
}
