/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose memory a copy goes from and to: what is asked of the driver, how often, and for how long the answer holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim/edge.h"
#include "shim/memory_kind.h"
#include "shim_driver.h"

/* Addresses, as the driver hands them out: at multiples of 2 MiB. By which the driver here knows what they are. */
#define BUFFER (2ull << 20)
#define NEAR_AT(i) (0x7f0000000000ull + (i)*BUFFER)
#define FAR_BIT (1ull << 45) /* another device's */
#define MANAGED_BIT (1ull << 46)
#define PINNED_BIT (1ull << 48)
#define NEAR NEAR_AT(0)
#define FAR (NEAR_AT(1) ^ FAR_BIT)

enum { NEAR_DEVICE = 3 /* shim_driver.h */, FAR_DEVICE = 4 };

static unsigned asked;
static CUresult answer; /* to every question */
static bool moved;      /* all addresses are FAR_DEVICE's by now */
static int current_device;

static CUresult fake_attribute(void *data, CUpointer_attribute attribute, CUdeviceptr p)
{
	asked++;
	if (answer != CUDA_SUCCESS)
		return answer;
	if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
		*(CUmemorytype *)data = p & PINNED_BIT ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
	else if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
		*(int *)data = (p & FAR_BIT) == (NEAR & FAR_BIT) && !moved ? NEAR_DEVICE : FAR_DEVICE;
	else if (attribute == CU_POINTER_ATTRIBUTE_IS_MANAGED)
		*(bool *)data = (p & MANAGED_BIT) != (NEAR & MANAGED_BIT);
	else
		fail_msg("attribute %d", (int)attribute);
	return CUDA_SUCCESS;
}

static CUresult fake_current_device(CUdevice *d)
{
	*d = current_device;
	return CUDA_SUCCESS;
}

static CUresult fake_nothing(void)
{
	return CUDA_SUCCESS;
}

static int set_up_memory(void **state)
{
	set_up(state);
	real.cuPointerGetAttribute = fake_attribute;
	real.cuCtxGetDevice = fake_current_device;
	real.cuMemcpyDtoDAsync_v2 = (void *)fake_nothing;
	real.cuMemcpyAsync = (void *)fake_nothing;
	real.cuMemcpyHtoDAsync_v2 = (void *)fake_nothing;
	real.cuDeviceGetMemPool = (void *)fake_nothing;
	real.cuMemPoolGetAttribute = (void *)fake_nothing;
	memory_devices_forget();
	memory_kinds_changed();
	answer = CUDA_SUCCESS;
	moved = false;
	current_device = NEAR_DEVICE;
	asked = 0;
	return 0;
}

static unsigned copied(CUdeviceptr to, CUdeviceptr from)
{
	assert_int_equal(cuMemcpyDtoDAsync_v2(to, from, 64, STREAM_A), CUDA_SUCCESS);
	return last_call().detail;
}

static unsigned copied_any(CUdeviceptr to, CUdeviceptr from)
{
	assert_int_equal(cuMemcpyAsync(to, from, 64, STREAM_A), CUDA_SUCCESS);
	return last_call().detail;
}

/* ---- how often ---------------------------------------------------------------------------------------------------------- */

static void one_device_in_use_is_not_asked_about(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(copied(NEAR_AT(i), NEAR_AT(i + 1)), GST_COPY_D2D);
	assert_int_equal(asked, 0);
	assert_int_equal(copied_any(NEAR_AT(0), NEAR_AT(1)), GST_COPY_D2D);
	assert_int_equal(asked, 2); /* whether it is a device's */
}

