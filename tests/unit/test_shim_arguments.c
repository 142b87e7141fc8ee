/* SPDX-License-Identifier: BSD-2-Clause */
/* What the recorder reads of the program's arguments: no more than the driver, which refuses some calls without looking; what it writes down of
 * values and semaphores; and that a call within a call has its times written down and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/mman.h>

#include "shim/edge.h"
#include "shim/semaphores.h"
#include "shim_driver.h"

#define ADDRESS 0x700000000000ull
#define NOWHERE ((void *)0x1000) /* nothing is there */

static CUresult answer; /* to any call that is not shim_driver.h's */

static CUresult fake_any(void)
{
	return answer;
}

#define ANSWERED(sym) *hooks[HOOK_##sym].real = (void *)fake_any

/* A copy of so many bytes, behind which nothing can be read. */
static void *at_the_end(const void *bytes, size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(mprotect(p + page, page, PROT_NONE), 0);
	return memcpy(p + page - n, bytes, n);
}

static void assert_plain(const struct gst_call *r, enum hook_id hook, enum gst_family family)
{
	if (r->hook != hook)
		fail_msg("%s instead of %s", hooks[r->hook].name, hooks[hook].name);
	if (r->family != family || r->detail || r->name || r->args[0] || r->args[1])
		fail_msg("%s: family %u, detail %u, name %u, args %llx %llx", hooks[hook].name, r->family, r->detail,
			 r->name, (unsigned long long)r->args[0], (unsigned long long)r->args[1]);
}

/* ---- batches of waits and writes --------------------------------------------------------------------------------------- */

static const CUstreamBatchMemOpParams writes[2] = {
	{ .writeValue = { .operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = ADDRESS, .value = 7 } },
	{ .writeValue = { .operation = CU_STREAM_MEM_OP_WRITE_VALUE_64,
			  .address = ADDRESS + 8,
			  .value64 = 1ull << 40 } },
};

static struct gst_call batch(const CUstreamBatchMemOpParams *p, unsigned count, unsigned flags)
{
	ANSWERED(cuStreamBatchMemOp_v2);
	assert_int_equal(cuStreamBatchMemOp_v2(STREAM_A, count, (CUstreamBatchMemOpParams *)p, flags), answer);
	return last_call();
}

static void what_the_driver_refuses_is_not_read(void **state)
{
	static const struct {
		unsigned count, flags;
	} refused[] = { { 256, 0 }, { 1000000, 0 }, { UINT32_MAX, 0 }, { 100, 1 } };
	CUstreamBatchMemOpParams *two = at_the_end(writes, sizeof(writes)), unknown = { .operation = 77 };

	(void)state;
	answer = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		struct gst_call r = batch(two, refused[i].count, refused[i].flags);

		assert_plain(&r, HOOK_cuStreamBatchMemOp_v2, GST_FAMILY_MEMOP);
		assert_int_equal(r.result, CUDA_ERROR_INVALID_VALUE);
	}
	batch(NULL, 255, 0);
	batch(at_the_end(&unknown, sizeof(unknown)), 255,
	      0); /* the first one is no operation: the driver may stop there */
	unknown.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
	batch(at_the_end(&unknown, sizeof(unknown)), 255, 0); /* it is known already that it waits */
}

static void a_batch_is_what_it_waits_for_first(void **state)
{
	CUstreamBatchMemOpParams ops[255] = { [0 ... 254] = { .operation = CU_STREAM_MEM_OP_BARRIER } };
	struct gst_call r;

	(void)state;
	answer = CUDA_SUCCESS;
	r = batch(ops, 255, 0);
	assert_plain(&r, HOOK_cuStreamBatchMemOp_v2, GST_FAMILY_MEMOP); /* neither a wait nor a write */
	ops[253] = writes[1];
	ops[254] = writes[0];
	r = batch(ops, 255, 0);
	assert_int_equal(r.family, GST_FAMILY_WRITE_VALUE);
	assert_int_equal(r.detail, GST_VALUE_WRITTEN | GST_VALUE_64 | GST_VALUE_MORE);
	assert_int_equal(r.args[0], ADDRESS + 8);
	assert_int_equal(r.args[1], 1ull << 40);
	ops[254].waitValue = (struct CUstreamMemOpWaitValueParams_st){ .operation = CU_STREAM_MEM_OP_WAIT_VALUE_32,
								       .address = ADDRESS + 16,
								       .value = 9,
								       .flags = CU_STREAM_WAIT_VALUE_EQ };
	r = batch(ops, 255, 0);
	assert_int_equal(r.family, GST_FAMILY_MEMOP);
	assert_int_equal(r.detail, GST_VALUE_EQ | GST_VALUE_MORE);
	assert_int_equal(r.args[0], ADDRESS + 16);
	assert_int_equal(r.args[1], 9);
	r = batch(writes, 1, 0);
	assert_int_equal(r.detail, GST_VALUE_WRITTEN);
	assert_int_equal(r.args[1], 7);
}

