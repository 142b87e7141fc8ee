/* SPDX-License-Identifier: BSD-2-Clause */
/* Stream capture: each violation of the rules by its name, and who is prohibited what. */
#include "test_simgpu_capture.h"

#include <pthread.h>

static const CUstreamCaptureMode modes[] = { CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
					     CU_STREAM_CAPTURE_MODE_RELAXED };

/* ---- violations --------------------------------------------------------------------------------------------- */

static void waiting(void)
{
	start();
	for (unsigned i = 0; i < 3; i++) {
		CUstream s = begin_mode(0, modes[i]);
		CUevent e = event();

		launch("a", s);
		EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(s));
		expect_invalid(s);
		OK(cuStreamBeginCapture(s, modes[i]));
		EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamQuery(s));
		expect_invalid(s);
		OK(cuStreamBeginCapture(s, modes[i]));
		EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuCtxSynchronize());
		expect_invalid(s);
		OK(cuStreamBeginCapture(s, modes[i]));
		OK(cuEventRecord(e, s));
		EXPECT(CUDA_ERROR_CAPTURED_EVENT, cuEventSynchronize(e));
		expect_invalid(s);
		OK(cuStreamBeginCapture(s, modes[i]));
		OK(cuEventRecord(e, s));
		EXPECT(CUDA_ERROR_CAPTURED_EVENT, cuEventQuery(e));
		expect_invalid(s);
		OK(cuEventRecord(e, s)); /* recorded anew, it is an ordinary event again */
		OK(cuEventSynchronize(e));
	}
}

static void waiting_for_what_is_captured_is_unsupported(void **state)
{
	(void)state;
	run_in_child(waiting, NULL);
}

static void callback(CUstream s, CUresult status, void *argument)
{
	(void)s, (void)status, (void)argument;
}

static void uncapturable(void)
{
	CUstream s;

	start();
	s = begin();
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamAddCallback(s, callback, NULL, 0));
	expect_invalid(s);
}

static void callbacks_cannot_be_captured(void **state)
{
	(void)state;
	run_in_child(uncapturable, NULL);
}

static void legacy(void)
{
	CUstreamCaptureStatus status;
	CUdeviceptr memory;
	int word = 0;
	CUevent e;
	CUstream s;

	start();
	e = event();
	memory = device_memory(64);
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL));
	s = begin_mode(0, CU_STREAM_CAPTURE_MODE_RELAXED);
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuStreamIsCapturing(NULL, &status));
	expect_status(CU_STREAM_CAPTURE_STATUS_ACTIVE, s); /* asking does no harm */
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, launch_result("a", NULL));
	expect_invalid(s);
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuMemcpyHtoD(memory, &word, 4));
	expect_invalid(s);
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuMemsetD8(memory, 0, 4));
	expect_invalid(s);
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuEventRecord(e, NULL));
	expect_invalid(s);
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuStreamSynchronize(NULL));
	expect_invalid(s);
	/* A capture on a non-blocking stream does not concern the legacy stream. */
	s = begin();
	launch("fine", NULL);
	OK(cuMemsetD8(memory, 0, 4));
	OK(cuGraphDestroy(end(s, 0, 0)));
}

static void legacy_stream_beside_a_blocking_capture_is_implicit(void **state)
{
	(void)state;
	run_in_child(legacy, NULL);
}

static void isolation(void)
{
	CUevent e;
	CUstream s, other;

	start();
	e = event();
	other = stream(0);
	OK(cuEventRecord(e, other));
	s = begin();
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(s, e, 0));
	expect_invalid(s);
	/* An event of a capture that has ended is neither captured work of this one nor ordinary work. */
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuEventRecord(e, s));
	OK(cuGraphDestroy(end(s, 0, 0)));
	EXPECT(CUDA_ERROR_CAPTURED_EVENT, cuStreamWaitEvent(other, e, 0));
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(s, e, 0));
	expect_invalid(s);
}

static void waiting_for_uncaptured_work_is_isolation(void **state)
{
	(void)state;
	run_in_child(isolation, NULL);
}

