/* SPDX-License-Identifier: BSD-2-Clause */
/* Rectangles, boxes, arrays and batches: which bytes move, as which operation, and what is refused. */
#include "test_simgpu.h"

static struct truth truth;

enum { PITCH = 512, ROWS = 6, WIDTH = 100, LARGE = 1 << 20 };

/* Row r, byte x holds this. */
static unsigned char expected_byte(unsigned r, unsigned x)
{
	return (unsigned char)(r * 31 + x * 7 + 1);
}

static unsigned char *numbered(unsigned char *memory, unsigned pitch, unsigned rows)
{
	for (unsigned r = 0; r < rows; r++)
		for (unsigned x = 0; x < pitch; x++)
			memory[r * pitch + x] = expected_byte(r, x);
	return memory;
}

static void rectangles(void)
{
	unsigned char *host = malloc(WIDTH * ROWS), *back = calloc(1, PITCH * (ROWS + 2));
	CUdeviceptr memory;
	CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_HOST,
			       .srcHost = numbered(host, WIDTH, ROWS),
			       .srcPitch = WIDTH,
			       .srcXInBytes = 10,
			       .srcY = 1,
			       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			       .dstPitch = PITCH,
			       .dstXInBytes = 20,
			       .dstY = 2,
			       .WidthInBytes = 60,
			       .Height = 4 };

	start();
	memory = device_memory(PITCH * (ROWS + 2));
	copy.dstDevice = memory;
	OK(cuMemsetD8(memory, 0, PITCH * (ROWS + 2)));
	OK(cuMemcpy2D(&copy));
	OK(cuMemcpyDtoH(back, memory, PITCH * (ROWS + 2)));
	for (unsigned r = 0; r < ROWS + 2; r++)
		for (unsigned x = 0; x < PITCH; x++)
			EXPECT(r >= 2 && r < 6 && x >= 20 && x < 80 ? expected_byte(r - 1, x - 10) : 0,
			       back[r * PITCH + x]);
	/* And back, by the two other calls, into a host rectangle. */
	memset(host, 0, WIDTH * ROWS);
	copy = (CUDA_MEMCPY2D){ .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
				.srcDevice = memory,
				.srcPitch = PITCH,
				.srcXInBytes = 20,
				.srcY = 2,
				.dstMemoryType = CU_MEMORYTYPE_HOST,
				.dstHost = host,
				.dstPitch = WIDTH,
				.WidthInBytes = 60,
				.Height = 4 };
	OK(cuMemcpy2DUnaligned(&copy));
	EXPECT(expected_byte(1, 10), host[0]);
	EXPECT(expected_byte(4, 69), host[3 * WIDTH + 59]);
	EXPECT(0, host[60]);
	copy.dstY = 2;
	OK(cuMemcpy2DAsync(&copy, NULL));
	EXPECT(expected_byte(4, 69), host[5 * WIDTH + 59]);
	free(host);
	free(back);
}

static void rectangles_move_their_bytes(void **state)
{
	static const char *const kinds[] = { "\"h2d-pageable\"", "\"d2h-pageable\"", "\"d2h-pageable\"",
					     "\"d2h-pageable\"" };
	static const int bytes[] = { 240, PITCH * (ROWS + 2), 240, 240 };

	(void)state;
	run_in_child(rectangles, &truth);
	for (unsigned i = 0; i < 4; i++) {
		const struct truth_op *op = truth_nth(&truth, "memcpy", i);

		assert_string_equal(op->kind, kinds[i]);
		assert_int_equal(op->bytes, bytes[i]);
	}
	/* 8 GB/s, truncated to a nanosecond */
	assert_int_equal(truth_nth(&truth, "memcpy", 2)->end_ns - truth_nth(&truth, "memcpy", 2)->start_ns, 240 / 8);
}

