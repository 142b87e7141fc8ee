/* SPDX-License-Identifier: BSD-2-Clause */
/* Launches on several devices at once, and events of whole contexts. */
#include "test_simgpu.h"

#pragma GCC diagnostic ignored \
	"-Wdeprecated-declarations" /* cuLaunchCooperativeKernelMultiDevice: deprecated, not gone */

static struct truth truth;

struct device {
	CUcontext context;
	CUmodule module;
	CUstream stream;
};

APART static struct device open_device(int ordinal)
{
	struct device d;

	OK(cuDevicePrimaryCtxRetain(&d.context, ordinal));
	OK(cuCtxSetCurrent(d.context));
	OK(cuModuleLoadData(&d.module, "any image"));
	OK(cuStreamCreate(&d.stream, CU_STREAM_NON_BLOCKING));
	return d;
}

APART static CUfunction device_function(const struct device *d, const char *name)
{
	CUfunction f;

	OK(cuModuleGetFunction(&f, d->module, name));
	return f;
}

static void launch_on(const struct device *d, const char *name)
{
	OK(cuCtxSetCurrent(d->context));
	OK(cuLaunchKernel(device_function(d, name), 1, 1, 1, 32, 1, 1, 0, d->stream, NULL, NULL));
}

static CUDA_LAUNCH_PARAMS part(const struct device *d, const char *name)
{
	return (CUDA_LAUNCH_PARAMS){ device_function(d, name), 1, 1, 1, 32, 1, 1, 0, d->stream, NULL };
}

static void together(void)
{
	struct device one, other;
	CUDA_LAUNCH_PARAMS parts[2];
	CUgraph graph;

	OK(cuInit(0));
	one = open_device(0);
	other = open_device(1);
	parts[0] = part(&one, "short__100us");
	parts[1] = part(&other, "long__700us");
	gate_close(one.stream);
	launch_on(&one, "before__2000us");
	OK(cuLaunchCooperativeKernelMultiDevice(parts, 2, 0));
	launch_on(&one, "after one");
	launch_on(&other, "after other");
	OK(cuLaunchCooperativeKernelMultiDevice(parts, 2,
						CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC |
							CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_POST_LAUNCH_SYNC));
	launch_on(&one, "last");
	gate_open();
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunchCooperativeKernelMultiDevice(parts, 0, 0));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunchCooperativeKernelMultiDevice(parts, 2, 4));
	parts[1].gridDimX = 2;
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunchCooperativeKernelMultiDevice(parts, 2, 0));
	parts[1] = parts[0]; /* one device twice */
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunchCooperativeKernelMultiDevice(parts, 2, 0));
	parts[1].hStream = NULL;
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuLaunchCooperativeKernelMultiDevice(parts, 2, 0));
	OK(cuStreamBeginCapture(one.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuLaunchCooperativeKernelMultiDevice(parts, 1, 0));
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(one.stream, &graph));
	OK(cuStreamSynchronize(one.stream));
	OK(cuStreamSynchronize(other.stream));
}

static void a_launch_on_several_devices_begins_and_ends_together(void **state)
{
	const struct truth_op *first, *second;

	(void)state;
	setenv("SIMGPU_DEVICES", "2", 1);
	run_in_child(together, &truth);
	assert_int_equal(truth.count, 9); /* the gate too */
	first = truth_find(&truth, "short__100us");
	second = truth_find(&truth, "long__700us");
	assert_int_equal(first->start_ns, truth_find(&truth, "before__2000us")->end_ns);
	assert_int_equal(second->start_ns, first->start_ns);
	assert_int_equal(truth_find(&truth, "after one")->start_ns, second->end_ns);
	assert_int_equal(truth_find(&truth, "after other")->start_ns, second->end_ns);
	/* Without the synchronisations each follows its own stream alone: 20 us, the kernel, the next. */
	assert_int_equal(truth_find(&truth, "last")->start_ns, second->end_ns + 20000 + 100000);
}

static void context_events(void)
{
	CUstream s, t, later;
	CUcontext foreign;
	CUgraph graph;
	CUevent e, f;

	start();
	s = stream(CU_STREAM_NON_BLOCKING);
	t = stream(CU_STREAM_NON_BLOCKING);
	OK(cuEventCreate(&e, 0));
	OK(cuEventCreate(&f, 0));
	gate_close(s);
	launch("one__1000us", s);
	launch("other__3000us", t);
	OK(cuCtxRecordEvent(context, e)); /* both, though one of them is held up */
	EXPECT(CUDA_ERROR_NOT_READY, cuEventQuery(e));
	OK(cuStreamWaitEvent(s, e, 0));
	launch("behind both__2000us", s);
	OK(cuEventRecord(f, s));
	OK(cuCtxWaitEvent(context, f));
	launch("old stream", t);
	later = stream(CU_STREAM_NON_BLOCKING);
	launch("new stream", later);
	launch("legacy", NULL);
	gate_open();
	OK(cuCtxSynchronize());
	OK(cuEventQuery(e));
	OK(cuCtxCreate(&foreign, NULL, 0, 0));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuCtxRecordEvent(foreign, e));
	EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuCtxRecordEvent(NULL, e));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, cuCtxWaitEvent(context, NULL));
	OK(cuCtxSetCurrent(context));
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuCtxRecordEvent(context, e));
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &graph));
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuCtxWaitEvent(context, e));
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &graph));
}

static void events_of_a_context_mean_all_its_streams(void **state)
{
	long long end_ns;

	(void)state;
	run_in_child(context_events, &truth);
	assert_true(truth_find(&truth, "behind both__2000us")->start_ns >= truth_find(&truth, "other__3000us")->end_ns);
	assert_true(truth_find(&truth, "behind both__2000us")->start_ns >= truth_find(&truth, "one__1000us")->end_ns);
	end_ns = truth_find(&truth, "behind both__2000us")->end_ns;
	assert_int_equal(truth_find(&truth, "old stream")->start_ns, end_ns);
	assert_int_equal(truth_find(&truth, "new stream")->start_ns, end_ns);
	assert_int_equal(truth_find(&truth, "legacy")->start_ns, end_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_launch_on_several_devices_begins_and_ends_together),
		cmocka_unit_test(events_of_a_context_mean_all_its_streams),
	};

	settings_clear();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