/* ---- other lists ------------------------------------------------------------------------------------------------------- */

static void lists_of_a_refused_call_are_not_read(void **state)
{
	CUlaunchConfig config = { .hStream = STREAM_A, .attrs = NOWHERE, .numAttrs = 1000000 };
	struct gst_call r;

	(void)state;
	answer = CUDA_ERROR_INVALID_VALUE;
	ANSWERED(cuMemcpyBatchAsync_v2);
	assert_int_equal(cuMemcpyBatchAsync_v2(NOWHERE, NOWHERE, NOWHERE, 1000000, NULL, NULL, 0, STREAM_A), answer);
	r = last_call();
	assert_plain(&r, HOOK_cuMemcpyBatchAsync_v2, GST_FAMILY_COPY);
	ANSWERED(cuMemcpy3DBatchAsync_v2);
	assert_int_equal(cuMemcpy3DBatchAsync_v2(1000000, NOWHERE, 0, STREAM_A), answer);
	ANSWERED(cuWaitExternalSemaphoresAsync);
	assert_int_equal(cuWaitExternalSemaphoresAsync(NOWHERE, NOWHERE, 1000000, STREAM_A), answer);
	r = last_call();
	assert_plain(&r, HOOK_cuWaitExternalSemaphoresAsync, GST_FAMILY_MEMOP);
	ANSWERED(cuSignalExternalSemaphoresAsync);
	assert_int_equal(cuSignalExternalSemaphoresAsync(NOWHERE, NOWHERE, 1000000, STREAM_A), answer);
	ANSWERED(cuLaunchCooperativeKernelMultiDevice);
	assert_int_equal(cuLaunchCooperativeKernelMultiDevice(NOWHERE, 1000000, 0), answer);
	ANSWERED(cuLaunchKernelEx);
	assert_int_equal(cuLaunchKernelEx(&config, NULL, NULL, NULL), answer);
	ANSWERED(cuImportExternalSemaphore);
	assert_int_equal(cuImportExternalSemaphore(NULL, NOWHERE), answer);
}

static void a_batch_of_copies_is_one_call(void **state)
{
	CUdeviceptr to[3] = { 0x10000, 0x20000, 0x30000 }, from[3] = { 0x40000, 0x50000, 0x60000 };
	size_t bytes[3] = { 1, 20, 300 };
	CUDA_MEMCPY3D_BATCH_OP boxes[2] = {
		{ .src.type = CU_MEMCPY_OPERAND_TYPE_POINTER,
		  .dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER,
		  .src.op.ptr.ptr = 0x40000,
		  .dst.op.ptr.ptr = 0x70000,
		  .extent = { 2, 3, 4 } },
	};
	struct gst_call r;

	(void)state;
	answer = CUDA_SUCCESS;
	ANSWERED(cuMemcpyBatchAsync_v2);
	ANSWERED(cuPointerGetAttribute); /* a memory type of 0 is not the host's */
	assert_int_equal(cuMemcpyBatchAsync_v2(to, from, bytes, 3, NULL, NULL, 0, STREAM_A), answer);
	r = last_call();
	assert_int_equal(r.args[0], 321);
	assert_int_equal(r.args[1], 0x10000);
	assert_int_equal(r.name, 3);
	assert_int_equal(r.detail, GST_COPY_D2D);
	assert_true(r.flags & GST_SUBMISSION);
	boxes[1] = boxes[0];
	ANSWERED(cuMemcpy3DBatchAsync_v2);
	assert_int_equal(cuMemcpy3DBatchAsync_v2(2, boxes, 0, STREAM_A), answer);
	r = last_call();
	assert_int_equal(r.args[0], 2 * 24);
	assert_int_equal(r.args[1], 0x70000);
	assert_int_equal(r.name, 2);
}