static void staged(void)
{
	unsigned char *host = malloc(LARGE);
	CUdeviceptr memory;
	CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_HOST,
			       .srcHost = numbered(host, 1024, 1024),
			       .srcPitch = 1024,
			       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			       .dstPitch = 64,
			       .WidthInBytes = 64,
			       .Height = 1024 };
	CUstream s;

	start();
	s = stream(0);
	memory = device_memory(LARGE);
	copy.dstDevice = memory;
	gate_close(s);
	launch("long__1000us", s);
	OK(cuMemcpy2DAsync(&copy, s)); /* 64 KiB: staged at once, behind the kernel */
	EXPECT(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
	memset(host, 0, LARGE);
	gate_open();
	OK(cuMemcpyDtoHAsync(host, memory, 64 * 1024, s));
	EXPECT(expected_byte(0, 0), host[0]);
	EXPECT(expected_byte(1023, 63), host[64 * 1024 - 1]);
	/* More than 64 KiB takes real time; all of it is there when the call returns and the stream is done. */
	numbered(host, 1024, 1024);
	copy.WidthInBytes = 512;
	copy.dstPitch = 512;
	OK(cuMemcpy2DAsync(&copy, s));
	memset(host, 0, LARGE);
	OK(cuMemcpyDtoH(host, memory, LARGE / 2));
	EXPECT(expected_byte(1023, 511), host[LARGE / 2 - 1]);
	EXPECT(expected_byte(512, 3), host[512 * 512 + 3]);
	free(host);
}

static void pageable_rectangles_are_staged(void **state)
{
	(void)state;
	run_in_child(staged, &truth);
	assert_true(truth_nth(&truth, "memcpy", 0)->start_ns >= truth_find(&truth, "long__1000us")->end_ns);
	assert_int_equal(truth_nth(&truth, "memcpy", 2)->bytes, LARGE / 2);
}

static void boxes(void)
{
	enum { SLICES = 3, HEIGHT = 5 };
	unsigned char *host = malloc(WIDTH * HEIGHT * SLICES), back[2 * 3 * 4];
	CUdeviceptr memory;
	CUDA_MEMCPY3D copy = { .srcMemoryType = CU_MEMORYTYPE_HOST,
			       .srcHost = numbered(host, WIDTH, HEIGHT * SLICES),
			       .srcPitch = WIDTH,
			       .srcHeight = HEIGHT,
			       .srcXInBytes = 3,
			       .srcY = 1,
			       .srcZ = 1,
			       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			       .dstPitch = 4,
			       .dstHeight = 3,
			       .WidthInBytes = 4,
			       .Height = 3,
			       .Depth = 2 };

	start();
	memory = device_memory(sizeof(back));
	copy.dstDevice = memory;
	OK(cuMemcpy3D(&copy));
	OK(cuMemcpyDtoH(back, memory, sizeof(back)));
	for (unsigned z = 0; z < 2; z++)
		for (unsigned y = 0; y < 3; y++)
			for (unsigned x = 0; x < 4; x++)
				EXPECT(expected_byte((z + 1) * HEIGHT + y + 1, x + 3), back[(z * 3 + y) * 4 + x]);
	copy.dstHeight = 2; /* less than the copy is high */
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&copy));
	copy.dstHeight = 3;
	copy.dstPitch = 3; /* less than it is wide */
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpy3DAsync(&copy, NULL));
	copy.dstPitch = 4;
	copy.Depth = 3; /* leaves the allocation, and the source */
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&copy));
	copy.Depth = 2;
	copy.reserved0 = back;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&copy));
	copy.reserved0 = NULL;
	copy.Height = 0;
	OK(cuMemcpy3D(&copy));
	copy.Height = 3;
	copy.dstMemoryType = (CUmemorytype)9;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&copy));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(NULL));
	free(host);
}

static void boxes_move_their_bytes(void **state)
{
	(void)state;
	run_in_child(boxes, &truth);
	assert_int_equal(truth.count, 2); /* what was refused, and what was empty, is no operation */
	assert_int_equal(truth_nth(&truth, "memcpy", 0)->bytes, 24);
}

