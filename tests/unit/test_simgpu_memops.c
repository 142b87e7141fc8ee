/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams that wait for values in memory and write them, and the attributes of streams. */
#include "test_simgpu.h"

#include <pthread.h>

static struct truth truth;

static void between_streams(void)
{
	CUstream a, b;
	CUdeviceptr flags;
	unsigned value;

	start();
	a = stream(CU_STREAM_NON_BLOCKING);
	b = stream(CU_STREAM_NON_BLOCKING);
	flags = device_memory(64);
	OK(cuMemsetD32(flags, 0, 16));
	OK(cuStreamWaitValue32(b, flags, 3, CU_STREAM_WAIT_VALUE_GEQ));
	launch("behind__10us", b);
	gate_close(a);
	launch("before__200000us", a);
	OK(cuStreamWriteValue32(a, flags, 5, 0));
	EXPECT(CUDA_ERROR_NOT_READY, cuStreamQuery(b));
	gate_open();
	OK(cuStreamSynchronize(b));
	OK(cuMemcpyDtoH(&value, flags, 4));
	EXPECT(5, value);
}

static void stream_waits_for_another_ones_value(void **state)
{
	const struct truth_op *before, *behind;

	(void)state;
	run_in_child(between_streams, &truth);
	before = truth_find(&truth, "before__200000us");
	behind = truth_find(&truth, "behind__10us");
	assert_true(behind->start_ns >= before->end_ns);
	assert_true(behind->submit_ns < before->end_ns);
	assert_int_equal(truth.count, 5); /* the memset, the gate, two kernels, one copy: waits and writes are none */
}

static volatile unsigned *flag;

static void *write_flag(void *unused)
{
	(void)unused;
	usleep(100000);
	__atomic_store_n(flag, 7, __ATOMIC_RELEASE);
	return NULL;
}

static void from_host(void)
{
	pthread_t thread;
	CUstream s;

	start();
	s = stream(0);
	flag = pinned_memory(64);
	*flag = 0;
	OK(cuStreamWaitValue32(s, (CUdeviceptr)(uintptr_t)flag, 7, CU_STREAM_WAIT_VALUE_EQ));
	launch("behind__10us", s);
	launch("marker__10us", stream(CU_STREAM_NON_BLOCKING));
	pthread_create(&thread, NULL, write_flag, NULL);
	OK(cuStreamSynchronize(s)); /* nobody calls the driver meanwhile */
	pthread_join(thread, NULL);
	/* And back: the stream writes, the host looks without calling. */
	OK(cuStreamWriteValue32(s, (CUdeviceptr)(uintptr_t)flag, 8, 0));
	while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != 8)
		usleep(100);
}

static void host_and_stream_pass_values(void **state)
{
	(void)state;
	run_in_child(from_host, &truth);
	assert_true(truth_find(&truth, "behind__10us")->start_ns >=
		    truth_find(&truth, "marker__10us")->start_ns + 90000000);
}

static void conditions(void)
{
	CUstreamBatchMemOpParams ops[4] = { { .operation = CU_STREAM_MEM_OP_WRITE_VALUE_64 },
					    { .operation = CU_STREAM_MEM_OP_WAIT_VALUE_64 },
					    { .operation = CU_STREAM_MEM_OP_BARRIER },
					    { .operation = CU_STREAM_MEM_OP_WRITE_VALUE_32 } };
	unsigned long long wide = 0;
	CUdeviceptr memory, managed;
	CUstream s;

	start();
	s = stream(0);
	memory = device_memory(64);
	OK(cuStreamWriteValue64(s, memory, 0xffffffff00000001ull, 0));
	OK(cuStreamWaitValue64(s, memory, 0xffffffff00000000ull, CU_STREAM_WAIT_VALUE_GEQ));
	OK(cuStreamWaitValue64(s, memory, 0xfffffffeffffffffull, CU_STREAM_WAIT_VALUE_GEQ)); /* cyclic */
	OK(cuStreamWaitValue32(s, memory, 1, CU_STREAM_WAIT_VALUE_AND));
	OK(cuStreamWaitValue32(s, memory, 6, CU_STREAM_WAIT_VALUE_NOR));
	OK(cuStreamWaitValue32(s, memory + 4, 0xfffffffe, CU_STREAM_WAIT_VALUE_GEQ));
	OK(cuStreamSynchronize(s));
	ops[0].writeValue.address = ops[1].waitValue.address = memory + 8;
	ops[0].writeValue.value64 = ops[1].waitValue.value64 = 1ull << 40;
	ops[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
	ops[3].writeValue.address = memory + 8;
	ops[3].writeValue.value = 9;
	OK(cuStreamBatchMemOp(s, 4, ops, 0));
	OK(cuMemcpyDtoH(&wide, memory + 8, 8));
	EXPECT((1ll << 40) + 9, wide);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp(s, 256, ops, 0));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp(s, 4, ops, 1));
	ops[3].operation = (CUstreamBatchMemOpType)77;
	ops[0].writeValue.value64 = 0;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp(s, 4, ops, 0)); /* none of them, then */
	OK(cuMemcpyDtoH(&wide, memory + 8, 8));
	EXPECT((1ll << 40) + 9, wide);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32(s, memory + 2, 0, 0));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32(s, memory + 64, 0, 0));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32(s, memory, 0, 4));
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuStreamWaitValue32(s, memory, 0, CU_STREAM_WAIT_VALUE_FLUSH));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32(s, memory, 0, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER));
	OK(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32(s, managed, 0, 0));
}

