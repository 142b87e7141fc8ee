/* SPDX-License-Identifier: BSD-2-Clause */
/* Facts of another tool's trace become processes with calls, work, names and times; any allocation may fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/failing_alloc.h"
#include "tests/unit/import_told.h"
#include "trace/same_clock.h"

static void range(uint32_t process, const char *name, int64_t begin_ns, int64_t end_ns)
{
	struct import_range r = { .begin_ns = begin_ns,
				  .end_ns = end_ns,
				  .process = process,
				  .tid = 11,
				  .name = import_name(build, (struct import_text){ name, strlen(name) }) };

	import_range(build, &r);
}

/* Two processes in one file. */
static void tell(void)
{
	uint32_t b = import_process(build, 200), a = import_process(build, 100);
	struct import_device d = {
		.process = a, .device = 1, .name = T("Some GPU"), .memory_bytes = 80, .uuid = { 9 }
	};
	struct import_block m = { .time_ns = 1500,
				  .address = 64,
				  .bytes = 32,
				  .allocated = 32,
				  .reserved = 128,
				  .process = a,
				  .tid = 11,
				  .device = 1 };

	import_host(build, T("node7"));
	import_epoch(build, 1000000000);
	import_command(build, a, T("python train.py"));
	import_thread(build, a, 11, T("main"));
	import_rank(build, a, 3, 8);
	import_device(build, &d);
	call(a, 11, "cudaLaunchKernel", 2000, 2100, 5);
	call(a, 11, "cudaMemcpyAsync", 1000, 1100, 4);
	call(a, 11, "cudaStreamSynchronize", 2200, 4000, 0);
	work(a, 7, "gemm", 2600, 3600, 5, GST_ACTIVITY_KERNEL, 0);
	work(a, 7, "", 1300, 1900, 4, GST_ACTIVITY_COPY, GST_COPY_H2D_PINNED);
	work(a, 20, "ncclDevKernel_AllReduce", 3700, 3900, 0, GST_ACTIVITY_KERNEL, 0);
	range(a, "ProfilerStep#7", 900, 4100);
	range(a, "forward", 950, 3000);
	host_op(a, 11, "aten::mm", 1950, 2150);
	host_op(a, 11, "aten::linear", 1950, 2190);
	host_op(a, 11, "aten::mm", 1950, 1950); /* no time */
	import_block(build, &m);
	call(b, 12, "cuMemAlloc_v2", 500, 600, 0);
	import_lost(build, 0);
	import_warn(build, "%s", "a word of warning");
	import_warn(build, "%s", "a word of warning");
}

static void test_processes(void **state)
{
	const struct trace *t;

	(void)state;
	begin();
	tell();
	finish(NULL);
	assert_int_equal(n_traces, 2);
	t = traces[0];
	assert_int_equal(t->header.pid, 100);
	assert_string_equal(t->header.host, "node7");
	assert_string_equal(t->header.cmdline, "python train.py");
	assert_int_equal(t->header.start_mono_ns, 900);
	assert_int_equal(t->header.start_real_ns, 1000000900);
	assert_int_equal(t->begin_ns, 900);
	assert_int_equal(t->end_ns, 4100);
	assert_int_equal(t->cut_ns, INT64_MAX);
	assert_int_equal(t->damage.kind, ERR_NONE);
	assert_string_equal(t->imported->tool, "kineto");
	assert_int_equal(t->imported->rank, 3);
	assert_int_equal(t->imported->ranks, 8);
	assert_int_equal(t->imported->n_warnings, 1);
	assert_string_equal(t->imported->warnings[0], "a word of warning");
	assert_int_equal(t->imported->left_out, 0);
	assert_false(t->imported->incomplete);
	assert_string_equal(trace_thread_name(t, 11), "main");
	assert_int_equal(traces[1]->header.pid, 200);
	assert_int_equal(traces[1]->imported->n_warnings, 0);
	assert_string_equal(traces[1]->hooks[traces[1]->calls[0].hook], "cuMemAlloc_v2");
	assert_true(same_clock(&t->header, &traces[1]->header));
}