static void merge(void)
{
	CUstream one, other;
	CUevent e;

	start();
	e = event();
	one = begin();
	other = begin();
	OK(cuEventRecord(e, one));
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_MERGE, cuStreamWaitEvent(other, e, 0));
	expect_status(CU_STREAM_CAPTURE_STATUS_INVALIDATED, other);
	CUgraph graph;
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(one, &graph));
	expect_invalid(other);
}

static void joining_two_captures_is_merge(void **state)
{
	(void)state;
	run_in_child(merge, NULL);
}

static void unjoined(void)
{
	CUstream origin, side;
	CUevent fork, join;
	CUgraph graph;

	start();
	fork = event();
	join = event();
	origin = begin();
	side = stream(0);
	launch("a", origin);
	OK(cuEventRecord(fork, origin));
	OK(cuStreamWaitEvent(side, fork, 0));
	launch("b", side);
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(origin, &graph));
	EXPECT(1, graph == NULL);
	expect_status(CU_STREAM_CAPTURE_STATUS_NONE, origin);
	expect_status(CU_STREAM_CAPTURE_STATUS_NONE, side);
	/* Work behind the join is unjoined too, and stays so when its stream is destroyed. */
	OK(cuStreamBeginCapture(origin, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuEventRecord(fork, origin));
	OK(cuStreamWaitEvent(side, fork, 0));
	launch("b", side);
	OK(cuEventRecord(join, side));
	OK(cuStreamWaitEvent(origin, join, 0));
	launch("c", side);
	OK(cuStreamDestroy(side));
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(origin, &graph));
}

static void a_fork_that_is_not_joined_is_unjoined(void **state)
{
	(void)state;
	run_in_child(unjoined, NULL);
}

static void unmatched(void)
{
	CUstream origin, side;
	CUgraph graph;
	CUevent e;

	start();
	e = event();
	side = stream(0);
	EXPECT(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(side, &graph));
	EXPECT(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(NULL, &graph));
	origin = begin();
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamEndCapture(origin, NULL));
	OK(cuEventRecord(e, origin));
	OK(cuStreamWaitEvent(side, e, 0));
	EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, cuStreamEndCapture(side, &graph));
	expect_invalid(origin);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuStreamBeginCapture(origin, (CUstreamCaptureMode)3));
}

static void ending_another_stream_than_the_origin_is_unmatched(void **state)
{
	(void)state;
	run_in_child(unmatched, NULL);
}

/* ---- threads and modes -------------------------------------------------------------------------------------- */

struct other_thread {
	CUstream stream;
	CUstreamCaptureMode mode; /* of the thread */
	CUresult ended, allocated, queried, synchronised;
};

static void *end_elsewhere(void *argument)
{
	struct other_thread *other = argument;
	CUgraph graph;

	OK(cuCtxSetCurrent(context));
	other->ended = cuStreamEndCapture(other->stream, &graph);
	if (!other->ended)
		OK(cuGraphDestroy(graph));
	return NULL;
}

static void run_thread(void *(*body)(void *), struct other_thread *other)
{
	pthread_t thread;

	EXPECT(0, pthread_create(&thread, NULL, body, other));
	EXPECT(0, pthread_join(thread, NULL));
}

static void wrong_thread(void)
{
	struct other_thread other;

	start();
	for (unsigned i = 0; i < 2; i++) {
		other.stream = begin_mode(0, modes[i]);
		run_thread(end_elsewhere, &other);
		EXPECT(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, other.ended);
		expect_invalid(other.stream);
	}
	other.stream = begin_mode(0, CU_STREAM_CAPTURE_MODE_RELAXED);
	run_thread(end_elsewhere, &other);
	EXPECT(CUDA_SUCCESS, other.ended);
}

static void only_a_relaxed_capture_may_end_in_another_thread(void **state)
{
	(void)state;
	run_in_child(wrong_thread, NULL);
}