/* ---- semaphores -------------------------------------------------------------------------------------------------------- */

static CUexternalSemaphore handle_out;

static CUresult fake_import(CUexternalSemaphore *out, const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *description)
{
	(void)description;
	*out = handle_out;
	return CUDA_SUCCESS;
}

static void import(uintptr_t handle, CUexternalSemaphoreHandleType type)
{
	CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC description = { .type = type };
	CUexternalSemaphore semaphore;

	handle_out = (CUexternalSemaphore)handle;
	real.cuImportExternalSemaphore = fake_import;
	assert_int_equal(cuImportExternalSemaphore(&semaphore, &description), CUDA_SUCCESS);
}

static struct gst_call wait_for(uintptr_t handle, uint64_t value, unsigned count)
{
	const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS p = { .params.fence.value = value };
	const CUexternalSemaphore semaphore = (CUexternalSemaphore)handle;

	ANSWERED(cuWaitExternalSemaphoresAsync);
	assert_int_equal(cuWaitExternalSemaphoresAsync(&semaphore, &p, count, STREAM_A), CUDA_SUCCESS);
	return last_call();
}

static struct gst_call signal_to(uintptr_t handle, uint64_t value)
{
	const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS p = { .params.fence.value = value };
	const CUexternalSemaphore semaphore = (CUexternalSemaphore)handle;

	ANSWERED(cuSignalExternalSemaphoresAsync);
	assert_int_equal(cuSignalExternalSemaphoresAsync(&semaphore, &p, 1, STREAM_A), CUDA_SUCCESS);
	return last_call();
}

static void only_fences_and_timelines_have_a_value(void **state)
{
	(void)state;
	answer = CUDA_SUCCESS;
	for (int type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD;
	     type <= CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_WIN32; type++) {
		bool valued = type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D12_FENCE ||
			      type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_FENCE ||
			      type >= CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
		uintptr_t handle = 0x5000u + 0x40u * (unsigned)type;
		struct gst_call r;

		import(handle, (CUexternalSemaphoreHandleType)type);
		r = wait_for(handle, 41, 1);
		assert_int_equal(r.detail, GST_VALUE_SEMAPHORE | (valued ? (unsigned)GST_VALUE_GEQ | GST_VALUE_64 : 0));
		assert_int_equal(r.args[0], handle);
		assert_int_equal(r.args[1], valued ? 41 : 0);
		r = signal_to(handle, 42);
		assert_int_equal(r.detail,
				 GST_VALUE_SEMAPHORE | (valued ? (unsigned)GST_VALUE_WRITTEN | GST_VALUE_64 : 0));
		assert_int_equal(r.args[1], valued ? 42 : 0);
	}
}

static void a_handle_may_come_back_as_another(void **state)
{
	(void)state;
	answer = CUDA_SUCCESS;
	ANSWERED(cuDestroyExternalSemaphore);
	import(0x9000, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD);
	assert_int_equal(wait_for(0x9000, 1, 2).detail,
			 GST_VALUE_GEQ | GST_VALUE_64 | GST_VALUE_SEMAPHORE | GST_VALUE_MORE);
	assert_int_equal(cuDestroyExternalSemaphore((CUexternalSemaphore)0x9000), CUDA_SUCCESS);
	import(0x9000, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD);
	assert_int_equal(wait_for(0x9000, 1, 1).detail, GST_VALUE_SEMAPHORE);
	semaphores_forget();
	for (uintptr_t i = 1; i <= 10000;
	     i++) /* far more than there is room for: those are not known, and nothing breaks */
		semaphores_add(i << 8);
	for (uintptr_t i = 1; i <= 10000; i++)
		semaphores_remove(i << 8);
	for (uintptr_t i = 1; i <= 10000; i++)
		assert_false(semaphores_has(i << 8));
	assert_false(semaphores_has(0));
}

/* ---- a call within a call ---------------------------------------------------------------------------------------------- */

static CUdeviceptr pointer = ADDRESS;
static size_t size = 8;
static const CUexternalSemaphore semaphore = (CUexternalSemaphore)0x5000;
static const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS awaited = { .params.fence.value = 1 };
static const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signalled = { .params.fence.value = 2 };
static CUDA_LAUNCH_PARAMS launches[1] = { { .hStream = STREAM_A } };

