/* SPDX-License-Identifier: BSD-2-Clause */
/* sample_streams_linked: the same work first in one stream, then in pieces over four streams, so that a piece is copied while another is
 * computed. Each element is counted up once per pass. */
#include "sample.h"

#define STREAMS 4
#define N (1u << 20)
#define PIECE (N / STREAMS)
#define THREADS 256
#define PASSES 3

static const char ptx[] = PTX_HEADER ".visible .entry count_up__150us(.param .u64 to, .param .u32 n)\n"
				     "{\n"
				     ".reg .pred %p0;\n"
				     ".reg .u32 %r<6>;\n"
				     ".reg .u64 %d<2>;\n" PTX_INDEX "ld.param.u32 %r4, [n];\n"
				     "setp.ge.u32 %p0, %r0, %r4;\n"
				     "@%p0 bra DONE;\n"
				     "ld.param.u64 %d0, [to];\n"
				     "cvta.to.global.u64 %d0, %d0;\n"
				     "mul.wide.u32 %d1, %r0, 4;\n"
				     "add.u64 %d0, %d0, %d1;\n"
				     "ld.global.u32 %r5, [%d0];\n"
				     "add.u32 %r5, %r5, 1;\n"
				     "st.global.u32 [%d0], %r5;\n"
				     "DONE:\n"
				     "ret;\n"
				     "}\n";

struct work {
	CUfunction count_up;
	CUstream streams[STREAMS];
	CUdeviceptr on_device;
	unsigned *host; /* pinned */
};

static void process(const struct work *w, CUstream stream, size_t first, unsigned n)
{
	CUdeviceptr to = w->on_device + first * sizeof(*w->host);
	void *parameters[] = { &to, &n };

	CHECK(cuMemcpyHtoDAsync(to, w->host + first, n * sizeof(*w->host), stream));
	CHECK(cuLaunchKernel(w->count_up, sample_blocks(n, THREADS), 1, 1, THREADS, 1, 1, 0, stream, parameters, NULL));
	CHECK(cuMemcpyDtoHAsync(w->host + first, to, n * sizeof(*w->host), stream));
}

/* Milliseconds on the device for one pass over everything, in pieces over so many streams. */
static float pass(const struct work *w, unsigned streams)
{
	CUevent begin, end, piece_end;
	float ms;

	CHECK(cuEventCreate(&begin, CU_EVENT_DEFAULT));
	CHECK(cuEventCreate(&end, CU_EVENT_DEFAULT));
	CHECK(cuEventCreate(&piece_end, CU_EVENT_DISABLE_TIMING));
	CHECK(cuEventRecord(begin, w->streams[0]));
	for (unsigned i = 1; i < streams; i++)
		CHECK(cuStreamWaitEvent(w->streams[i], begin, CU_EVENT_WAIT_DEFAULT));
	for (unsigned i = 0; i < STREAMS; i++)
		process(w, w->streams[i % streams], i * PIECE, PIECE);
	for (unsigned i = 1; i < streams; i++) {
		CHECK(cuEventRecord(piece_end, w->streams[i]));
		CHECK(cuStreamWaitEvent(w->streams[0], piece_end, CU_EVENT_WAIT_DEFAULT));
	}
	CHECK(cuEventRecord(end, w->streams[0]));
	CHECK(cuEventSynchronize(end));
	CHECK(cuEventElapsedTime(&ms, begin, end));
	CHECK(cuEventDestroy(begin));
	CHECK(cuEventDestroy(end));
	CHECK(cuEventDestroy(piece_end));
	return ms;
}

int main(void)
{
	CUdevice device = sample_device(0);
	CUmodule module = sample_module(ptx);
	struct work w = { .count_up = sample_function(module, "count_up__150us") };
	unsigned added = sample_computes(device) ? 2 * PASSES : 0;
	float one = 0, four = 0;

	CHECK(cuMemHostAlloc((void **)&w.host, N * sizeof(*w.host), CU_MEMHOSTALLOC_PORTABLE));
	CHECK(cuMemAlloc(&w.on_device, N * sizeof(*w.host)));
	for (unsigned i = 0; i < STREAMS; i++)
		CHECK(cuStreamCreate(&w.streams[i], CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0; i < N; i++)
		w.host[i] = i * 7;
	for (int i = 0; i < PASSES; i++) {
		one += pass(&w, 1);
		four += pass(&w, STREAMS);
	}
	for (unsigned i = 0; i < N; i++)
		REQUIRE(w.host[i] == i * 7 + added);
	fprintf(stderr, "a pass: %.3f ms in one stream, %.3f ms in %d\n", (double)(one / PASSES),
		(double)(four / PASSES), STREAMS);
	for (unsigned i = 0; i < STREAMS; i++)
		CHECK(cuStreamDestroy(w.streams[i]));
	CHECK(cuMemFree(w.on_device));
	CHECK(cuMemFreeHost(w.host));
	CHECK(cuModuleUnload(module));
	CHECK(cuDevicePrimaryCtxRelease(device));
	puts("streams: 6 passes over 1048576 numbers");
	return 0;
}
