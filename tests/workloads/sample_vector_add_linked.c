/* SPDX-License-Identifier: BSD-2-Clause */
/* sample_vector_add_linked: adds two vectors, from pageable memory and back. */
#include "sample.h"

#define N 50000
#define THREADS 256

static const char ptx[] =
	PTX_HEADER ".visible .entry vector_add__40us(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)\n"
		   "{\n"
		   ".reg .pred %p0;\n"
		   ".reg .u32 %r<5>;\n"
		   ".reg .u64 %d<8>;\n"
		   ".reg .f32 %f<3>;\n" PTX_INDEX "ld.param.u32 %r4, [n];\n"
		   "setp.ge.u32 %p0, %r0, %r4;\n"
		   "@%p0 bra DONE;\n"
		   "ld.param.u64 %d0, [a];\n"
		   "ld.param.u64 %d1, [b];\n"
		   "ld.param.u64 %d2, [c];\n"
		   "cvta.to.global.u64 %d0, %d0;\n"
		   "cvta.to.global.u64 %d1, %d1;\n"
		   "cvta.to.global.u64 %d2, %d2;\n"
		   "mul.wide.u32 %d3, %r0, 4;\n"
		   "add.u64 %d4, %d0, %d3;\n"
		   "add.u64 %d5, %d1, %d3;\n"
		   "add.u64 %d6, %d2, %d3;\n"
		   "ld.global.f32 %f0, [%d4];\n"
		   "ld.global.f32 %f1, [%d5];\n"
		   "add.f32 %f2, %f0, %f1;\n"
		   "st.global.f32 [%d6], %f2;\n"
		   "DONE:\n"
		   "ret;\n"
		   "}\n";

static float a[N], b[N], c[N];

static void add(CUfunction vector_add, CUdeviceptr on_device[3])
{
	unsigned n = N;
	void *parameters[] = { &on_device[0], &on_device[1], &on_device[2], &n };

	CHECK(cuMemcpyHtoD(on_device[0], a, sizeof(a)));
	CHECK(cuMemcpyHtoD(on_device[1], b, sizeof(b)));
	CHECK(cuLaunchKernel(vector_add, sample_blocks(N, THREADS), 1, 1, THREADS, 1, 1, 0, NULL, parameters, NULL));
	CHECK(cuCtxSynchronize());
}

int main(void)
{
	CUdevice device = sample_device(0);
	CUmodule module = sample_module(ptx);
	CUfunction vector_add = sample_function(module, "vector_add__40us");
	CUdeviceptr on_device[3];

	for (int i = 0; i < 3; i++)
		CHECK(cuMemAlloc(&on_device[i], sizeof(a)));
	for (int i = 0; i < N; i++) {
		a[i] = (float)i;
		b[i] = (float)(i % 97) * 0.5f;
	}
	add(vector_add, on_device);
	CHECK(cuMemcpyDtoH(c, on_device[2], sizeof(c)));
	if (sample_computes(device))
		for (int i = 0; i < N; i++)
			REQUIRE(c[i] == a[i] + b[i]);
	CHECK(cuMemcpyDtoD(on_device[2], on_device[1], sizeof(b)));
	CHECK(cuMemcpyDtoH(c, on_device[2], sizeof(c)));
	REQUIRE(memcmp(b, c, sizeof(b)) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(cuMemFree(on_device[i]));
	CHECK(cuModuleUnload(module));
	CHECK(cuDevicePrimaryCtxRelease(device));
	puts("vector_add: 50000 sums");
	return 0;
}
