/* SPDX-License-Identifier: BSD-2-Clause */
/* Two devices: who may reach whom, and copies between them. */
#include "test_simgpu.h"

#include <stdbool.h>

static struct truth truth;

enum { SMALL = 64 << 10 };

static CUcontext contexts[2];

static void start_both(void)
{
	start();
	contexts[0] = context;
	OK(cuDevicePrimaryCtxRetain(&contexts[1], 1));
}

static CUdeviceptr memory_on(int device, size_t bytes)
{
	CUdeviceptr memory;

	OK(cuCtxSetCurrent(contexts[device]));
	memory = device_memory(bytes);
	OK(cuCtxSetCurrent(contexts[0]));
	return memory;
}

static void enabling(void)
{
	CUcontext same;
	int value;

	start_both();
	OK(cuDeviceCanAccessPeer(&value, 0, 1));
	EXPECT(1, value);
	OK(cuDeviceCanAccessPeer(&value, 1, 1));
	EXPECT(0, value);
	EXPECT(CUDA_ERROR_INVALID_DEVICE, cuDeviceCanAccessPeer(&value, 0, 2));
	OK(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1));
	EXPECT(1, value);
	EXPECT(CUDA_ERROR_INVALID_DEVICE,
	       cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuDeviceGetP2PAttribute(&value, (CUdevice_P2PAttribute)77, 0, 1));
	EXPECT(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(contexts[1]));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuCtxEnablePeerAccess(contexts[1], 1));
	EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuCtxEnablePeerAccess(contexts[0], 0));
	EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuCtxEnablePeerAccess(NULL, 0));
	OK(cuCtxEnablePeerAccess(contexts[1], 0));
	EXPECT(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(contexts[1], 0));
	OK(cuCtxDisablePeerAccess(contexts[1]));
	EXPECT(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(contexts[1]));
	OK(cuCtxCreate(&same, NULL, 0, 0));
	EXPECT(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, cuCtxEnablePeerAccess(contexts[0], 0));
	OK(cuCtxEnablePeerAccess(contexts[1], 0));
	OK(cuCtxDestroy(same));
	OK(cuCtxSetCurrent(contexts[0]));
	EXPECT(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(contexts[1])); /* that one was another's */
}

static void access_is_between_contexts(void **state)
{
	(void)state;
	setenv("SIMGPU_DEVICES", "2", 1);
	run_in_child(enabling, NULL);
}

static void copies(void)
{
	CUdeviceptr here, there;
	unsigned char *host = malloc(SMALL);
	CUDA_MEMCPY3D_PEER box = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
				   .srcPitch = 256,
				   .dstMemoryType = CU_MEMORYTYPE_DEVICE,
				   .dstPitch = 128,
				   .WidthInBytes = 128,
				   .Height = 4,
				   .Depth = 1 };

	start_both();
	here = memory_on(0, SMALL);
	there = memory_on(1, SMALL);
	memset(host, 7, SMALL);
	OK(cuMemcpyHtoD(here, host, SMALL));
	OK(cuMemcpyPeer(there, contexts[1], here, contexts[0], SMALL)); /* through the host: 50 GB/s */
	OK(cuCtxSynchronize());
	OK(cuCtxEnablePeerAccess(contexts[1], 0));
	OK(cuMemcpyPeerAsync(there, contexts[1], here, contexts[0], SMALL, NULL)); /* 300 GB/s */
	OK(cuMemcpyDtoD(there, here, SMALL)); /* no context named: the addresses say it */
	memset(host, 0, SMALL);
	OK(cuMemcpyDtoH(host, there, SMALL));
	EXPECT(7, host[SMALL - 1]);
	OK(cuMemsetD8(here + 256, 9, 128));
	box.srcContext = contexts[0];
	box.srcDevice = here;
	box.dstContext = contexts[1];
	box.dstDevice = there;
	OK(cuMemcpy3DPeer(&box));
	OK(cuMemcpyDtoH(host, there, 256));
	EXPECT(7, host[127]);
	EXPECT(9, host[128]);
	box.dstContext = NULL;
	EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuMemcpy3DPeerAsync(&box, NULL));
	EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuMemcpyPeer(there, NULL, here, contexts[0], 8));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyPeer(there, contexts[1], here, contexts[0], SMALL + 1));
	free(host);
}

static void copies_between_devices_are_peer(void **state)
{
	unsigned peers = 0;
	long long duration_ns[4];

	(void)state;
	setenv("SIMGPU_DEVICES", "2", 1);
	run_in_child(copies, &truth);
	for (unsigned i = 0; i < truth.count; i++)
		if (!strcmp(truth.ops[i].kind, "\"peer\"")) {
			assert_true(peers < 4);
			duration_ns[peers++] = truth.ops[i].end_ns - truth.ops[i].start_ns;
		}
	assert_int_equal(peers, 4);
	assert_int_equal(duration_ns[0], SMALL / 50);
	assert_int_equal(duration_ns[1], SMALL / 300);
	assert_int_equal(duration_ns[2], SMALL / 300);
	assert_int_equal(duration_ns[3], 512 / 300);
}