static void conditions_are_what_they_say(void **state)
{
	(void)state;
	run_in_child(conditions, NULL);
}

/* Each condition first not met, by a word that meets the others, then met. */
static void held_back(void)
{
	static const struct {
		unsigned condition, value, before, after;
	} cases[] = {
		{ CU_STREAM_WAIT_VALUE_GEQ, 5, 4, 6 },
		{ CU_STREAM_WAIT_VALUE_GEQ, 5, 0x80000005u, 5 }, /* cyclic: far ahead is behind */
		{ CU_STREAM_WAIT_VALUE_EQ, 5, 6, 5 },
		{ CU_STREAM_WAIT_VALUE_AND, 4, 3, 7 },
		{ CU_STREAM_WAIT_VALUE_NOR, 0xfffffff0u, 0xfu, 0xeu },
	};
	CUstream s;

	start();
	s = stream(0);
	flag = pinned_memory(64);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		__atomic_store_n(flag, cases[i].before, __ATOMIC_RELEASE);
		OK(cuStreamWaitValue32(s, (CUdeviceptr)(uintptr_t)flag, cases[i].value, cases[i].condition));
		usleep(2000);
		EXPECT(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
		__atomic_store_n(flag, cases[i].after, __ATOMIC_RELEASE);
		OK(cuStreamSynchronize(s));
	}
}

static void conditions_hold_back(void **state)
{
	(void)state;
	run_in_child(held_back, NULL);
}

static void never(void)
{
	CUdeviceptr memory;

	start();
	memory = device_memory(64);
	OK(cuMemsetD32(memory, 0, 1));
	OK(cuStreamWaitValue32(NULL, memory, 1, CU_STREAM_WAIT_VALUE_EQ));
	launch("never", NULL);
}

static void who_waits_for_ever_does_not_run(void **state)
{
	(void)state;
	run_in_child(never, &truth);
	assert_int_equal(truth.count, 1);
}

static void attributes(void)
{
	CUstreamAttrValue value;
	CUstream a, b;
	int priority;

	start();
	a = stream(0);
	b = stream(0);
	OK(cuStreamGetAttribute(a, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
	EXPECT(CU_SYNC_POLICY_AUTO, value.syncPolicy);
	value.syncPolicy = CU_SYNC_POLICY_YIELD;
	OK(cuStreamSetAttribute(a, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
	value.syncPolicy = (CUsynchronizationPolicy)9;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamSetAttribute(a, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
	memset(&value, 0, sizeof(value));
	value.accessPolicyWindow.num_bytes = 4096;
	value.accessPolicyWindow.hitRatio = 0.5f;
	OK(cuStreamSetAttribute(a, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value));
	OK(cuStreamCopyAttributes(b, a));
	OK(cuStreamGetAttribute(b, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value));
	EXPECT(4096, value.accessPolicyWindow.num_bytes);
	OK(cuStreamGetAttribute(b, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
	EXPECT(CU_SYNC_POLICY_YIELD, value.syncPolicy);
	value.priority = -3;
	OK(cuStreamSetAttribute(b, CU_STREAM_ATTRIBUTE_PRIORITY, &value));
	OK(cuStreamGetPriority(b, &priority));
	EXPECT(-3, priority);
	value.priority = 1;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamSetAttribute(b, CU_STREAM_ATTRIBUTE_PRIORITY, &value));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamGetAttribute(b, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
	EXPECT(CUDA_ERROR_INVALID_HANDLE,
	       cuStreamGetAttribute((CUstream)(uintptr_t)0x12340, CU_STREAM_ATTRIBUTE_PRIORITY, &value));
}

static void attributes_are_kept(void **state)
{
	(void)state;
	run_in_child(attributes, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stream_waits_for_another_ones_value), cmocka_unit_test(host_and_stream_pass_values),
		cmocka_unit_test(conditions_are_what_they_say),        cmocka_unit_test(conditions_hold_back),
		cmocka_unit_test(who_waits_for_ever_does_not_run),     cmocka_unit_test(attributes_are_kept),
	};

	settings_clear();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