static void planes(void)
{
	unsigned char *back = malloc(LARGE);
	CUdeviceptr memory;
	size_t pitch;

	start();
	OK(cuMemAllocPitch(&memory, &pitch, 100, 8, 4));
	EXPECT(512, pitch);
	OK(cuMemsetD8(memory, 0, pitch * 8));
	OK(cuMemsetD2D8(memory, pitch, 0x11, 10, 2));
	OK(cuMemsetD2D16(memory + 2 * pitch, pitch, 0x2233, 5, 2));
	OK(cuMemsetD2D32Async(memory + 4 * pitch, pitch, 0x44556677, 3, 4, NULL));
	OK(cuMemcpyDtoH(back, memory, pitch * 8));
	EXPECT(0x11, back[pitch + 9]);
	EXPECT(0, back[pitch + 10]);
	EXPECT(0x33, back[3 * pitch + 8]);
	EXPECT(0x22, back[3 * pitch + 9]);
	EXPECT(0, back[3 * pitch + 10]);
	EXPECT(0x77, back[7 * pitch + 8]);
	EXPECT(0x44, back[7 * pitch + 11]);
	EXPECT(0, back[7 * pitch + 12]);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemsetD2D8(memory, 9, 0, 10, 2));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemsetD2D32(memory, 514, 0, 10, 2));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemsetD2D8(memory, pitch, 0, 10, 9));
	free(back);
}

static void planes_are_set(void **state)
{
	static const int bytes[] = { 512 * 8, 20, 20, 48 };

	(void)state;
	run_in_child(planes, &truth);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(truth_nth(&truth, "memset", i)->bytes, bytes[i]);
	assert_int_equal(truth.count, 5);
}

static void arrays(void)
{
	const CUDA_ARRAY_DESCRIPTOR flat = {
		.Width = 25, .Height = ROWS, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1
	};
	CUDA_ARRAY3D_DESCRIPTOR deep = {
		.Width = 8, .Height = 4, .Depth = 2, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 4
	};
	unsigned char *host = malloc(WIDTH * ROWS), *back = calloc(1, WIDTH * ROWS);
	CUDA_ARRAY_DESCRIPTOR described;
	CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_HOST,
			       .srcHost = numbered(host, WIDTH, ROWS),
			       .srcPitch = WIDTH,
			       .dstMemoryType = CU_MEMORYTYPE_ARRAY,
			       .WidthInBytes = WIDTH,
			       .Height = ROWS };
	size_t before, after, total;
	CUdeviceptr memory;
	CUarray array, other, box;

	start();
	memory = device_memory(WIDTH);
	OK(cuMemGetInfo(&before, &total));
	OK(cuArrayCreate(&array, &flat));
	OK(cuMemGetInfo(&after, &total));
	EXPECT(1024, before - after); /* 600 bytes */
	OK(cuArrayCreate(&other, &flat));
	OK(cuArray3DCreate(&box, &deep));
	OK(cuArrayGetDescriptor(&described, array));
	EXPECT(0, memcmp(&described, &flat, sizeof(flat)));
	memset(&deep, 0, sizeof(deep));
	OK(cuArray3DGetDescriptor(&deep, box));
	EXPECT(2, deep.Depth);
	copy.dstArray = array;
	OK(cuMemcpy2D(&copy));
	copy = (CUDA_MEMCPY2D){ .srcMemoryType = CU_MEMORYTYPE_ARRAY,
				.srcArray = array,
				.srcXInBytes = 4,
				.srcY = 2,
				.dstMemoryType = CU_MEMORYTYPE_HOST,
				.dstHost = back,
				.dstPitch = 8,
				.WidthInBytes = 8,
				.Height = 3 };
	OK(cuMemcpy2D(&copy));
	EXPECT(expected_byte(2, 4), back[0]);
	EXPECT(expected_byte(4, 11), back[23]);
	copy.srcY = 4; /* three rows from there are one too many */
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(&copy));
	/* By bytes: host → array → array → device → host. */
	OK(cuMemcpyHtoA(array, 4, host, 40));
	OK(cuMemcpyAtoA(other, 8, array, 4, 40));
	OK(cuMemcpyAtoD(memory, other, 8, 40));
	OK(cuMemcpyDtoA(other, 60, memory, 40));
	OK(cuMemcpyAtoH(back, other, 60, 40));
	EXPECT(0, memcmp(back, host, 40));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyAtoH(back, other, 64, 40));
	OK(cuArrayDestroy(array));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(array));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuMemcpyAtoH(back, array, 0, 4));
	{
		CUDA_MEMCPY3D layers = { .srcMemoryType = CU_MEMORYTYPE_HOST,
					 .srcHost = host,
					 .srcPitch = 32,
					 .srcHeight = 4,
					 .dstMemoryType = CU_MEMORYTYPE_ARRAY,
					 .dstArray = box,
					 .dstZ = 1,
					 .WidthInBytes = 32,
					 .Height = 4,
					 .Depth = 1 };

		OK(cuMemcpy3D(&layers));
		layers.Depth = 2; /* the box has one slice from there */
		EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&layers));
	}
	OK(cuArrayDestroy(other));
	OK(cuArrayDestroy(box));
	OK(cuMemGetInfo(&after, &total));
	EXPECT(before, after);
	free(host);
	free(back);
}

