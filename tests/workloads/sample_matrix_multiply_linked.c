/* SPDX-License-Identifier: BSD-2-Clause */
/* sample_matrix_multiply_linked: multiplies square matrices a number of times, timed by events around all of them. */
#include "sample.h"

#define SIDE 128
#define TILE 16
#define TIMES 30

static const char ptx[] =
	PTX_HEADER ".visible .entry multiply__60us(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 side)\n"
		   "{\n"
		   ".reg .pred %p0;\n"
		   ".reg .u32 %r<12>;\n"
		   ".reg .u64 %d<8>;\n"
		   ".reg .f32 %f<4>;\n"
		   "ld.param.u64 %d0, [a];\n"
		   "ld.param.u64 %d1, [b];\n"
		   "ld.param.u64 %d2, [c];\n"
		   "ld.param.u32 %r4, [side];\n"
		   "cvta.to.global.u64 %d0, %d0;\n"
		   "cvta.to.global.u64 %d1, %d1;\n"
		   "cvta.to.global.u64 %d2, %d2;\n" PTX_INDEX /* the column */
		   "mov.u32 %r5, %ctaid.y;\n"
		   "mov.u32 %r6, %ntid.y;\n"
		   "mov.u32 %r7, %tid.y;\n"
		   "mad.lo.u32 %r5, %r5, %r6, %r7;\n" /* the row */
		   "mul.lo.u32 %r8, %r5, %r4;\n"
		   "mov.f32 %f0, 0f00000000;\n"
		   "mov.u32 %r9, 0;\n"
		   "NEXT:\n"
		   "add.u32 %r10, %r8, %r9;\n" /* a[row][k] */
		   "mul.wide.u32 %d3, %r10, 4;\n"
		   "add.u64 %d3, %d0, %d3;\n"
		   "ld.global.f32 %f1, [%d3];\n"
		   "mad.lo.u32 %r11, %r9, %r4, %r0;\n" /* b[k][column] */
		   "mul.wide.u32 %d4, %r11, 4;\n"
		   "add.u64 %d4, %d1, %d4;\n"
		   "ld.global.f32 %f2, [%d4];\n"
		   "fma.rn.f32 %f0, %f1, %f2, %f0;\n"
		   "add.u32 %r9, %r9, 1;\n"
		   "setp.lt.u32 %p0, %r9, %r4;\n"
		   "@%p0 bra NEXT;\n"
		   "add.u32 %r10, %r8, %r0;\n"
		   "mul.wide.u32 %d5, %r10, 4;\n"
		   "add.u64 %d5, %d2, %d5;\n"
		   "st.global.f32 [%d5], %f0;\n"
		   "ret;\n"
		   "}\n";

static float a[SIDE][SIDE], b[SIDE][SIDE], c[SIDE][SIDE];

static void fill(void)
{
	for (int row = 0; row < SIDE; row++)
		for (int column = 0; column < SIDE; column++) {
			a[row][column] = (float)((row + column) % 5);
			b[row][column] = (float)((row * 3 + column) % 7);
		}
}

/* Sums of small whole numbers, which float keeps exactly. */
static void check_product(void)
{
	for (int row = 0; row < SIDE; row++)
		for (int column = 0; column < SIDE; column++) {
			float sum = 0;

			for (int k = 0; k < SIDE; k++)
				sum += a[row][k] * b[k][column];
			REQUIRE(c[row][column] == sum);
		}
}

/* Milliseconds for all of them. */
static float multiply(CUfunction kernel, CUstream stream, CUdeviceptr on_device[3])
{
	unsigned side = SIDE;
	void *parameters[] = { &on_device[0], &on_device[1], &on_device[2], &side };
	CUevent begin, end;
	float ms;

	CHECK(cuEventCreate(&begin, CU_EVENT_DEFAULT));
	CHECK(cuEventCreate(&end, CU_EVENT_BLOCKING_SYNC));
	CHECK(cuEventRecord(begin, stream));
	for (int i = 0; i < TIMES; i++)
		CHECK(cuLaunchKernel(kernel, SIDE / TILE, SIDE / TILE, 1, TILE, TILE, 1, 0, stream, parameters, NULL));
	CHECK(cuEventRecord(end, stream));
	CHECK(cuEventSynchronize(end));
	CHECK(cuEventElapsedTime(&ms, begin, end));
	CHECK(cuEventDestroy(begin));
	CHECK(cuEventDestroy(end));
	return ms;
}

int main(void)
{
	CUdevice device = sample_device(0);
	CUmodule module = sample_module(ptx);
	CUfunction kernel = sample_function(module, "multiply__60us");
	CUdeviceptr on_device[3];
	CUstream stream;
	float ms;

	fill();
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 3; i++)
		CHECK(cuMemAlloc(&on_device[i], sizeof(a)));
	CHECK(cuMemcpyHtoDAsync(on_device[0], a, sizeof(a), stream));
	CHECK(cuMemcpyHtoDAsync(on_device[1], b, sizeof(b), stream));
	CHECK(cuMemsetD32Async(on_device[2], 0, SIDE * SIDE, stream));
	ms = multiply(kernel, stream, on_device);
	CHECK(cuMemcpyDtoHAsync(c, on_device[2], sizeof(c), stream));
	CHECK(cuStreamSynchronize(stream));
	if (sample_computes(device))
		check_product();
	else
		REQUIRE(c[5][7] == 0 && ms >= TIMES * 0.060f * 0.99f); /* the memset; the kernels' own time */
	fprintf(stderr, "%.3f ms for %d products\n", (double)ms, TIMES);
	for (int i = 0; i < 3; i++)
		CHECK(cuMemFree(on_device[i]));
	CHECK(cuStreamDestroy(stream));
	CHECK(cuModuleUnload(module));
	CHECK(cuDevicePrimaryCtxRelease(device));
	puts("matrix_multiply: 30 products of 128 by 128");
	return 0;
}
