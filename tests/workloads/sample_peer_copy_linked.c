/* SPDX-License-Identifier: BSD-2-Clause */
/* sample_peer_copy_linked: a buffer goes round all devices, each doubling it, and comes home. Directly where two devices can reach each
 * other; the driver goes through the host where they cannot. */
#include "sample.h"

#define N (1u << 18)
#define BYTES (N * sizeof(unsigned))
#define THREADS 256
#define DEVICES_MAX 16

static const char ptx[] = PTX_HEADER ".visible .entry twice__30us(.param .u64 to, .param .u32 n)\n"
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
				     "shl.b32 %r5, %r5, 1;\n"
				     "st.global.u32 [%d0], %r5;\n"
				     "DONE:\n"
				     "ret;\n"
				     "}\n";

struct place { /* a device and what we have there */
	CUdevice device;
	CUcontext context;
	CUmodule module;
	CUfunction twice;
	CUstream stream;
	CUdeviceptr buffer;
	CUevent done;
};

static unsigned numbers[N], back[N];

static void place_open(struct place *p, int ordinal)
{
	CHECK(cuDeviceGet(&p->device, ordinal));
	CHECK(cuDevicePrimaryCtxRetain(&p->context, p->device));
	CHECK(cuCtxSetCurrent(p->context));
	p->module = sample_module(ptx);
	p->twice = sample_function(p->module, "twice__30us");
	CHECK(cuStreamCreate(&p->stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuEventCreate(&p->done, CU_EVENT_DISABLE_TIMING));
	CHECK(cuMemAlloc(&p->buffer, BYTES));
}

static void place_close(struct place *p)
{
	CHECK(cuCtxSetCurrent(p->context));
	CHECK(cuMemFree(p->buffer));
	CHECK(cuEventDestroy(p->done));
	CHECK(cuStreamDestroy(p->stream));
	CHECK(cuModuleUnload(p->module));
	CHECK(cuDevicePrimaryCtxRelease(p->device));
}

static bool reach(const struct place *from, const struct place *to)
{
	int can = 0;

	CHECK(cuDeviceCanAccessPeer(&can, from->device, to->device));
	if (!can)
		return false;
	CHECK(cuCtxSetCurrent(from->context));
	CHECK(cuCtxEnablePeerAccess(to->context, 0));
	return true;
}

/* From one place to the next, in the next one's stream, behind the doubling here. */
static void hand_on(struct place *from, struct place *to)
{
	unsigned n = N;
	void *parameters[] = { &from->buffer, &n };

	CHECK(cuCtxSetCurrent(from->context));
	CHECK(cuLaunchKernel(from->twice, sample_blocks(N, THREADS), 1, 1, THREADS, 1, 1, 0, from->stream, parameters,
			     NULL));
	CHECK(cuEventRecord(from->done, from->stream));
	CHECK(cuCtxSetCurrent(to->context));
	CHECK(cuStreamWaitEvent(to->stream, from->done, CU_EVENT_WAIT_DEFAULT));
	CHECK(cuMemcpyPeerAsync(to->buffer, to->context, from->buffer, from->context, BYTES, to->stream));
}

int main(void)
{
	struct place places[DEVICES_MAX];
	int devices, direct = 0;
	unsigned factor;

	CHECK(cuInit(0));
	CHECK(cuDeviceGetCount(&devices));
	devices = devices < DEVICES_MAX ? devices : DEVICES_MAX;
	for (int i = 0; i < devices; i++)
		place_open(&places[i], i);
	for (int i = 0; i < devices; i++)
		for (int k = 0; k < devices; k++)
			direct += i != k && reach(&places[i], &places[k]);
	for (unsigned i = 0; i < N; i++)
		numbers[i] = i ^ 0x5a5a;
	CHECK(cuCtxSetCurrent(places[0].context));
	CHECK(cuMemcpyHtoDAsync(places[0].buffer, numbers, BYTES, places[0].stream));
	for (int i = 0; devices > 1 && i < devices; i++)
		hand_on(&places[i], &places[(i + 1) % devices]);
	CHECK(cuCtxSetCurrent(places[0].context));
	CHECK(cuMemcpyDtoHAsync(back, places[0].buffer, BYTES, places[0].stream));
	CHECK(cuStreamSynchronize(places[0].stream));
	factor = sample_computes(places[0].device) && devices > 1 ? 1u << devices : 1;
	for (unsigned i = 0; i < N; i++)
		REQUIRE(back[i] == numbers[i] * factor);
	for (int i = 0; i < devices; i++)
		place_close(&places[i]);
	printf("peer_copy: %d devices, %d ways between them are direct\n", devices, direct);
	return 0;
}