static bool outwards; /* the other context is where the bytes go, not where they come from */

static void between(void)
{
	CUdeviceptr here, there;
	CUmodule other;
	CUfunction f;
	CUstream s;

	start_both();
	here = memory_on(0, SMALL);
	there = memory_on(1, SMALL);
	OK(cuCtxSetCurrent(contexts[1]));
	OK(cuModuleLoadData(&other, "any image"));
	OK(cuModuleGetFunction(&f, other, "there__200000us"));
	s = stream(CU_STREAM_NON_BLOCKING);
	gate_close(s);
	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL));
	OK(cuCtxSetCurrent(contexts[0]));
	if (outwards) /* either returns at once and waits for the kernel */
		OK(cuMemcpyPeer(there, contexts[1], here, contexts[0], 1000));
	else
		OK(cuMemcpyPeer(here, contexts[0], there, contexts[1], 1000));
	launch("behind__10us", NULL);
	OK(cuCtxSetCurrent(contexts[1]));
	OK(cuModuleGetFunction(&f, other, "behind_there__10us"));
	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	gate_open();
	OK(cuCtxSynchronize());
	OK(cuCtxSetCurrent(contexts[0]));
	OK(cuCtxSynchronize());
}

static void copy_without_a_stream_waits_for_the_other_context(void **state)
{
	const struct truth_op *kernel, *copy;

	outwards = *state != NULL;
	setenv("SIMGPU_DEVICES", "2", 1);
	run_in_child(between, &truth);
	kernel = truth_find(&truth, "there__200000us");
	copy = truth_nth(&truth, "memcpy", 0);
	assert_true(copy->submit_ns < kernel->end_ns);
	assert_int_equal(copy->start_ns, kernel->end_ns);
	assert_int_equal(copy->device, 0);
	assert_int_equal(truth_find(&truth, "behind__10us")->start_ns, copy->end_ns);
	assert_true(truth_find(&truth, "behind_there__10us")->start_ns >= copy->end_ns);
}

static void engines(void)
{
	CUdeviceptr here, there;
	char *pinned;
	CUevent gate;

	start_both();
	here = memory_on(0, 2 * SMALL);
	there = memory_on(1, 2 * SMALL);
	pinned = pinned_memory(SMALL);
	gate = gate_event();
	OK(cuMemcpyPeerAsync(there, contexts[1], here, contexts[0], SMALL, stream_behind(gate)));
	OK(cuMemcpyDtoHAsync(pinned, here + SMALL, SMALL, stream_behind(gate)));
	OK(cuMemcpyPeerAsync(here, contexts[0], there + SMALL, contexts[1], SMALL, stream_behind(gate)));
	gate_open();
	OK(cuCtxSynchronize());
}

static void peer_copy_takes_the_senders_engine(void **state)
{
	const struct truth_op *ops[3] = { NULL };
	unsigned count = 0;

	(void)state;
	setenv("SIMGPU_DEVICES", "2", 1);
	setenv("SIMGPU_H2D_GBPS", "0.001", 1); /* 65.5 ms each */
	run_in_child(engines, &truth);
	for (unsigned i = 0; i < truth.count; i++)
		if (strcmp(truth.ops[i].op, "hostfn") && count < 3)
			ops[count++] = &truth.ops[i];
	assert_int_equal(truth.count, 4); /* the gate is the fourth */
	assert_int_equal(count, 3);
	/* Two peer copies side by side, each from another device; the copy to the host behind the one it shares the engine with. */
	assert_string_equal(ops[0]->kind, "\"peer\"");
	assert_string_equal(ops[1]->kind, "\"peer\"");
	assert_true(ops[1]->start_ns < ops[0]->end_ns);
	assert_string_equal(ops[2]->kind, "\"d2h-pinned\"");
	assert_int_equal(ops[2]->start_ns, ops[0]->end_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(access_is_between_contexts),
		cmocka_unit_test(copies_between_devices_are_peer),
		{ "copy_without_a_stream_waits_where_it_goes", copy_without_a_stream_waits_for_the_other_context, NULL,
		  NULL, "out" },
		{ "copy_without_a_stream_waits_where_it_comes_from", copy_without_a_stream_waits_for_the_other_context,
		  NULL, NULL, NULL },
		cmocka_unit_test(peer_copy_takes_the_senders_engine),
	};

	settings_clear();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