static void test_calls_and_work(void **state)
{
	const struct trace *t;

	(void)state;
	begin();
	tell();
	finish(NULL);
	t = traces[0];
	assert_int_equal(t->n_calls, 3);
	assert_string_equal(t->hooks[t->calls[0].hook], "cudaMemcpyAsync");
	assert_int_equal(t->calls[0].family, GST_FAMILY_COPY);
	assert_int_equal(t->calls[0].flags, GST_SUBMISSION);
	assert_int_equal(t->calls[0].seq, 1);
	assert_int_equal(t->calls[0].detail, GST_COPY_H2D_PINNED);
	assert_int_equal(t->calls[0].args[0], 4096);
	assert_int_equal(t->calls[0].device, 1);
	assert_int_equal(t->calls[0].byte, 1000);
	assert_int_equal(t->calls[1].family, GST_FAMILY_LAUNCH);
	assert_int_equal(t->calls[1].seq, 2);
	assert_int_equal(t->calls[1].stream, t->calls[0].stream);
	assert_string_equal(t->kernels[t->calls[1].name], "gemm");
	assert_int_equal(t->calls[2].family, GST_FAMILY_SYNC_STREAM);
	assert_int_equal(t->calls[2].flags, 0);
	assert_int_equal(t->calls[2].stream, GST_NONE);
	assert_int_equal(t->n_measured, 3);
	assert_int_equal(t->measured[0].begin_ns, 1300);
	assert_int_equal(t->measured[0].seq, 1);
	assert_int_equal(t->measured[0].name, 0);
	assert_int_equal(t->measured[1].seq, 2);
	assert_int_equal(t->measured[1].error_ns, 0);
	assert_string_equal(t->kernels[t->measured[1].name], "gemm");
	assert_false(t->communicates[t->measured[1].name]);
	assert_int_equal(t->measured[2].seq, 0); /* nobody asked for it */
	assert_true(t->communicates[t->measured[2].name]);
	assert_int_equal(t->n_streams, 2);
	assert_int_equal(t->streams[t->measured[2].stream].handle, 20);
	assert_int_equal(t->n_devices, 1);
	assert_string_equal(t->devices[0].name, "Some GPU");
	assert_int_equal(t->devices[0].uuid[0], 9);
	assert_int_equal(t->n_graphs, 1);
}

static void test_ranges_host_ops_and_blocks(void **state)
{
	const struct trace *t;

	(void)state;
	begin();
	tell();
	finish(NULL);
	t = traces[0];
	assert_int_equal(t->n_ranges, 2);
	assert_string_equal(t->ranges[0].name, "ProfilerStep#");
	assert_true(t->ranges[0].numbered);
	assert_int_equal(t->ranges[0].number, 7);
	assert_int_equal(t->ranges[0].end_ns, 4100);
	assert_null(t->ranges[0].domain);
	assert_int_equal(t->ranges[0].kind, GST_RANGE_PUSHED);
	assert_string_equal(t->ranges[1].name, "forward");
	assert_false(t->ranges[1].numbered);
	assert_int_equal(t->host_ops.n, 2);
	assert_string_equal(t->host_ops.names[t->host_ops.at[0].name], "aten::linear"); /* the longer one first */
	assert_string_equal(t->host_ops.names[t->host_ops.at[1].name], "aten::mm");
	assert_int_equal(t->host_ops.at[1].byte, 7);
	assert_string_equal(t->host_ops.names[0], "");
	assert_int_equal(t->memory.n_blocks, 1);
	assert_int_equal(t->memory.blocks[0].kind, GST_BLOCK_TAKEN);
	assert_int_equal(t->memory.blocks[0].allocated, 32);
}

static void test_what_cannot_be(void **state)
{
	struct import_work w = { .begin_ns = 1, .end_ns = 2, .device = 70000, .kind = GST_ACTIVITY_KERNEL };
	uint32_t p;

	(void)state;
	begin();
	p = import_process(build, 1);
	call(p, 1, "cudaLaunchKernel", 20, 10, 0);
	call(p, 1, "cudaLaunchKernel", -20, 10, 0);
	call(p, 1, "cudaLaunchKernel", 10, INT64_MAX - 1, 0);
	work(p, 1, "k", 5, 6, 0, 0, 0);
	work(p, 1, "k", 5, 6, 0, GST_ACTIVITY_COPY, 99);
	call(p + 7, 1, "cudaLaunchKernel", 10, 20, 0);
	import_work(build, &w);
	call(p, 1, "cudaLaunchKernel", 10, 20, 0);
	finish(NULL);
	assert_int_equal(n_traces, 1);
	assert_int_equal(traces[0]->imported->left_out, 7);
	assert_int_equal(traces[0]->n_calls, 1);
	assert_int_equal(traces[0]->n_measured, 0);
}

static void incomplete_is(bool is, uint64_t left_out)
{
	finish(NULL);
	assert_int_equal(n_traces, 1);
	assert_int_equal(traces[0]->imported->incomplete, is);
	assert_int_equal(traces[0]->imported->left_out, left_out);
	assert_int_equal(traces[0]->imported->lost, 0);
	forget(NULL);
}

