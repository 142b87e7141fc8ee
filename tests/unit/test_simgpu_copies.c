/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies and memsets: which calls block until when, the engines, and that the bytes arrive. */
#include "test_simgpu.h"

static struct truth truth;

enum { SMALL = 64 << 10, LARGE = 1 << 20 };

static void *filled(void *memory, int value, size_t bytes)
{
	return memset(memory, value, bytes);
}

static void expect_filled(CUdeviceptr memory, int value, size_t bytes)
{
	unsigned char *back = malloc(bytes);

	OK(cuMemcpyDtoH(back, memory, bytes));
	for (size_t i = 0; i < bytes; i++)
		EXPECT(value, back[i]);
	free(back);
}

/* The kernel marks when the call before it had returned: its submit. */
static void blocking_calls(void)
{
	CUdeviceptr memory;
	char *pinned, *pageable = malloc(LARGE);

	start();
	memory = device_memory(LARGE);
	pinned = pinned_memory(LARGE);
	OK(cuMemcpyHtoD(memory, filled(pinned, 1, LARGE), LARGE));
	launch("m0", NULL);
	OK(cuMemcpyDtoH(pinned, memory, LARGE));
	launch("m1", NULL);
	OK(cuMemcpyDtoH(pageable, memory, LARGE));
	launch("m2", NULL);
	OK(cuMemcpyDtoHAsync(pageable, memory, SMALL, NULL));
	launch("m3", NULL);
	EXPECT(1, pageable[LARGE - 1]);
	launch("long__2000us", NULL);
	OK(cuMemcpyHtoD(memory, filled(pageable, 2, LARGE), LARGE));
	launch("m4", NULL);
	expect_filled(memory, 2, LARGE);
	free(pageable);
}

static void blocking_calls_return_when_done(void **state)
{
	(void)state;
	setenv("SIMGPU_H2D_GBPS", "1", 1);
	setenv("SIMGPU_PAGEABLE_GBPS", "0.5", 1);
	run_in_child(blocking_calls, &truth);
	static const char *const kinds[] = { "\"h2d-pinned\"", "\"d2h-pinned\"", "\"d2h-pageable\"", "\"d2h-pageable\"",
					     "\"h2d-pageable\"" };
	static const char *const marks[] = { "m0", "m1", "m2", "m3", "m4" };

	for (unsigned i = 0; i < 5; i++) {
		const struct truth_op *copy = truth_nth(&truth, "memcpy", i), *mark = truth_find(&truth, marks[i]);
		long long duration_ns = copy->bytes * (i < 2 ? 1 : 2), last_chunk_ns = i == 4 ? SMALL * 2 : 0;

		assert_string_equal(copy->kind, kinds[i]);
		assert_int_equal(copy->bytes, i == 3 ? SMALL : LARGE);
		assert_true(copy->end_ns - copy->start_ns >= duration_ns);
		assert_true(mark->submit_ns >= copy->end_ns - last_chunk_ns);
	}
	/* The synchronous pageable copy first waited for the stream. */
	assert_true(truth_nth(&truth, "memcpy", 4)->start_ns >= truth_find(&truth, "long__2000us")->end_ns);
}