static void arrays_hold_what_was_copied(void **state)
{
	static const char *const kinds[] = { "\"h2d-pageable\"", "\"d2h-pageable\"", "\"h2d-pageable\"",
					     "\"d2d\"",          "\"d2d\"",          "\"d2d\"",
					     "\"d2h-pageable\"", "\"h2d-pageable\"" };

	(void)state;
	run_in_child(arrays, &truth);
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		assert_string_equal(truth_nth(&truth, "memcpy", i)->kind, kinds[i]);
	assert_int_equal(truth.count, 8);
}

static void array_shapes(void)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {
		.Width = 6, .Height = 6, .Depth = 6, .Format = CU_AD_FORMAT_HALF, .NumChannels = 2
	};
	CUarray array;

	start();
	d.NumChannels = 3;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuArray3DCreate(&array, &d));
	d.NumChannels = 2;
	d.Height = 0; /* depth without height is for layers */
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuArray3DCreate(&array, &d));
	d.Flags = CUDA_ARRAY3D_LAYERED;
	OK(cuArray3DCreate(&array, &d));
	d.Height = 5;
	d.Flags = CUDA_ARRAY3D_CUBEMAP; /* not square */
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuArray3DCreate(&array, &d));
	d.Height = 6;
	OK(cuArray3DCreate(&array, &d));
	d.Flags = CUDA_ARRAY3D_SPARSE;
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuArray3DCreate(&array, &d));
	d.Flags = 0;
	d.Format = CU_AD_FORMAT_BC7_UNORM;
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuArray3DCreate(&array, &d));
	d.Format = CU_AD_FORMAT_HALF;
	d.Width = 16385;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuArray3DCreate(&array, &d));
	d.Width = 16384;
	d.Height = 16384; /* 6 GiB of 1 MiB */
	EXPECT(CUDA_ERROR_OUT_OF_MEMORY, cuArray3DCreate(&array, &d));
}

static void array_shapes_are_checked(void **state)
{
	(void)state;
	setenv("SIMGPU_MEM_BYTES", "1M", 1);
	run_in_child(array_shapes, NULL);
}