/* What is missing of devices may have been in any gap; what is missing of threads changes nothing of how long these were. */
static void test_what_is_left_out_of_devices(void **state)
{
	const struct import_work far = { .begin_ns = 1, .end_ns = 2, .device = 70000, .kind = GST_ACTIVITY_KERNEL };

	(void)state;
	begin();
	call(import_process(build, 1), 1, "cudaStreamSynchronize", 10, 20, 0);
	call(import_process(build, 1), 1, "cudaStreamSynchronize", 20, 10, 0);
	host_op(import_process(build, 1), 1, "aten::mm", 5, -5);
	import_left_out(build, 3, 0);
	incomplete_is(false, 5);
	begin();
	call(import_process(build, 1), 1, "cudaStreamSynchronize", 10, 20, 0);
	work(import_process(build, 1), 1, "k", -5, 6, 0, GST_ACTIVITY_KERNEL, 0);
	incomplete_is(true, 1);
	begin();
	call(import_process(build, 1), 1, "cudaStreamSynchronize", 10, 20, 0);
	import_work(build, &far);
	incomplete_is(true, 1);
	begin();
	call(import_process(build, 1), 1, "cudaStreamSynchronize", 10, 20, 0);
	import_left_out(build, 3, 1);
	incomplete_is(true, 3);
}

static void test_damage_cuts(void **state)
{
	struct error damage;

	(void)state;
	err_set(&damage, ERR_FORMAT, "t.json", 77, "it ends within a text");
	begin();
	tell();
	finish(&damage);
	assert_int_equal(traces[0]->damage.kind, ERR_FORMAT);
	assert_int_equal(traces[0]->damage.byte, 77);
	assert_int_equal(traces[0]->cut_ns, 2200); /* the last call; work is known up to 3900 */
	assert_int_equal(traces[0]->end_ns, 2200);
	assert_int_equal(traces[0]->n_calls, 3);
	assert_int_equal(traces[0]->n_measured, 1);
	assert_int_equal(traces[0]->ranges[0].end_ns, INT64_MAX);
	assert_true(traces[0]->imported->incomplete);
	forget(NULL);
	begin();
	tell();
	import_cut(build, 1500); /* a table of work that ends there */
	import_cut(build, 1900);
	finish(&damage);
	assert_int_equal(traces[0]->cut_ns, 1500);
	forget(NULL);
	begin();
	tell();
	import_cut(build, INT64_MIN); /* … of which nothing could be read: it ends with the first fact */
	finish(&damage);
	assert_int_equal(traces[0]->cut_ns, traces[0]->begin_ns);
	forget(NULL);
	begin();
	tell();
	import_cut(build, 1500);
	finish(NULL);
	assert_int_equal(traces[0]->cut_ns, INT64_MAX); /* the file is whole */
}