static void asynchronous_calls(void)
{
	CUdeviceptr memory, other;
	char *pinned, *pageable = malloc(SMALL);
	CUstream s;

	start();
	s = stream(0);
	memory = device_memory(SMALL);
	other = device_memory(SMALL);
	pinned = pinned_memory(SMALL);
	launch("long__1500000us", s);
	OK(cuMemcpyHtoDAsync(memory, filled(pinned, 1, SMALL), SMALL, s));
	OK(cuMemcpyHtoDAsync(memory, filled(pageable, 2, SMALL), SMALL, s));
	filled(pageable, 3, SMALL); /* it was staged */
	OK(cuMemcpyDtoDAsync(other, memory, SMALL, s));
	OK(cuMemcpyDtoHAsync(pinned, other, SMALL, s));
	OK(cuMemsetD8Async(memory, 9, SMALL, s));
	OK(cuMemsetD8(memory, 8, SMALL)); /* on the default stream, behind s, and still asynchronous */
	OK(cuMemcpyDtoD(other, memory, SMALL));
	EXPECT(1, pinned[0]);
	EXPECT(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
	OK(cuStreamSynchronize(s));
	EXPECT(2, pinned[0]);
	EXPECT(2, pinned[SMALL - 1]);
	expect_filled(other, 8, SMALL);
	free(pageable);
}

static void asynchronous_calls_return_at_once(void **state)
{
	const struct truth_op *kernel;

	(void)state;
	run_in_child(asynchronous_calls, &truth);
	kernel = truth_find(&truth, "long__1500000us");
	assert_int_equal(truth.count, 9);
	for (unsigned i = 0; i < 8; i++)
		assert_true(truth.ops[i].submit_ns < kernel->end_ns);
	assert_string_equal(truth.ops[3].kind, "\"d2d\"");
	assert_string_equal(truth.ops[5].op, "memset");
	assert_string_equal(truth.ops[5].kind, "\"\"");
}

static void engines(void)
{
	CUdeviceptr memory;
	char *pinned;

	start();
	memory = device_memory(4 * SMALL);
	pinned = pinned_memory(4 * SMALL);
	for (int i = 0; i < 4; i++)
		OK(cuMemcpyHtoDAsync(memory + (unsigned)i * SMALL, pinned, SMALL, stream(CU_STREAM_NON_BLOCKING)));
	OK(cuMemcpyDtoHAsync(pinned, memory, SMALL, stream(CU_STREAM_NON_BLOCKING)));
	OK(cuCtxSynchronize());
}

static void one_copy_engine_per_direction(void **state)
{
	long long end_ns = 0;

	(void)state;
	setenv("SIMGPU_H2D_GBPS", "0.001", 1); /* 65.5 ms each */
	run_in_child(engines, &truth);
	for (unsigned i = 0; i < truth.count; i++) {
		assert_int_equal(truth.ops[i].end_ns - truth.ops[i].start_ns, 65536000);
		if (strcmp(truth.ops[i].kind, "\"h2d-pinned\""))
			continue;
		assert_true(truth.ops[i].start_ns >= end_ns);
		end_ns = truth.ops[i].end_ns;
	}
	/* The other direction did not wait for the four. */
	for (unsigned i = 0; i < truth.count; i++)
		if (!strcmp(truth.ops[i].kind, "\"d2h-pinned\""))
			assert_true(truth.ops[i].start_ns < end_ns);
}

static void ready_order(void)
{
	CUdeviceptr memory;
	char *pinned;
	CUstream busy;

	start();
	memory = device_memory(2 * SMALL);
	pinned = pinned_memory(2 * SMALL);
	busy = stream(CU_STREAM_NON_BLOCKING);
	launch("busy__600000us", busy);
	OK(cuMemcpyHtoDAsync(memory, pinned, 1000, busy));
	OK(cuMemcpyHtoDAsync(memory + SMALL, pinned, 2000, stream(CU_STREAM_NON_BLOCKING)));
	OK(cuCtxSynchronize());
}

static void engine_serves_what_is_ready_first(void **state)
{
	(void)state;
	run_in_child(ready_order, &truth);
	assert_int_equal(truth_nth(&truth, "memcpy", 0)->bytes, 2000);
	assert_int_equal(truth_nth(&truth, "memcpy", 1)->bytes, 1000);
	assert_int_equal(truth_nth(&truth, "memcpy", 1)->start_ns, truth_find(&truth, "busy__600000us")->end_ns);
}

static void patterns(void)
{
	CUdeviceptr memory;
	unsigned *words = malloc(LARGE), value;
	unsigned short *halves = (unsigned short *)words;

	start();
	memory = device_memory(LARGE);
	OK(cuMemsetD32(memory, 0xdeadbeef, LARGE / 4));
	OK(cuMemcpyDtoH(words, memory, LARGE));
	for (unsigned i = 0; i < LARGE / 4; i++)
		EXPECT(0xdeadbeef, words[i]);
	OK(cuMemsetD16(memory + 2, 0x1234, 3));
	OK(cuMemcpyDtoH(words, memory, 16));
	EXPECT(0xbeef, halves[0]);
	EXPECT(0x1234, halves[1]);
	EXPECT(0x1234, halves[3]);
	EXPECT(0xbeef, halves[4]);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(memory + 1, 0, 1));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemsetD8((CUdeviceptr)(uintptr_t)&value, 0, 1));
	/* A large copy between device buffers, both directions through the generic call. */
	for (unsigned i = 0; i < LARGE / 4; i++)
		words[i] = i * 2654435761u;
	OK(cuMemcpy(memory, (CUdeviceptr)(uintptr_t)words, LARGE));
	memset(words, 0, LARGE);
	OK(cuMemcpyAsync((CUdeviceptr)(uintptr_t)words, memory, LARGE, NULL));
	for (unsigned i = 0; i < LARGE / 4; i++)
		EXPECT(i * 2654435761u, words[i]);
	OK(cuMemcpyHtoD(memory, words, 0));
	free(words);
}

static void bytes_arrive(void **state)
{
	(void)state;
	run_in_child(patterns, NULL);
}

static void chain(void)
{
	enum { BUFFERS = 6 };
	CUdeviceptr device[BUFFERS];
	unsigned char *pinned;
	CUstream s[2];
	CUevent event;

	start();
	pinned = pinned_memory(2 * LARGE);
	OK(cuEventCreate(&event, 0));
	for (int i = 0; i < 2; i++)
		s[i] = stream(CU_STREAM_NON_BLOCKING);
	for (int i = 0; i < BUFFERS; i++)
		device[i] = device_memory(LARGE);
	for (int round = 0; round < 8; round++) {
		memset(pinned, round + 1, LARGE);
		OK(cuMemcpyHtoDAsync(device[0], pinned, LARGE, s[0]));
		for (int i = 1; i < BUFFERS; i++) {
			/* Each hop in the other stream, large and small ones mixed. */
			OK(cuMemcpyDtoDAsync(device[i], device[i - 1], i % 2 ? LARGE : SMALL, s[(i + 1) % 2]));
			OK(cuEventRecord(event, s[(i + 1) % 2]));
			OK(cuStreamWaitEvent(s[i % 2], event, 0));
		}
		OK(cuMemcpyDtoHAsync(pinned + LARGE, device[BUFFERS - 1], SMALL, s[BUFFERS % 2 ? 0 : 1]));
		OK(cuCtxSynchronize());
		EXPECT(round + 1, pinned[LARGE]);
		EXPECT(round + 1, pinned[LARGE + SMALL - 1]);
	}
}

static void bytes_move_in_dependency_order(void **state)
{
	(void)state;
	run_in_child(chain, &truth);
	for (unsigned i = 1; i < truth.count; i++)
		assert_true(truth.ops[i].start_ns >= truth.ops[i - 1].end_ns);
	assert_int_equal(truth.count, 8 * 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocking_calls_return_when_done),
		cmocka_unit_test(asynchronous_calls_return_at_once),
		cmocka_unit_test(one_copy_engine_per_direction),
		cmocka_unit_test(engine_serves_what_is_ready_first),
		cmocka_unit_test(bytes_arrive),
		cmocka_unit_test(bytes_move_in_dependency_order),
	};

	settings_clear();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