static void *unsafe_calls(void *argument)
{
	struct other_thread *other = argument;
	CUdeviceptr memory;
	CUevent e;
	CUstream s;

	OK(cuCtxSetCurrent(context));
	OK(cuThreadExchangeStreamCaptureMode(&other->mode));
	EXPECT(CU_STREAM_CAPTURE_MODE_GLOBAL, other->mode); /* every thread's first */
	s = stream(CU_STREAM_NON_BLOCKING);
	e = event();
	launch("beside", s); /* not unsafe */
	OK(cuEventRecord(e, s));
	other->allocated = cuMemAlloc(&memory, 4096);
	other->queried = cuEventQuery(e) == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : cuEventQuery(e);
	other->synchronised = cuStreamSynchronize(s);
	return NULL;
}

/* What another thread in that mode may do beside a capture in this one. */
static void beside(CUstreamCaptureMode capture, CUstreamCaptureMode thread, CUresult expected)
{
	struct other_thread other = { .mode = thread };
	CUstream s = begin_mode(CU_STREAM_NON_BLOCKING, capture);
	CUgraph graph;

	run_thread(unsafe_calls, &other);
	EXPECT(expected, other.allocated);
	EXPECT(expected, other.queried);
	EXPECT(expected, other.synchronised);
	EXPECT(expected ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS, cuStreamEndCapture(s, &graph));
	if (!expected)
		OK(cuGraphDestroy(graph));
}

static void other_threads(void)
{
	start();
	for (unsigned capture = 0; capture < 3; capture++)
		for (unsigned thread = 0; thread < 3; thread++)
			beside(modes[capture], modes[thread],
			       capture == 0 && thread == 0 ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS);
}

static void only_global_captures_prohibit_other_threads(void **state)
{
	(void)state;
	run_in_child(other_threads, NULL);
}

static void same_thread(void)
{
	CUstreamCaptureMode mode;
	CUdeviceptr memory;
	CUgraph graph;

	start();
	for (unsigned capture = 0; capture < 3; capture++) {
		for (unsigned thread = 0; thread < 3; thread++) {
			CUresult expected =
				capture == 2 || thread == 2 ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
			CUstream s = begin_mode(CU_STREAM_NON_BLOCKING, modes[capture]);

			mode = modes[thread];
			OK(cuThreadExchangeStreamCaptureMode(&mode));
			EXPECT(expected, cuMemAlloc(&memory, 4096));
			OK(cuThreadExchangeStreamCaptureMode(&mode));
			EXPECT(modes[thread], mode);
			EXPECT(expected ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS,
			       cuStreamEndCapture(s, &graph));
			if (!expected)
				OK(cuGraphDestroy(graph));
		}
	}
}

static void unsafe_calls_in_the_capturing_thread_need_a_relaxed_mode(void **state)
{
	(void)state;
	run_in_child(same_thread, NULL);
}

static void destroyed_origin(void)
{
	CUdeviceptr memory;
	CUstream s;

	start();
	s = begin();
	launch("a", s);
	OK(cuStreamDestroy(s));
	OK(cuMemAlloc(&memory, 4096)); /* no capture is left that could prohibit it */
	OK(cuCtxSynchronize());
}

static void a_destroyed_origin_takes_its_capture_along(void **state)
{
	(void)state;
	run_in_child(destroyed_origin, &truth);
	assert_int_equal(truth.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waiting_for_what_is_captured_is_unsupported),
		cmocka_unit_test(callbacks_cannot_be_captured),
		cmocka_unit_test(legacy_stream_beside_a_blocking_capture_is_implicit),
		cmocka_unit_test(waiting_for_uncaptured_work_is_isolation),
		cmocka_unit_test(joining_two_captures_is_merge),
		cmocka_unit_test(a_fork_that_is_not_joined_is_unjoined),
		cmocka_unit_test(ending_another_stream_than_the_origin_is_unmatched),
		cmocka_unit_test(only_a_relaxed_capture_may_end_in_another_thread),
		cmocka_unit_test(only_global_captures_prohibit_other_threads),
		cmocka_unit_test(unsafe_calls_in_the_capturing_thread_need_a_relaxed_mode),
		cmocka_unit_test(a_destroyed_origin_takes_its_capture_along),
	};

	settings_clear();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