static void batches(void)
{
	CUdeviceptr to[3], from[3], one, two;
	size_t bytes[3] = { 100, 200, 300 }, first[2] = { 0, 2 }, failed;
	unsigned char *host = malloc(600), *back = malloc(300);
	CUmemcpyAttributes attributes[2] = { { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM },
					     { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY } };
	CUstream s;

	start();
	s = stream(CU_STREAM_NON_BLOCKING);
	one = device_memory(600);
	two = device_memory(600);
	numbered(host, 100, 6);
	to[0] = one, from[0] = (CUdeviceptr)(uintptr_t)host;
	to[1] = one + 100, from[1] = (CUdeviceptr)(uintptr_t)(host + 100);
	to[2] = one + 300, from[2] = (CUdeviceptr)(uintptr_t)(host + 300);
	OK(cuMemcpyBatchAsync(to, from, bytes, 3, attributes, first, 2, s));
	to[0] = two, from[0] = one + 300;
	to[1] = (CUdeviceptr)(uintptr_t)back, from[1] = one + 100;
	OK(cuMemcpyBatchAsync(to, from, bytes, 2, attributes, first, 1, s));
	OK(cuMemcpyDtoHAsync(back + 200, two, 100, s));
	EXPECT(0, memcmp(back, host + 100, 200));
	EXPECT(0, memcmp(back + 200, host + 300, 100));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyBatchAsync(to, from, bytes, 2, attributes, first, 1, NULL));
	first[0] = 1;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyBatchAsync(to, from, bytes, 2, attributes, first, 1, s));
	first[0] = 0;
	attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyBatchAsync(to, from, bytes, 2, attributes, first, 1, s));
	attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
	/* The form of CUDA 12.8 says which one failed, and submits none. */
	{
		CUresult (*with_index)(CUdeviceptr *, CUdeviceptr *, size_t *, size_t, CUmemcpyAttributes *, size_t *,
				       size_t, size_t *, CUstream);

		OK(cuGetProcAddress("cuMemcpyBatchAsync", (void **)&with_index, 12080, 0, NULL));
		to[1] = one + 599;
		EXPECT(CUDA_ERROR_INVALID_VALUE, with_index(to, from, bytes, 2, attributes, first, 1, &failed, s));
		EXPECT(1, failed);
	}
	free(host);
	free(back);
}

static void batches_are_their_copies(void **state)
{
	(void)state;
	run_in_child(batches, &truth);
	assert_int_equal(truth.count, 6);
	for (unsigned i = 1; i < truth.count; i++)
		assert_true(truth.ops[i].start_ns >= truth.ops[i - 1].end_ns);
	assert_int_equal(truth.ops[2].bytes, 300);
	assert_string_equal(truth.ops[3].kind, "\"d2d\"");
}

static void box_batch(void)
{
	CUDA_ARRAY3D_DESCRIPTOR d = { .Width = 8, .Height = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1 };
	CUDA_MEMCPY3D_BATCH_OP ops[2] = {
		{ .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, .extent = { 8, 4, 1 } },
		{ .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, .extent = { 2, 3, 1 } }
	};
	unsigned char host[128], back[3 * 12];
	CUarray array;
	CUstream s;

	start();
	s = stream(0);
	OK(cuArray3DCreate(&array, &d));
	ops[0].src.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
	ops[0].src.op.ptr.ptr = (CUdeviceptr)(uintptr_t)numbered(host, 32, 4);
	ops[0].dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
	ops[0].dst.op.array.array = array;
	ops[1].src.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
	ops[1].src.op.array.array = array;
	ops[1].src.op.array.offset = (CUoffset3D){ 1, 1, 0 };
	ops[1].dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
	ops[1].dst.op.ptr.ptr = (CUdeviceptr)(uintptr_t)back;
	ops[1].dst.op.ptr.rowLength = 3;
	OK(cuMemcpy3DBatchAsync(2, ops, 0, s));
	EXPECT(expected_byte(1, 4), back[0]);
	EXPECT(expected_byte(3, 11), back[2 * 12 + 7]);
	ops[1].dst.op.ptr.rowLength = 1;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpy3DBatchAsync(2, ops, 0, s));
	ops[1].dst.op.ptr.rowLength = 0;
	ops[1].extent.depth = 0;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpy3DBatchAsync(2, ops, 0, s));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpy3DBatchAsync(1, ops, 1, s));
}

static void box_batches_count_in_elements(void **state)
{
	(void)state;
	run_in_child(box_batch, &truth);
	assert_int_equal(truth.count, 2);
	assert_int_equal(truth_nth(&truth, "memcpy", 0)->bytes, 128);
	assert_int_equal(truth_nth(&truth, "memcpy", 1)->bytes, 24);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rectangles_move_their_bytes), cmocka_unit_test(pageable_rectangles_are_staged),
		cmocka_unit_test(boxes_move_their_bytes),      cmocka_unit_test(planes_are_set),
		cmocka_unit_test(arrays_hold_what_was_copied), cmocka_unit_test(array_shapes_are_checked),
		cmocka_unit_test(batches_are_their_copies),    cmocka_unit_test(box_batches_count_in_elements),
	};

	settings_clear();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