static void each_page_is_asked_about_once(void **state)
{
	(void)state;
	memory_device_used(NEAR_DEVICE);
	memory_device_used(FAR_DEVICE);
	/* Whichever two there are: neither drives the other out. */
	for (unsigned i = 1; i < 64; i++) {
		asked = 0;
		memory_kinds_changed();
		for (unsigned n = 0; n < 20; n++)
			assert_int_equal(copied(NEAR_AT(i), NEAR_AT(0)), GST_COPY_D2D);
		assert_int_equal(asked, 2);
		for (unsigned n = 0; n < 20; n++)
			assert_int_equal(copied_any(NEAR_AT(0), NEAR_AT(i)), GST_COPY_D2D);
		assert_int_equal(asked, 4);
	}
	asked = 0;
	memory_kinds_changed();
	for (unsigned n = 0; n < 20; n++)
		assert_int_equal(copied(FAR, NEAR), GST_COPY_PEER);
	assert_int_equal(asked, 4); /* and neither is managed */
	for (unsigned n = 0; n < 20; n++)
		assert_int_equal(copied(NEAR, FAR ^ MANAGED_BIT), GST_COPY_D2D);
	assert_int_equal(asked, 6);
}

/* A step's buffers: more than two that begin at such multiples. */
static void several_buffers_are_remembered(void **state)
{
	(void)state;
	memory_devices_unknown();
	for (unsigned n = 0; n < 100; n++)
		for (unsigned i = 0; i < 3; i++)
			copied(NEAR_AT(2 * i), NEAR_AT(2 * i + 1));
	assert_in_range(asked, 6, 100);
}

/* ---- when there are two ------------------------------------------------------------------------------------------------- */

static CUresult fake_memory_out(CUdeviceptr *p)
{
	*p = FAR;
	return CUDA_SUCCESS;
}

static CUresult fake_own_memory_out(CUdeviceptr *p)
{
	*p = NEAR;
	return CUDA_SUCCESS;
}

static void by_context(void)
{
	current_device = FAR_DEVICE;
	me->context_known = false;
	assert_true(thread_context(me));
}

static void by_stream(void)
{
	in_stream_order(&(struct call){ .thread = me }, STREAM_GREEN);
}

static void by_memory_apart(void)
{
	const CUmemAllocationProp prop = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = FAR_DEVICE } };
	CUmemGenericAllocationHandle handle = 0;

	real.cuMemCreate = (void *)fake_nothing;
	cuMemCreate(&handle, 64, &prop, 0);
}

static void by_pool(void)
{
	const CUmemPoolProps props = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = FAR_DEVICE } };
	CUmemoryPool pool = NULL;

	real.cuMemPoolCreate = (void *)fake_nothing;
	cuMemPoolCreate(&pool, &props);
}

static void by_default_pool(void)
{
	CUmemoryPool pool = NULL;

	real.cuDeviceGetDefaultMemPool = (void *)fake_nothing;
	cuDeviceGetDefaultMemPool(&pool, FAR_DEVICE);
}

static void by_another_process(void)
{
	CUdeviceptr p = 0;

	real.cuIpcOpenMemHandle_v2 = (void *)fake_memory_out;
	cuIpcOpenMemHandle_v2(&p, (CUipcMemHandle){ { 0 } }, 0);
}

static void by_handle(void)
{
	CUmemGenericAllocationHandle handle = 0;

	real.cuMemImportFromShareableHandle = (void *)fake_nothing;
	cuMemImportFromShareableHandle(&handle, NULL, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
}

static void two_devices_are_in_use_when_there_is_memory_of_both(void **state)
{
	static void (*const ways[])(void) = { by_context,      by_stream,          by_memory_apart, by_pool,
					      by_default_pool, by_another_process, by_handle };

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		set_up_memory(state);
		assert_int_equal(copied(NEAR_AT(0), NEAR_AT(1)), GST_COPY_D2D);
		assert_false(memory_several_devices());
		ways[i]();
		if (copied(NEAR, FAR) != GST_COPY_PEER)
			fail_msg("way %zu", i);
	}
}

static void memory_of_another_process_may_be_of_the_same_device(void **state)
{
	CUdeviceptr p = 0;

	(void)state;
	copied(NEAR_AT(0), NEAR_AT(1));
	real.cuIpcOpenMemHandle_v2 = (void *)fake_own_memory_out;
	assert_int_equal(cuIpcOpenMemHandle_v2(&p, (CUipcMemHandle){ { 0 } }, 0), CUDA_SUCCESS);
	assert_false(memory_several_devices());
	assert_int_equal(asked, 1);
	answer = CUDA_ERROR_INVALID_VALUE; /* it cannot be said whose */
	cuIpcOpenMemHandle_v2(&p, (CUipcMemHandle){ { 0 } }, 0);
	assert_true(memory_several_devices());
}