#define EVENT ((CUevent)0x77)
#define CALLS(_)                                                                              \
	_(cuEventQuery, QUERY_EVENT, EVENT)                                                   \
	_(cuEventRecord, EVENT_RECORD, EVENT, STREAM_A)                                       \
	_(cuEventSynchronize, SYNC_EVENT, EVENT)                                              \
	_(cuGraphNodeSetEnabled, GRAPH_CHANGE, NULL, NULL, 1)                                 \
	_(cuLaunchCooperativeKernelMultiDevice, OTHER, launches, 1, 0)                        \
	_(cuMemAlloc_v2, ALLOC, &pointer, 8)                                                  \
	_(cuMemFree_v2, FREE, ADDRESS)                                                        \
	_(cuMemcpyBatchAsync_v2, COPY, &pointer, &pointer, &size, 1, NULL, NULL, 0, STREAM_A) \
	_(cuMemcpyDtoDAsync_v2, COPY, ADDRESS, ADDRESS, 8, STREAM_A)                          \
	_(cuMemsetD8Async, MEMSET, ADDRESS, 0, 8, STREAM_A)                                   \
	_(cuSignalExternalSemaphoresAsync, WRITE_VALUE, &semaphore, &signalled, 1, STREAM_A)  \
	_(cuStreamBatchMemOp_v2, MEMOP, STREAM_A, 2, (CUstreamBatchMemOpParams *)writes, 0)   \
	_(cuStreamSynchronize, SYNC_STREAM, STREAM_A)                                         \
	_(cuStreamWaitEvent, STREAM_WAIT, STREAM_A, EVENT, 0)                                 \
	_(cuStreamWaitValue32_v2, MEMOP, STREAM_A, ADDRESS, 7, 0)                             \
	_(cuStreamWriteValue64_v2, WRITE_VALUE, STREAM_A, ADDRESS, 7, 0)                      \
	_(cuWaitExternalSemaphoresAsync, MEMOP, &semaphore, &awaited, 1, STREAM_A)

#define MAKE(sym, ...)                   \
	static CUresult make_##sym(void) \
	{                                \
		return sym(__VA_ARGS__); \
	}
#define MAKE_ONE(sym, family, ...) MAKE(sym, __VA_ARGS__)
CALLS(MAKE_ONE)
#define ROW(sym, family, ...) { HOOK_##sym, GST_FAMILY_##family, make_##sym },
static const struct {
	enum hook_id hook;
	enum gst_family family;
	CUresult (*make)(void);
} calls[] = { CALLS(ROW) };

/* As a signal handler makes it that comes while the thread is in the driver. */
static __attribute__((noinline)) void make_within(size_t i)
{
	struct gst_call r;

	*hooks[calls[i].hook].real = (void *)fake_any;
	assert_int_equal(calls[i].make(), CUDA_SUCCESS);
	r = last_call();
	assert_plain(&r, calls[i].hook, calls[i].family);
	assert_int_equal(r.stream, GST_NONE);
	assert_int_equal(r.device, 0xffff);
	assert_int_equal(r.seq, 0);
	assert_int_equal(r.flags, 0);
	assert_in_range(r.end, r.begin, UINT64_MAX);
}

static void a_call_within_a_call_has_its_times_alone(void **state)
{
	(void)state;
	answer = CUDA_SUCCESS;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		struct call outer;

		call_enter(&outer, HOOK_cuCtxSetLimit, GST_FAMILY_CONTEXT);
		make_within(i);
		call_exit(&outer, CUDA_SUCCESS);
		assert_int_equal(last_call().hook, HOOK_cuCtxSetLimit);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_the_driver_refuses_is_not_read, set_up),
		cmocka_unit_test_setup(a_batch_is_what_it_waits_for_first, set_up),
		cmocka_unit_test_setup(lists_of_a_refused_call_are_not_read, set_up),
		cmocka_unit_test_setup(a_batch_of_copies_is_one_call, set_up),
		cmocka_unit_test_setup(only_fences_and_timelines_have_a_value, set_up),
		cmocka_unit_test_setup(a_handle_may_come_back_as_another, set_up),
		cmocka_unit_test_setup(a_call_within_a_call_has_its_times_alone, set_up),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
