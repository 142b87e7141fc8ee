/* SPDX-License-Identifier: BSD-2-Clause */
/* Stream-ordered memory: who gets which memory when, what a pool holds, and when it gives it back. */
#include "test_simgpu.h"

static struct truth truth;

enum { MIB = 1 << 20 };

APART static CUmemoryPool default_pool(void)
{
	CUmemoryPool pool;

	OK(cuDeviceGetDefaultMemPool(&pool, 0));
	return pool;
}

APART static long long amount(CUmemoryPool pool, CUmemPool_attribute attribute)
{
	cuuint64_t value;

	OK(cuMemPoolGetAttribute(pool, attribute, &value));
	return (long long)value;
}

static void set_amount(CUmemoryPool pool, CUmemPool_attribute attribute, cuuint64_t value)
{
	OK(cuMemPoolSetAttribute(pool, attribute, &value));
}

static void set_flag(CUmemoryPool pool, CUmemPool_attribute attribute, int value)
{
	OK(cuMemPoolSetAttribute(pool, attribute, &value));
}

APART static CUdeviceptr from_stream(size_t bytes, CUstream s)
{
	CUdeviceptr memory;

	OK(cuMemAllocAsync(&memory, bytes, s));
	return memory;
}

APART static long long free_bytes(void)
{
	size_t left, total;

	OK(cuMemGetInfo(&left, &total));
	return (long long)left;
}

