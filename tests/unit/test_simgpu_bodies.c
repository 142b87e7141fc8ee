/* SPDX-License-Identifier: BSD-2-Clause */
/* Kernels with a body (kernel_body.h): when they end, what they are told, and what waits for them. */
#include "test_simgpu.h"

#include "kernel_body.h"

#include <dlfcn.h>

static struct truth truth;

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
			  ".visible .entry waiting(.param .align 8 .b8 all[16])\n{\n\tret;\n}\n"
			  ".visible .entry without()\n{\n\tret;\n}\n";

struct parameter {
	unsigned *word; /* the kernel ends when it holds `value`, and adds one to it */
	unsigned value, length_us;
};

static unsigned words[4];

static uint64_t wait_for_word(struct kernel_body_call *call)
{
	const struct parameter *p = call->parameter;
	unsigned *times;

	if (!call->state)
		call->state = calloc(1, sizeof(unsigned));
	times = call->state;
	if (call->now_ns < call->start_ns || !times)
		abort();
	++*times;
	if (__atomic_load_n(p->word, __ATOMIC_ACQUIRE) != p->value)
		return 0;
	__atomic_fetch_add(p->word, 1, __ATOMIC_RELEASE);
	return call->now_ns + p->length_us * 1000ull;
}

APART static CUkernel waiting_kernel(void)
{
	CUresult (*set_body)(CUlibrary, kernel_body *);
	CUlibrary library;
	CUkernel kernel;

	*(void **)&set_body = dlsym(RTLD_DEFAULT, "simgpuLibrarySetBody");
	OK(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
	OK(set_body(library, wait_for_word));
	EXPECT(CUDA_ERROR_INVALID_HANDLE, set_body((CUlibrary)(uintptr_t)0x1230, wait_for_word));
	OK(cuLibraryGetKernel(&kernel, library, "without"));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	OK(cuLibraryGetKernel(&kernel, library, "waiting"));
	return kernel;
}

static void launch_waiting(CUkernel kernel, unsigned value, unsigned length_us, CUstream s)
{
	struct parameter p = { words, value, length_us };
	void *params[] = { &p };

	OK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 32, 1, 1, 0, s, params, NULL));
	memset(&p, 0xff, sizeof(p)); /* it has its own copy */
}

static void waits(void)
{
	CUkernel kernel;
	CUstream a, b;

	start();
	a = stream(CU_STREAM_NON_BLOCKING);
	b = stream(CU_STREAM_NON_BLOCKING);
	kernel = waiting_kernel();
	launch_waiting(kernel, 2, 0, a); /* for the one below, in another stream */
	launch("behind", a);
	EXPECT(CUDA_ERROR_NOT_READY, cuStreamQuery(a));
	usleep(2000);
	launch_waiting(kernel, 1, 30000, b);
	usleep(2000);
	EXPECT(CUDA_ERROR_NOT_READY, cuStreamQuery(b));
	__atomic_store_n(&words[0], 1, __ATOMIC_RELEASE);
	OK(cuStreamSynchronize(a));
	OK(cuStreamSynchronize(b));
	EXPECT(3, words[0]);
}

static void a_body_says_when_its_kernel_ends(void **state)
{
	const struct truth_op *first, *second, *behind;

	(void)state;
	run_in_child(waits, &truth);
	assert_int_equal(truth.count, 3);
	first = truth_nth(&truth, "kernel", 0);
	second = truth_nth(&truth, "kernel", 1);
	behind = truth_find(&truth, "behind");
	assert_true(first->end_ns - first->start_ns >= 4000000);
	assert_true(second->end_ns - second->start_ns >= 2000000 + 30000000);
	assert_true(first->end_ns <
		    second->end_ns); /* it ended when the other one had found its value, not at the other's end */
	assert_true(behind->start_ns >= first->end_ns);
}

static void in_graph(void)
{
	CUkernel kernel;
	CUstream s;
	CUgraph graph;
	CUgraphExec exec;

	start();
	s = stream(0);
	kernel = waiting_kernel();
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	launch_waiting(kernel, 5, 100, s);
	OK(cuStreamEndCapture(s, &graph));
	OK(cuGraphInstantiate(&exec, graph, 0));
	for (unsigned i = 0; i < 2; i++) {
		OK(cuGraphLaunch(exec, s));
		usleep(1000);
		EXPECT(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
		__atomic_store_n(&words[0], 5, __ATOMIC_RELEASE);
		OK(cuStreamSynchronize(s));
		EXPECT(6, words[0]);
	}
}

static void a_graph_runs_it_anew_each_time(void **state)
{
	(void)state;
	run_in_child(in_graph, &truth);
	assert_int_equal(truth.count, 2);
	assert_true(truth.ops[0].graph && truth.ops[1].start_ns > truth.ops[0].end_ns);
}

static void never_ends(void)
{
	start();
	launch_waiting(waiting_kernel(), 9, 0, NULL);
	EXPECT(CUDA_ERROR_NOT_READY, cuStreamQuery(NULL));
}

static void one_that_never_ends_holds_no_exit_up(void **state)
{
	(void)state;
	run_in_child(never_ends, &truth);
	assert_int_equal(truth.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_body_says_when_its_kernel_ends),
		cmocka_unit_test(a_graph_runs_it_anew_each_time),
		cmocka_unit_test(one_that_never_ends_holds_no_exit_up),
	};

	settings_clear();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
