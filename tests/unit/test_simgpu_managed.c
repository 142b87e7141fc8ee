/* SPDX-License-Identifier: BSD-2-Clause */
/* Managed memory: prefetches, advice, attachments. */
#include "test_simgpu.h"

static struct truth truth;

enum { BYTES = 1 << 20 };

static const CUmemLocation host = { .type = CU_MEM_LOCATION_TYPE_HOST },
			   second = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1 };

APART static CUdeviceptr managed_memory(void)
{
	CUdeviceptr memory;

	OK(cuMemAllocManaged(&memory, BYTES, CU_MEM_ATTACH_GLOBAL));
	return memory;
}

static int asked(CUdeviceptr memory, CUmem_range_attribute attribute)
{
	int value = 12345;

	OK(cuMemRangeGetAttribute(&value, sizeof(value), attribute, memory, BYTES));
	return value;
}

static void hints(void)
{
	CUmemLocation nowhere = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 2 };
	CUdeviceptr memory, plain;
	int list[4], first, last;
	void *data[] = { &first, list };
	size_t sizes[] = { sizeof(first), sizeof(list) };
	CUmem_range_attribute attributes[] = { CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY };

	start();
	memory = managed_memory();
	plain = device_memory(BYTES);
	EXPECT(CU_DEVICE_INVALID, asked(memory, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION));
	EXPECT(CU_DEVICE_INVALID, asked(memory, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION));
	OK(cuMemAdvise(memory, BYTES, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, second));
	EXPECT(1, asked(memory, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION));
	EXPECT(CU_MEM_LOCATION_TYPE_DEVICE, asked(memory, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE));
	EXPECT(1, asked(memory, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID));
	OK(cuMemAdvise(memory, BYTES, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host));
	EXPECT(CU_DEVICE_CPU, asked(memory, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION));
	OK(cuMemAdvise(memory, BYTES, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, host));
	EXPECT(CU_DEVICE_INVALID, asked(memory, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION));
	OK(cuMemAdvise(memory, BYTES, CU_MEM_ADVISE_SET_READ_MOSTLY, host));
	OK(cuMemAdvise(memory, BYTES, CU_MEM_ADVISE_SET_ACCESSED_BY, second));
	OK(cuMemAdvise(memory, BYTES, CU_MEM_ADVISE_SET_ACCESSED_BY, host));
	OK(cuMemRangeGetAttributes(data, sizes, attributes, 2, memory, BYTES));
	EXPECT(1, first);
	EXPECT(CU_DEVICE_CPU, list[0]);
	EXPECT(1, list[1]);
	EXPECT(CU_DEVICE_INVALID, list[2]);
	OK(cuMemAdvise(memory, BYTES, CU_MEM_ADVISE_UNSET_ACCESSED_BY, host));
	OK(cuMemRangeGetAttribute(&last, sizeof(last), CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory, BYTES));
	EXPECT(1, last);
	OK(cuMemPrefetchAsync(memory + 4096, 8192, second, 0, NULL));
	EXPECT(1, asked(memory, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION));
	OK(cuMemPrefetchAsync(memory, BYTES, host, 0, NULL));
	EXPECT(CU_DEVICE_CPU, asked(memory, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION));
	EXPECT(CUDA_ERROR_INVALID_DEVICE, cuMemPrefetchAsync(memory, BYTES, nowhere, 0, NULL));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemPrefetchAsync(memory, BYTES + 1, host, 0, NULL));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemPrefetchAsync(memory, BYTES, host, 1, NULL));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemPrefetchAsync(plain, BYTES, host, 0, NULL));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemAdvise(plain, BYTES, CU_MEM_ADVISE_SET_READ_MOSTLY, host));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemAdvise(memory, BYTES, (CUmem_advise)9, host));
	EXPECT(CUDA_ERROR_INVALID_VALUE,
	       cuMemRangeGetAttribute(list, 8, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, BYTES));
	OK(cuMemFree(memory));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemAdvise(memory, BYTES, CU_MEM_ADVISE_SET_READ_MOSTLY, host));
}

static void hints_are_kept(void **state)
{
	(void)state;
	setenv("SIMGPU_DEVICES", "2", 1);
	run_in_child(hints, &truth);
	assert_int_equal(truth.count, 0); /* nothing migrates, so nothing is an operation */
}

static void batches(void)
{
	CUdeviceptr memory[3];
	size_t bytes[3] = { BYTES, BYTES, 4096 }, first[2] = { 0, 2 };
	CUmemLocation places[2] = { second, host };
	CUstream s;

	start();
	s = stream(CU_STREAM_NON_BLOCKING);
	for (int i = 0; i < 3; i++)
		memory[i] = managed_memory();
	OK(cuMemPrefetchBatchAsync(memory, bytes, 3, places, first, 2, 0, s));
	EXPECT(1, asked(memory[1], CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION));
	EXPECT(CU_DEVICE_CPU, asked(memory[2], CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION));
	OK(cuMemDiscardBatchAsync(memory, bytes, 2, 0, s));
	first[1] = 0;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemPrefetchBatchAsync(memory, bytes, 3, places, first, 2, 0, s));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemPrefetchBatchAsync(memory, bytes, 3, places, first, 1, 0, NULL));
	OK(cuMemDiscardAndPrefetchBatchAsync(memory, bytes, 3, &places[1], first, 1, 0, s));
	EXPECT(CU_DEVICE_CPU, asked(memory[0], CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION));
	/* Attaching takes all of an allocation. */
	OK(cuStreamAttachMemAsync(s, memory[0], 0, CU_MEM_ATTACH_SINGLE));
	OK(cuStreamAttachMemAsync(s, memory[0], BYTES, CU_MEM_ATTACH_GLOBAL));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamAttachMemAsync(s, memory[0], 4096, CU_MEM_ATTACH_GLOBAL));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamAttachMemAsync(NULL, memory[0], 0, CU_MEM_ATTACH_SINGLE));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamAttachMemAsync(s, memory[0], 0, 7));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamAttachMemAsync(s, device_memory(64), 0, CU_MEM_ATTACH_GLOBAL));
}

static void batches_name_their_locations(void **state)
{
	(void)state;
	setenv("SIMGPU_DEVICES", "2", 1);
	run_in_child(batches, NULL);
}

static void in_order(void)
{
	CUdeviceptr memory;
	CUstream s;

	start();
	s = stream(0);
	memory = managed_memory();
	gate_close(s);
	launch("before__300000us", s);
	OK(cuMemPrefetchAsync(memory, BYTES, host, 0, s));
	EXPECT(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
	launch("after__10us", s);
	gate_open();
	OK(cuCtxSynchronize());
	*(volatile char *)(uintptr_t)memory = 1; /* the host reaches it */
}

static void prefetch_has_its_place_in_the_stream(void **state)
{
	(void)state;
	run_in_child(in_order, &truth);
	assert_int_equal(truth_find(&truth, "after__10us")->start_ns, truth_find(&truth, "before__300000us")->end_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hints_are_kept),
		cmocka_unit_test(batches_name_their_locations),
		cmocka_unit_test(prefetch_has_its_place_in_the_stream),
	};

	settings_clear();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