static void amounts(void)
{
	CUmemoryPool pool;
	CUdeviceptr one, two;
	unsigned char byte = 0;
	long long before;

	start();
	pool = default_pool();
	before = free_bytes();
	one = from_stream(1000, NULL);
	EXPECT(1024, amount(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
	EXPECT(32 * MIB, amount(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
	EXPECT(before - 32 * MIB, free_bytes());
	two = from_stream(40 * MIB, NULL);
	EXPECT(96 * MIB, amount(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
	OK(cuMemsetD8Async(two, 5, 40 * MIB, NULL));
	OK(cuMemcpyDtoH(&byte, two + 40 * MIB - 1, 1));
	EXPECT(5, byte);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(&byte, two + 40 * MIB, 1));
	OK(cuMemFreeAsync(two, NULL));
	EXPECT(1024, amount(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
	EXPECT(1024 + 40 * MIB, amount(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH));
	EXPECT(96 * MIB, amount(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)); /* the host has not synchronised */
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(&byte, two, 1));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(two, NULL));
	OK(cuStreamSynchronize(NULL));
	EXPECT(32 * MIB, amount(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)); /* the threshold is 0 */
	EXPECT(before - 32 * MIB, free_bytes());
	EXPECT(96 * MIB, amount(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH));
	set_amount(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 0);
	set_amount(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0);
	EXPECT(32 * MIB, amount(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH));
	EXPECT(1024, amount(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH));
	OK(cuMemFreeAsync(one, NULL));
	OK(cuCtxSynchronize());
	EXPECT(0, amount(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
	EXPECT(before, free_bytes());
}

static void pool_counts_what_it_holds(void **state)
{
	(void)state;
	run_in_child(amounts, &truth);
	assert_int_equal(truth.count, 2); /* the memset and one copy: allocating and freeing are no operations */
}

static void threshold(void)
{
	CUmemoryPool pool;
	CUdeviceptr one, two;
	CUevent event;

	start();
	pool = default_pool();
	set_amount(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 50 * MIB);
	one = from_stream(32 * MIB, NULL);
	two = from_stream(32 * MIB, NULL);
	OK(cuMemFreeAsync(one, NULL));
	OK(cuMemFreeAsync(two, NULL));
	OK(cuEventCreate(&event, 0));
	OK(cuEventRecord(event, NULL));
	OK(cuEventSynchronize(event));
	EXPECT(64 * MIB, amount(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)); /* one chunk less would be below it */
	set_amount(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 10 * MIB);
	OK(cuEventSynchronize(event));
	EXPECT(32 * MIB, amount(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
	OK(cuMemPoolTrimTo(pool, 1));
	EXPECT(32 * MIB, amount(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
	OK(cuMemPoolTrimTo(pool, 0));
	EXPECT(0, amount(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
}

static void threshold_is_honoured_at_synchronise(void **state)
{
	(void)state;
	run_in_child(threshold, NULL);
}

static void reuse(void)
{
	CUdeviceptr one, two;
	CUmemoryPool pool;
	CUstream a, b;

	start();
	pool = default_pool();
	set_amount(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, UINT64_MAX);
	a = stream(CU_STREAM_NON_BLOCKING);
	b = stream(CU_STREAM_NON_BLOCKING);
	one = from_stream(8 * MIB, a);
	gate_close(a);
	launch("busy__10us", a);
	OK(cuMemFreeAsync(one, a));
	two = from_stream(8 * MIB, b); /* the free lies behind the kernel: not this memory */
	EXPECT(1, two != one);
	EXPECT(1, from_stream(8 * MIB, a) == one); /* the same stream: this memory */
	EXPECT(CUDA_ERROR_NOT_READY, cuStreamQuery(a));
	gate_open();
	OK(cuMemFreeAsync(one, a));
	OK(cuStreamSynchronize(a));
	EXPECT(1, from_stream(8 * MIB, b) == one); /* done: anybody's */
	OK(cuMemFreeAsync(one, b));
	OK(cuStreamSynchronize(b));
	set_flag(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, 0);
	EXPECT(1, from_stream(8 * MIB, a) != one); /* done, but of another stream */
	EXPECT(1, from_stream(8 * MIB, b) == one);
}

static void memory_is_reused_in_stream_order(void **state)
{
	(void)state;
	run_in_child(reuse, NULL);
}

static void dependency(void)
{
	CUmemoryPool pool;
	CUdeviceptr one, other;
	CUstream a, b;

	start();
	pool = default_pool();
	a = stream(CU_STREAM_NON_BLOCKING);
	b = stream(CU_STREAM_NON_BLOCKING);
	one = from_stream(40 * MIB, a);
	launch("busy__300000us", a);
	OK(cuMemFreeAsync(one, a));
	/* 64 MiB is all there is: rather wait than fail. */
	EXPECT(1, from_stream(40 * MIB, b) == one);
	launch("behind__10us", b);
	EXPECT(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&other, 40 * MIB, b));
	OK(cuMemFreeAsync(one, b));
	set_flag(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 0);
	EXPECT(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&other, 40 * MIB, a));
	OK(cuCtxSynchronize());
	OK(cuMemAllocAsync(&other, 40 * MIB, a)); /* recovered */
}

static void short_of_memory_an_allocation_waits_for_a_free(void **state)
{
	(void)state;
	setenv("SIMGPU_MEM_BYTES", "64M", 1);
	run_in_child(dependency, &truth);
	assert_int_equal(truth_find(&truth, "behind__10us")->start_ns, truth_find(&truth, "busy__300000us")->end_ns);
}

static void pools(void)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				 .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1 } };
	CUmemLocation place = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1 };
	CUmemAccessDesc access = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
				   .flags = CU_MEM_ACCESS_FLAGS_PROT_READ };
	CUmemoryPool pool, other, handle;
	CUmemAccess_flags flags;
	CUdeviceptr memory, more;
	int ordinal, fd;
	CUcontext owner;

	start();
	OK(cuMemPoolCreate(&pool, &props));
	OK(cuMemAllocFromPoolAsync(&memory, 100, pool, NULL)); /* of the other device */
	OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, memory));
	EXPECT(1, ordinal);
	OK(cuPointerGetAttribute(&handle, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, memory));
	EXPECT(1, handle == pool);
	OK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, memory));
	EXPECT(1, owner == NULL);
	OK(cuMemPoolGetAccess(&flags, pool, &place));
	EXPECT(CU_MEM_ACCESS_FLAGS_PROT_READWRITE, flags);
	place.id = 0;
	OK(cuMemPoolGetAccess(&flags, pool, &place));
	EXPECT(CU_MEM_ACCESS_FLAGS_PROT_NONE, flags);
	OK(cuMemPoolSetAccess(pool, &access, 1));
	OK(cuMemPoolGetAccess(&flags, pool, &place));
	EXPECT(CU_MEM_ACCESS_FLAGS_PROT_READ, flags);
	access.location.id = 1; /* its own device cannot be shut out */
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAccess(pool, &access, 1));
	/* Current pools. */
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuDeviceSetMemPool(0, pool));
	OK(cuDeviceSetMemPool(1, pool));
	OK(cuDeviceGetMemPool(&other, 1));
	EXPECT(1, other == pool);
	place.id = 1;
	OK(cuMemGetMemPool(&other, &place, CU_MEM_ALLOCATION_TYPE_PINNED));
	EXPECT(1, other == pool);
	OK(cuMemGetDefaultMemPool(&other, &place, CU_MEM_ALLOCATION_TYPE_PINNED));
	EXPECT(1, other != pool);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemPoolDestroy(other)); /* a default pool */
	/* Destroyed with memory in use: that memory stays good. */
	OK(cuMemPoolDestroy(pool));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemAllocFromPoolAsync(&more, 100, pool, NULL));
	OK(cuDeviceGetMemPool(&handle, 1));
	EXPECT(1, handle == other);
	OK(cuMemsetD8(memory, 1, 100));
	OK(cuMemFree(memory));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFree(memory));
	OK(cuMemPoolSetAccess(
		other, &(CUmemAccessDesc){ { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE },
		1));
	/* What no process here can share. */
	EXPECT(CUDA_ERROR_INVALID_VALUE,
	       cuMemPoolExportToShareableHandle(&fd, other, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	EXPECT(CUDA_ERROR_NOT_SUPPORTED,
	       cuMemPoolImportFromShareableHandle(&pool, NULL, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuMemPoolCreate(&pool, &props));
	props.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
	props.location.type = CU_MEM_LOCATION_TYPE_HOST;
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuMemPoolCreate(&pool, &props));
	props.location = (CUmemLocation){ CU_MEM_LOCATION_TYPE_DEVICE, 2 };
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemPoolCreate(&pool, &props));
	props.location.id = 0;
	props.maxSize = 40 * MIB;
	OK(cuMemPoolCreate(&pool, &props));
	OK(cuMemAllocFromPoolAsync(&memory, 20 * MIB, pool, NULL));
	EXPECT(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocFromPoolAsync(&more, 21 * MIB, pool, NULL));
	OK(cuMemAllocFromPoolAsync(&more, 12 * MIB, pool, NULL));
}

static void pools_are_objects(void **state)
{
	(void)state;
	setenv("SIMGPU_DEVICES", "2", 1);
	run_in_child(pools, NULL);
}

static void refused(void)
{
	CUdeviceptr memory;
	cuuint64_t one = 1;
	CUmemoryPool pool;

	start();
	pool = default_pool();
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemAllocAsync(&memory, 0, NULL));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemAllocAsync(NULL, 8, NULL));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuMemAllocAsync(&memory, 8, (CUstream)(uintptr_t)0x12340));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemAllocFromPoolAsync(&memory, 8, (CUmemoryPool)(uintptr_t)0x12340, NULL));
	EXPECT(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&memory, SIZE_MAX - 5, NULL));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &one));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &one));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemPoolGetAttribute(pool, (CUmemPool_attribute)99, &one));
	EXPECT(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetDefaultMemPool(&pool, 7));
	OK(cuMemFreeAsync(0, NULL));
	/* Memory of cuMemAlloc may be freed in a stream too. */
	memory = device_memory(4096);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(memory + 8, NULL));
	OK(cuMemFreeAsync(memory, NULL));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFree(memory));
}

