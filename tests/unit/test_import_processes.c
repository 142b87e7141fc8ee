/* SPDX-License-Identifier: BSD-2-Clause */
/* Another tool's trace of many processes, ranks and devices: how many there may be, who they are, which names each has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>

#include "tests/unit/import_told.h"

static void test_ranks_of_an_unknown_number(void **state)
{
	static const struct {
		uint32_t rank, ranks, said_rank, said_ranks;
	} cases[] = {
		{ 3, 8, 3, 8 },
		{ 3, 0, 3, 0 },
		{ 3, 3, GST_NONE, GST_NONE },
		{ 0, 1, 0, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin();
		call(import_process(build, 1), 1, "cudaLaunchKernel", 10, 20, 0);
		import_rank(build, 0, cases[i].rank, cases[i].ranks);
		finish(NULL);
		assert_int_equal(traces[0]->imported->rank, cases[i].said_rank);
		assert_int_equal(traces[0]->imported->ranks, cases[i].said_ranks);
		forget(NULL);
	}
}

static void test_too_many_devices(void **state)
{
	struct import_work w = { .end_ns = 2, .kind = GST_ACTIVITY_KERNEL, .stream = IMPORT_NO_STREAM };

	(void)state;
	begin();
	for (uint32_t process = 0; process < 2; process++) {
		w.process = import_process(build, 1 + process);
		for (w.device = 0; w.device < 3000; w.device++)
			import_work(build, &w);
	}
	finish(NULL);
	assert_int_equal(n_traces, 2);
	assert_int_equal(traces[0]->n_devices, 3000);
	assert_int_equal(traces[1]->n_devices, IMPORT_DEVICES_MAX - 3000);
	assert_int_equal(traces[1]->n_measured, IMPORT_DEVICES_MAX - 3000);
	assert_int_equal(traces[0]->imported->left_out, 6000 - IMPORT_DEVICES_MAX);
	assert_true(traces[0]->imported->incomplete && traces[1]->imported->incomplete);
	assert_int_equal(traces[0]->imported->n_warnings, 1);
	assert_string_equal(traces[0]->imported->warnings[0],
			    "more than 4096 devices: what is about others is left out");
}

/* A call about memory is on a device of its process's, so there are not too many of these either; what others say is no device. */
static void test_devices_with_memory_alone(void **state)
{
	struct import_call c = { .end_ns = 2, .tid = 1, .stream = IMPORT_NO_STREAM };

	(void)state;
	begin();
	c.process = import_process(build, 1);
	c.name = import_name(build, T("cudaDeviceSynchronize"));
	c.device = 9;
	import_call(build, &c);
	c.device = 1;
	c.name = import_name(build, T("cudaMallocHost")); /* it is no device's */
	import_call(build, &c);
	c.name = import_name(build, T("cuMemAlloc_v2"));
	for (c.device = 0; c.device < IMPORT_DEVICES_MAX; c.device += 2)
		import_call(build, &c);
	c.process = import_process(build, 2);
	for (c.device = 0; c.device <= IMPORT_DEVICES_MAX / 2; c.device++) {
		c.begin_ns = 10 * c.device;
		c.end_ns = c.begin_ns + 2;
		import_call(build, &c);
	}
	finish(NULL);
	assert_int_equal(traces[0]->n_devices, IMPORT_DEVICES_MAX / 2);
	assert_int_equal(traces[0]->devices[1].device, 2);
	assert_int_equal(traces[1]->n_devices, IMPORT_DEVICES_MAX / 2);
	assert_int_equal(traces[1]->n_calls, IMPORT_DEVICES_MAX / 2 + 1);
	assert_int_equal(traces[1]->calls[traces[1]->n_calls - 1].device, UINT16_MAX);
	assert_int_equal(traces[0]->imported->n_warnings, 1);
}

/* Numbers of 64 bits, and those made of names: each process has one of its own. */
static void test_processes_without_a_pid(void **state)
{
	static const uint64_t pids[] = { 2, (1ull << 32) + 1, 1ull << 62 | 1, 1, (uint64_t)-1, (1ull << 32) + 2 };
	static const uint32_t shown[] = { 1, 2, 3, 4, 5, UINT32_MAX };

	(void)state;
	begin();
	for (size_t i = 0; i < 6; i++)
		call(import_process(build, pids[i]), (uint32_t)(10 + i), "cudaLaunchKernel", 10, 20, 0);
	finish(NULL);
	assert_int_equal(n_traces, 6);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(traces[i]->header.pid, shown[i]);
	assert_int_equal(traces[0]->calls[0].tid, 13);
	assert_int_equal(traces[2]->calls[0].tid, 11);
	assert_int_equal(traces[4]->calls[0].tid, 15);
	assert_string_equal(traces[0]->imported->warnings[0], "3 processes have no pid of 32 bits: numbered from 1 on");
}

/* Each process has the names that it uses, and those of calls; nothing is left of another's. */
static void test_names_of_many_processes(void **state)
{
	char name[16];

	(void)state;
	begin();
	for (uint32_t i = 0; i < 50; i++) {
		uint32_t p = import_process(build, 1 + i);

		snprintf(name, sizeof(name), "k%u", i);
		call(p, 1, "cudaLaunchKernel", 10, 20, 0);
		work(p, 7, "shared", 30, 40, 0, GST_ACTIVITY_KERNEL, 0);
		work(p, 7, name, 40, 50, 0, GST_ACTIVITY_KERNEL, 0);
		host_op(p, 1, name, 5, 25);
	}
	finish(NULL);
	assert_int_equal(n_traces, 50);
	for (uint32_t i = 0; i < 50; i++) {
		const struct trace *t = traces[i];

		snprintf(name, sizeof(name), "k%u", i);
		assert_int_equal(t->n_kernels, 3);
		assert_string_equal(t->kernels[t->measured[0].name], "shared");
		assert_string_equal(t->kernels[t->measured[1].name], name);
		assert_int_equal(t->host_ops.n_names, 2);
		assert_string_equal(t->host_ops.names[1], name);
		assert_string_equal(t->hooks[t->calls[0].hook], "cudaLaunchKernel");
	}
}

static void test_nothing_is_no_process(void **state)
{
	(void)state;
	begin();
	import_thread(build, import_process(build, 1), 4, T("idle"));
	finish(NULL);
	assert_int_equal(n_traces, 0);
}

static void test_too_many_processes(void **state)
{
	struct error e;

	(void)state;
	begin();
	for (uint64_t pid = 0; pid < IMPORT_PROCESSES_MAX; pid++)
		assert_int_equal(import_process(build, pid), pid);
	assert_false(import_failed(build));
	assert_int_equal(import_process(build, 5), 5);
	assert_int_equal(import_process(build, IMPORT_PROCESSES_MAX), UINT32_MAX);
	assert_true(import_failed(build));
	assert_int_equal(import_build_finish(&traces, &n_traces, build, NULL, &e), ERR_FORMAT);
	assert_string_equal(e.text, "more than 4096 processes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_ranks_of_an_unknown_number, forget),
		cmocka_unit_test_teardown(test_too_many_devices, forget),
		cmocka_unit_test_teardown(test_devices_with_memory_alone, forget),
		cmocka_unit_test_teardown(test_processes_without_a_pid, forget),
		cmocka_unit_test_teardown(test_names_of_many_processes, forget),
		cmocka_unit_test_teardown(test_nothing_is_no_process, forget),
		cmocka_unit_test_teardown(test_too_many_processes, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