static void test_names_of_calls(void **state)
{
	static const struct {
		const char *name;
		uint8_t family, ways;
	} cases[] = {
		{ "cudaLaunchKernel", GST_FAMILY_LAUNCH, 0 },
		{ "cudaLaunchKernel_v7000", GST_FAMILY_LAUNCH, 0 },
		{ "cudaLaunchKernelExC_v11060", GST_FAMILY_LAUNCH, 0 },
		{ "cudaLaunchKernel_ptsz_v7000", GST_FAMILY_LAUNCH, 0 },
		{ "hipLaunchKernel", GST_FAMILY_LAUNCH, 0 },
		{ "hipExtModuleLaunchKernel", GST_FAMILY_LAUNCH, 0 },
		{ "cuLaunchKernel", GST_FAMILY_LAUNCH, 0 },
		{ "cuLaunchKernelEx_ptsz", GST_FAMILY_LAUNCH, 0 },
		{ "cudaLaunchHostFunc", GST_FAMILY_HOSTFN, 0 },
		{ "cudaGraphLaunch", GST_FAMILY_GRAPH_LAUNCH, 0 },
		{ "cudaGraphInstantiate", GST_FAMILY_GRAPH, 0 },
		{ "cuGraphLaunch", GST_FAMILY_GRAPH_LAUNCH, 0 },
		{ "cudaMemcpy", GST_FAMILY_COPY, CALL_WAITS },
		{ "cudaMemcpyAsync", GST_FAMILY_COPY, 0 },
		{ "cuMemcpyHtoDAsync_v2", GST_FAMILY_COPY, 0 },
		{ "cuMemcpyDtoH_v2", GST_FAMILY_COPY, CALL_WAITS },
		{ "hipMemcpyWithStream", GST_FAMILY_COPY, CALL_WAITS },
		{ "cudaMemsetAsync", GST_FAMILY_MEMSET, 0 },
		{ "cudaStreamSynchronize", GST_FAMILY_SYNC_STREAM, 0 },
		{ "cudaDeviceSynchronize", GST_FAMILY_SYNC_CONTEXT, 0 },
		{ "hipEventSynchronize", GST_FAMILY_SYNC_EVENT, 0 },
		{ "cudaEventQuery", GST_FAMILY_QUERY_EVENT, 0 },
		{ "cudaEventRecordWithFlags", GST_FAMILY_EVENT_RECORD, 0 },
		{ "cudaStreamWaitEvent", GST_FAMILY_STREAM_WAIT, 0 },
		{ "cudaMalloc", GST_FAMILY_ALLOC, 0 },
		{ "cudaMallocHost", GST_FAMILY_HOST_ALLOC, 0 },
		{ "cudaMallocAsync", GST_FAMILY_POOL, 0 },
		{ "cudaFree", GST_FAMILY_FREE, 0 },
		{ "cudaHostAlloc", GST_FAMILY_HOST_ALLOC, 0 },
		{ "cuModuleLoadData", GST_FAMILY_MODULE, 0 },
		{ "cuLibraryLoadData", GST_FAMILY_MODULE, 0 },
		{ "cudaStreamBeginCapture", GST_FAMILY_CAPTURE, CALL_CAPTURES },
		{ "cudaStreamEndCapture", GST_FAMILY_CAPTURE, CALL_CAPTURED },
		{ "cudaStreamIsCapturing", GST_FAMILY_CAPTURE, 0 },
		{ "cudaGetDevice", GST_FAMILY_OTHER, 0 },
		{ "Malloc", GST_FAMILY_OTHER, 0 },
		{ "_v2", GST_FAMILY_OTHER, 0 },
		{ "cu", GST_FAMILY_OTHER, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t family, ways;

		import_call_kind(cases[i].name, &family, &ways);
		if (family != cases[i].family || ways != cases[i].ways)
			fail_msg("%s: family %u, ways %u", cases[i].name, family, ways);
	}
}

static void test_names_are_told_once(void **state)
{
	uint32_t p;

	(void)state;
	begin();
	p = import_process(build, 1);
	assert_int_equal(import_name(build, T("a")), 1);
	assert_int_equal(import_name(build, T("longer than eight bytes")), 2);
	assert_int_equal(import_name(build, T("a\0b")), 1);
	assert_int_equal(import_name(build, T("longer than eight bytes")), 2);
	assert_int_equal(import_name(build, T("")), 0);
	for (int i = 0; i < 600; i++) { /* more names of calls than there is room for */
		char name[16];

		snprintf(name, sizeof(name), "call%d", i);
		call(p, 1, name, i, i + 1, 0);
	}
	finish(NULL);
	assert_string_equal(traces[0]->hooks[traces[0]->calls[479].hook], "call479");
	assert_int_equal(traces[0]->calls[480].hook, GST_HOOK_MAX);
	assert_null(traces[0]->hooks[GST_HOOK_MAX]);
}

/* Whichever allocation fails, it is said, and nothing is lost or freed twice. */
static void test_without_memory(void **state)
{
	bool whole = false;

	(void)state;
	for (long n = 1; !whole; n++) {
		struct error e = { 0 };

		assert_in_range(n, 1, 1000);
		fail_at = n;
		build = import_build_new("t.json", "kineto");
		if (build) {
			tell();
			if (import_build_finish(&traces, &n_traces, build, NULL, &e) == ERR_NONE)
				whole = true;
			else
				assert_int_equal(e.kind, ERR_SYSTEM);
		}
		whole = whole && fail_at > 0;
		fail_at = 0;
		if (n_traces)
			assert_int_equal(n_traces, 2);
		forget(NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_processes, forget),
		cmocka_unit_test_teardown(test_calls_and_work, forget),
		cmocka_unit_test_teardown(test_ranges_host_ops_and_blocks, forget),
		cmocka_unit_test_teardown(test_what_cannot_be, forget),
		cmocka_unit_test_teardown(test_what_is_left_out_of_devices, forget),
		cmocka_unit_test_teardown(test_damage_cuts, forget),
		cmocka_unit_test_teardown(test_names_of_calls, forget),
		cmocka_unit_test_teardown(test_names_are_told_once, forget),
		cmocka_unit_test_teardown(test_without_memory, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