static void wrong_arguments_are_refused(void **state)
{
	(void)state;
	run_in_child(refused, NULL);
}

/* Against a model: no two live allocations overlap, and each keeps its bytes, whatever is freed in which stream. */
static void random_use(void)
{
	enum { STREAMS = 3, SLOTS = 40, STEPS = 3000 };
	struct {
		CUdeviceptr memory;
		size_t bytes;
		int owner;
	} slots[SLOTS] = { { 0 } };
	CUstream streams[STREAMS];
	unsigned seed = 12345;

	start();
	for (int i = 0; i < STREAMS; i++)
		streams[i] = stream(CU_STREAM_NON_BLOCKING);
	for (int step = 0; step < STEPS; step++) {
		unsigned slot = (unsigned)rand_r(&seed) % SLOTS;
		int owner = rand_r(&seed) % STREAMS;
		unsigned char byte = 0;

		if (!slots[slot].memory) {
			size_t bytes = 1 + (unsigned)rand_r(&seed) % (3 * MIB);

			if (cuMemAllocAsync(&slots[slot].memory, bytes, streams[owner])) {
				slots[slot].memory = 0;
				continue;
			}
			slots[slot].bytes = bytes;
			slots[slot].owner = owner;
			for (unsigned i = 0; i < SLOTS; i++)
				EXPECT(1, i == slot || !slots[i].memory ||
						  slots[i].memory + slots[i].bytes <= slots[slot].memory ||
						  slots[slot].memory + bytes <= slots[i].memory);
			OK(cuMemsetD8Async(slots[slot].memory + bytes - 1, (unsigned char)slot, 1, streams[owner]));
			continue;
		}
		owner = slots[slot].owner;
		OK(cuMemcpyDtoHAsync(&byte, slots[slot].memory + slots[slot].bytes - 1, 1, streams[owner]));
		EXPECT(slot, byte);
		OK(cuMemFreeAsync(slots[slot].memory, streams[owner]));
		slots[slot].memory = 0;
	}
	for (unsigned i = 0; i < SLOTS; i++)
		if (slots[i].memory)
			OK(cuMemFreeAsync(slots[i].memory, streams[slots[i].owner]));
	OK(cuCtxSynchronize());
	EXPECT(0, amount(default_pool(), CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
	EXPECT(0, amount(default_pool(), CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
	EXPECT(64 * MIB, free_bytes());
}

static void random_use_never_overlaps_and_leaks_nothing(void **state)
{
	(void)state;
	setenv("SIMGPU_MEM_BYTES", "64M", 1);
	setenv("SIMGPU_LATENCY_US", "1", 1);
	run_in_child(random_use, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pool_counts_what_it_holds),
		cmocka_unit_test(threshold_is_honoured_at_synchronise),
		cmocka_unit_test(memory_is_reused_in_stream_order),
		cmocka_unit_test(short_of_memory_an_allocation_waits_for_a_free),
		cmocka_unit_test(pools_are_objects),
		cmocka_unit_test(wrong_arguments_are_refused),
		cmocka_unit_test(random_use_never_overlaps_and_leaks_nothing),
	};

	settings_clear();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