/* ---- for how long ------------------------------------------------------------------------------------------------------- */

static void an_error_is_of_the_moment(void **state)
{
	void *host = (void *)(uintptr_t)PINNED_BIT;

	(void)state;
	memory_devices_unknown();
	answer = CUDA_ERROR_NOT_INITIALIZED;
	assert_int_equal(copied(NEAR, FAR), GST_COPY_D2D);
	assert_int_equal(cuMemcpyHtoDAsync_v2(NEAR, host, 64, STREAM_A), CUDA_SUCCESS);
	assert_int_equal(last_call().detail, GST_COPY_H2D_PAGEABLE);
	answer = CUDA_SUCCESS;
	assert_int_equal(copied(NEAR, FAR), GST_COPY_PEER);
	assert_int_equal(cuMemcpyHtoDAsync_v2(NEAR, host, 64, STREAM_A), CUDA_SUCCESS);
	assert_int_equal(last_call().detail, GST_COPY_H2D_PINNED);
}

static void what_the_driver_does_not_know_is_remembered(void **state)
{
	(void)state;
	answer = CUDA_ERROR_INVALID_VALUE; /* pageable memory */
	for (unsigned i = 0; i < 20; i++) {
		assert_int_equal(cuMemcpyHtoDAsync_v2(NEAR, (void *)(uintptr_t)PINNED_BIT, 64, STREAM_A), CUDA_SUCCESS);
		assert_int_equal(last_call().detail, GST_COPY_H2D_PAGEABLE);
	}
	assert_int_equal(asked, 1);
}

/* The driver takes memory or addresses, or gives them: until then others ask and remember. */
static CUresult fake_change(void)
{
	memory_of_two_devices(me, NEAR, FAR);
	moved = true;
	return CUDA_SUCCESS;
}

static CUdeviceptr out;

#define CHANGES(_)                             \
	_(cuIpcCloseMemHandle, NEAR)           \
	_(cuMemAddressFree, NEAR, BUFFER)      \
	_(cuMemAllocAsync, &out, 64, STREAM_A) \
	_(cuMemAlloc_v2, &out, 64)             \
	_(cuMemFree_v2, NEAR)                  \
	_(cuMemHostUnregister, NULL)           \
	_(cuMemMap, NEAR, BUFFER, 0, 7, 0)     \
	_(cuMemUnmap, NEAR, BUFFER)
#define CHANGE(sym, ...)                   \
	static CUresult change_##sym(void) \
	{                                  \
		return sym(__VA_ARGS__);   \
	}
CHANGES(CHANGE)
#define ROW(sym, ...) { HOOK_##sym, change_##sym },
static const struct {
	enum hook_id hook;
	CUresult (*make)(void);
} changes[] = { CHANGES(ROW) };

static void addresses_change_hands(void **state)
{
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		set_up_memory(state);
		memory_devices_unknown();
		*hooks[changes[i].hook].real = (void *)fake_change;
		assert_int_equal(copied(NEAR, FAR), GST_COPY_PEER);
		assert_int_equal(changes[i].make(), CUDA_SUCCESS);
		if (copied(NEAR, FAR) != GST_COPY_D2D)
			fail_msg("%s: what was remembered still holds", hooks[changes[i].hook].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(one_device_in_use_is_not_asked_about, set_up_memory),
		cmocka_unit_test_setup(each_page_is_asked_about_once, set_up_memory),
		cmocka_unit_test_setup(several_buffers_are_remembered, set_up_memory),
		cmocka_unit_test_setup(two_devices_are_in_use_when_there_is_memory_of_both, set_up_memory),
		cmocka_unit_test_setup(memory_of_another_process_may_be_of_the_same_device, set_up_memory),
		cmocka_unit_test_setup(an_error_is_of_the_moment, set_up_memory),
		cmocka_unit_test_setup(what_the_driver_does_not_know_is_remembered, set_up_memory),
		cmocka_unit_test_setup(addresses_change_hands, set_up_memory),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
