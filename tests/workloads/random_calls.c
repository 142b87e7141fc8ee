/* SPDX-License-Identifier: BSD-2-Clause */
/* random_calls.c: random driver calls, valid and invalid, from a seed; prints each call's result and what it gave back, so that
 * two runs can be compared byte for byte. Usage: random_calls SEED [CALLS].
 *
 * What may differ between two good runs is left out: addresses (only whether there is one), times, and whether work in
 * progress was already done when asked. Data is moved by one stream at a time, so its order is not left to chance. */
#include "common_driver.h"
#include "common_random.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { HANDLES = 12, HOST_BYTES = 1 << 18 };

static struct random rng;
static unsigned call_number;

/* ---- arguments ------------------------------------------------------------------------------------------- */

/* The last few handles of a kind. Contexts, modules, functions and memory destroyed meanwhile stay: stale handles are among the
 * arguments. Streams and events do not: the driver may give their handles out again, and to a recorder that makes events
 * of its own, or uses the thread's default stream before the program does. They are used once, just after their end. */
struct pool {
	uintptr_t items[HANDLES];
	unsigned count;
};

static struct pool contexts, modules, functions, streams, events, pointers;

static void *pinned[HANDLES]; /* live only: a copy to memory that is gone would crash without any driver */
static uint8_t pageable[HOST_BYTES] __attribute__((aligned(4096)));

static unsigned below(unsigned limit)
{
	return random_below(&rng, limit);
}

static bool one_in(unsigned n)
{
	return below(n) == 0;
}

static void pool_add(struct pool *pool, uintptr_t handle)
{
	pool->items[pool->count++ % HANDLES] = handle;
}

/* One that is then no longer in the pool; 0 if there is none. */
static uintptr_t pool_take(struct pool *pool)
{
	unsigned kept = pool->count < HANDLES ? pool->count : HANDLES, i = kept ? below(kept) : 0;
	uintptr_t handle = kept ? pool->items[i] : 0;

	pool->items[i] = 0;
	return handle;
}

/* Mostly a handle of this kind that is or was good; else none, a handle of another kind, or an invented one. */
static uintptr_t pick(const struct pool *pool)
{
	static const uintptr_t invented[] = { 0x10, 0xdeadbeef000, 0x7fffffff, 0x1000, (uintptr_t)-64 };
	const struct pool *others[] = { &contexts, &modules, &functions, &contexts, &pointers };
	unsigned kept = pool->count < HANDLES ? pool->count : HANDLES;

	if (kept && !one_in(8))
		return pool->items[below(kept)];
	switch (below(3)) {
	case 0:
		return 0;
	case 1:
		pool = others[below(5)];
		return pool->items[0];
	default:
		return invented[below(sizeof(invented) / sizeof(*invented))];
	}
}

static CUstream a_stream(void)
{
	if (one_in(6))
		return one_in(2) ? CU_STREAM_LEGACY : CU_STREAM_PER_THREAD;
	return (CUstream)pick(&streams);
}

static size_t a_size(void)
{
	static const size_t sizes[] = {
		0, 1, 3, 4, 512, 4096, 65536, 65540, 200000, 1 << 20, (size_t)1 << 33, SIZE_MAX, SIZE_MAX / 2
	};

	return sizes[below(one_in(3) ? sizeof(sizes) / sizeof(*sizes) : 9)];
}

static void *host_memory(size_t bytes)
{
	void *p = pinned[below(HANDLES)];

	if (one_in(12))
		return NULL;
	return p && bytes <= 65536 && one_in(2) ? p : pageable;
}

static CUdeviceptr a_pointer(void)
{
	CUdeviceptr p = (CUdeviceptr)pick(&pointers);

	return one_in(4) ? p + 4 * below(64) : one_in(30) ? p + 1 : p;
}

/* For copies that take any address: what is no device memory is then host memory, and an invented address a crash. */
static CUdeviceptr a_real_pointer(void)
{
	unsigned kept = pointers.count < HANDLES ? pointers.count : HANDLES;

	return kept ? (CUdeviceptr)pointers.items[below(kept)] + 4 * below(64) : 0;
}

/* ---- printing -------------------------------------------------------------------------------------------- */

#define SHOW(sym, ...) show(#sym, CU(sym, __VA_ARGS__))
static CUresult show(const char *symbol, CUresult result)
{
	printf("\n%u %s %d", call_number++, symbol, (int)result);
	return result;
}

/* Done or not yet: not for us to say. */
#define SHOW_QUERY(sym, ...) show_query(#sym, CU(sym, __VA_ARGS__))
static void show_query(const char *symbol, CUresult result)
{
	show(symbol, result == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : result);
}

#define UNTOUCHED ((uintptr_t)0x5a5a5a5a)
static void show_handle(uintptr_t handle)
{
	printf(" %s", handle == UNTOUCHED ? "untouched" : handle ? "handle" : "null");
}

static void show_number(long long number)
{
	printf(" %lld", number);
}

static void show_context(CUcontext context)
{
	unsigned kept = contexts.count < HANDLES ? contexts.count : HANDLES;

	for (unsigned i = 0; i < kept; i++)
		if (contexts.items[i] == (uintptr_t)context) {
			printf(" context%u", i);
			return;
		}
	show_handle((uintptr_t)context);
}

static void show_data(const uint8_t *data, size_t bytes)
{
	printf(" %016llx", (unsigned long long)random_hash(0, data, bytes));
}

/* ---- calls ----------------------------------------------------------------------------------------------- */

static void call_init(void)
{
	SHOW(cuInit, one_in(3) ? 1 + below(3) : 0);
}

static void call_device(void)
{
	CUdevice device = (CUdevice)UNTOUCHED;
	int value = (int)UNTOUCHED;
	char name[64] = "";
	size_t bytes = UNTOUCHED;

	switch (below(5)) {
	case 0:
		SHOW(cuDeviceGet, one_in(6) ? NULL : &device, (int)below(4) - 1);
		show_number(device);
		break;
	case 1:
		SHOW(cuDeviceGetCount, one_in(6) ? NULL : &value);
		show_number(value);
		break;
	case 2:
		SHOW(cuDeviceGetName, name, (int)below(70) - 3, (CUdevice)below(3));
		printf(" %s", name);
		break;
	case 3:
		SHOW(cuDeviceGetAttribute, &value, (CUdevice_attribute)below(160), (CUdevice)below(2));
		show_number(value);
		break;
	default:
		SHOW(cuDeviceTotalMem_v2, &bytes, (CUdevice)below(2));
		show_number((long long)bytes);
	}
}

static void call_error_name(void)
{
	const char *name = "untouched";

	SHOW(cuGetErrorName, (CUresult)below(1000), one_in(8) ? NULL : &name);
	printf(" %s", name ? name : "null");
}

static void call_context_make(void)
{
	CUcontext context = (CUcontext)UNTOUCHED;
	static unsigned made;

	if (one_in(2)) {
		if (SHOW(cuDevicePrimaryCtxRetain, &context, (CUdevice)below(2)) == CUDA_SUCCESS)
			pool_add(&contexts, (uintptr_t)context);
	} else if (made < 30) { /* a real context takes memory */
		made++;
		if (SHOW(cuCtxCreate_v2, one_in(8) ? NULL : &context, one_in(8) ? 0xffff : below(5),
			 (CUdevice)below(2)) == CUDA_SUCCESS)
			pool_add(&contexts, (uintptr_t)context);
	}
	show_handle((uintptr_t)context);
}

/* Pinned memory, streams and events may go with their context. */
static void forget_objects(void)
{
	memset(pinned, 0, sizeof(pinned));
	streams.count = events.count = 0;
}

static void call_context_end(void)
{
	CUcontext context = (CUcontext)pick(&contexts);

	if (!one_in(4))
		return;
	forget_objects();
	if (one_in(2)) {
		SHOW(cuDevicePrimaryCtxRelease_v2, (CUdevice)below(2));
		return;
	}
	SHOW(cuCtxDestroy_v2, context);
}

static void call_context(void)
{
	CUcontext context = (CUcontext)UNTOUCHED;
	unsigned flags = (unsigned)UNTOUCHED;
	size_t bytes = UNTOUCHED;
	int value = (int)UNTOUCHED, other = (int)UNTOUCHED;

	switch (below(12)) {
	case 0:
	case 1:
	case 2:
		SHOW(cuCtxSetCurrent, (CUcontext)pick(&contexts));
		break;
	case 3:
		SHOW(cuCtxPushCurrent_v2, (CUcontext)pick(&contexts));
		break;
	case 4:
		SHOW(cuCtxPopCurrent_v2, one_in(4) ? NULL : &context);
		show_context(context);
		break;
	case 5:
		SHOW(cuCtxGetCurrent, one_in(6) ? NULL : &context);
		show_context(context);
		break;
	case 6:
		SHOW(cuCtxGetDevice, &value);
		show_number(value);
		break;
	case 7:
		SHOW(cuCtxGetFlags, &flags);
		show_number(flags);
		break;
	case 8:
		SHOW(cuCtxGetApiVersion, (CUcontext)pick(&contexts), &flags);
		show_number(flags);
		break;
	case 9:
		SHOW(cuCtxGetLimit, &bytes, (CUlimit)below(9));
		show_number((long long)bytes);
		break;
	case 10:
		SHOW(cuDevicePrimaryCtxGetState, (CUdevice)below(2), &flags, &value);
		show_number(flags);
		show_number(value);
		break;
	default:
		SHOW(cuCtxGetStreamPriorityRange, &value, &other);
		show_number(value);
		show_number(other);
	}
}

static void call_module(void)
{
	static const char *const names[] = { "k__5us", "k__40us", "k__150us", "missing_k", "", "a name with spaces",
					     NULL };
	CUmodule module = (CUmodule)UNTOUCHED;
	CUfunction function = (CUfunction)UNTOUCHED;
	CUdeviceptr pointer = UNTOUCHED;
	size_t bytes = UNTOUCHED;
	const char *name = names[below(sizeof(names) / sizeof(*names))];

	switch (below(8)) {
	case 0:
		if (SHOW(cuModuleLoadData, one_in(8) ? NULL : &module, one_in(8) ? NULL : "image") == CUDA_SUCCESS)
			pool_add(&modules, (uintptr_t)module);
		show_handle((uintptr_t)module);
		break;
	case 1:
		if (SHOW(cuModuleLoadDataEx, &module, "image", 0, NULL, NULL) == CUDA_SUCCESS)
			pool_add(&modules, (uintptr_t)module);
		show_handle((uintptr_t)module);
		break;
	case 2:
		if (one_in(3))
			SHOW(cuModuleUnload, (CUmodule)pick(&modules));
		break;
	case 3:
		SHOW(cuModuleGetGlobal_v2, &pointer, &bytes, (CUmodule)pick(&modules), name);
		show_handle((uintptr_t)pointer);
		show_number((long long)bytes);
		break;
	default:
		if (SHOW(cuModuleGetFunction, one_in(12) ? NULL : &function, (CUmodule)pick(&modules), name) ==
		    CUDA_SUCCESS)
			pool_add(&functions, (uintptr_t)function);
		show_handle((uintptr_t)function);
	}
}

static unsigned a_dimension(void)
{
	static const unsigned dimensions[] = { 1, 1, 1, 2, 32, 64, 128, 1024, 0, 1025, 70000, 0xffffffff };

	return dimensions[below(one_in(6) ? 12 : 4)];
}

static void call_launch(void)
{
	CUfunction f = (CUfunction)pick(&functions);
	CUstream s = a_stream();
	unsigned x = a_dimension(), y = a_dimension(), z = a_dimension(), bx = a_dimension(), by = a_dimension(),
		 bz = a_dimension();
	unsigned shared = one_in(10) ? 1u << (8 + below(16)) : 0;
	CUlaunchConfig config = { .gridDimX = x,
				  .gridDimY = y,
				  .gridDimZ = z,
				  .blockDimX = bx,
				  .blockDimY = by,
				  .blockDimZ = bz,
				  .sharedMemBytes = shared,
				  .hStream = s };

	switch (below(8)) {
	case 0:
		SHOW(cuLaunchKernelEx, one_in(10) ? NULL : &config, f, NULL, NULL);
		break;
	case 1:
		SHOW(cuLaunchCooperativeKernel, f, x, y, z, bx, by, bz, shared, s, NULL);
		break;
	default:
		SHOW(cuLaunchKernel, f, x, y, z, bx, by, bz, shared, s, NULL, NULL);
	}
}

static void nothing(void *argument)
{
	(void)argument;
}

static void call_host_function(void)
{
	SHOW(cuLaunchHostFunc, a_stream(), one_in(8) ? NULL : nothing, NULL);
}

static void call_function(void)
{
	int value = (int)UNTOUCHED;

	SHOW(cuFuncGetAttribute, &value, (CUfunction_attribute)below(12), (CUfunction)pick(&functions));
	show_number(value);
}

static void destroy_stream(void)
{
	CUstream s = (CUstream)pool_take(&streams);

	SHOW(cuStreamDestroy_v2, s);
	switch (below(4)) {
	case 0:
		SHOW(cuStreamDestroy_v2, s);
		break;
	case 1:
		SHOW(cuStreamSynchronize, s);
		break;
	case 2:
		SHOW(cuLaunchHostFunc, s, nothing, NULL);
		break;
	default:
		SHOW_QUERY(cuStreamQuery, s);
		break;
	}
}

static void call_stream(void)
{
	CUstream s = (CUstream)UNTOUCHED;
	CUcontext context = (CUcontext)UNTOUCHED;
	unsigned flags = (unsigned)UNTOUCHED;
	int priority = (int)UNTOUCHED;

	switch (below(10)) {
	case 0:
	case 1:
		if (SHOW(cuStreamCreate, one_in(10) ? NULL : &s, one_in(8) ? 0xff : below(2)) == CUDA_SUCCESS)
			pool_add(&streams, (uintptr_t)s);
		show_handle((uintptr_t)s);
		break;
	case 2:
		if (SHOW(cuStreamCreateWithPriority, &s, below(2), (int)below(20) - 10) == CUDA_SUCCESS)
			pool_add(&streams, (uintptr_t)s);
		show_handle((uintptr_t)s);
		break;
	case 3:
		destroy_stream();
		break;
	case 4:
		SHOW_QUERY(cuStreamQuery, a_stream());
		break;
	case 5:
		SHOW(cuStreamGetFlags, a_stream(), &flags);
		show_number(flags);
		break;
	case 6:
		SHOW(cuStreamGetPriority, a_stream(), &priority);
		show_number(priority);
		break;
	case 7:
		SHOW(cuStreamGetCtx, a_stream(), &context);
		show_context(context);
		break;
	default:
		SHOW(cuStreamSynchronize, a_stream());
	}
}

static void destroy_event(void)
{
	CUevent event = (CUevent)pool_take(&events);

	SHOW(cuEventDestroy_v2, event);
	switch (below(4)) {
	case 0:
		SHOW(cuEventDestroy_v2, event);
		break;
	case 1:
		SHOW(cuEventRecord, event, NULL);
		break;
	case 2:
		SHOW(cuStreamWaitEvent, NULL, event, 0);
		break;
	default:
		SHOW_QUERY(cuEventQuery, event);
		break;
	}
}

static void call_event(void)
{
	CUevent event = (CUevent)UNTOUCHED;
	float ms;

	switch (below(10)) {
	case 0:
	case 1:
		if (SHOW(cuEventCreate, one_in(10) ? NULL : &event, one_in(8) ? 0xfff : below(4)) == CUDA_SUCCESS)
			pool_add(&events, (uintptr_t)event);
		show_handle((uintptr_t)event);
		break;
	case 2:
	case 3:
		SHOW(cuEventRecord, (CUevent)pick(&events), a_stream());
		break;
	case 4:
		SHOW_QUERY(cuEventQuery, (CUevent)pick(&events));
		break;
	case 5:
		SHOW(cuEventSynchronize, (CUevent)pick(&events));
		break;
	case 6:
		SHOW_QUERY(cuEventElapsedTime, &ms, (CUevent)pick(&events), (CUevent)pick(&events));
		break;
	case 7:
		destroy_event();
		break;
	default:
		SHOW(cuStreamWaitEvent, a_stream(), (CUevent)pick(&events), one_in(8) ? 7 : 0);
	}
}

static void call_memory(void)
{
	CUdeviceptr p = UNTOUCHED;
	size_t bytes = UNTOUCHED, total = UNTOUCHED;
	unsigned value = (unsigned)UNTOUCHED;
	CUdeviceptr from;

	switch (below(9)) {
	case 0:
	case 1:
	case 2:
		if (SHOW(cuMemAlloc_v2, one_in(10) ? NULL : &p, a_size()) == CUDA_SUCCESS)
			pool_add(&pointers, (uintptr_t)p);
		show_handle((uintptr_t)p);
		break;
	case 3:
		if (SHOW(cuMemAllocPitch_v2, &p, &bytes, below(3000), below(20), one_in(8) ? 5 : 4u << below(3)) ==
		    CUDA_SUCCESS)
			pool_add(&pointers, (uintptr_t)p);
		show_handle((uintptr_t)p);
		show_number((long long)bytes);
		break;
	case 4:
		if (SHOW(cuMemAllocManaged, &p, 1 + a_size() % 100000, one_in(8) ? 0 : CU_MEM_ATTACH_GLOBAL) ==
		    CUDA_SUCCESS)
			pool_add(&pointers, (uintptr_t)p);
		show_handle((uintptr_t)p);
		break;
	case 5:
		SHOW(cuMemFree_v2, a_pointer());
		break;
	case 6:
		from = a_pointer();
		SHOW(cuMemGetAddressRange_v2, &p, &bytes, from);
		show_number(p == UNTOUCHED ? -1 : (long long)(from - p));
		show_number((long long)bytes);
		break;
	case 7:
		SHOW(cuMemGetInfo_v2, &bytes, &total);
		show_number((long long)bytes);
		show_number((long long)total);
		break;
	default:
		SHOW(cuPointerGetAttribute, &value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		     one_in(3) ? (CUdeviceptr)(uintptr_t)pageable : a_pointer());
		show_number(value);
	}
}

static void call_pinned(void)
{
	unsigned i = below(HANDLES), flags = (unsigned)UNTOUCHED;
	void *p = (void *)UNTOUCHED;

	switch (below(5)) {
	case 0:
		if (pinned[i])
			return;
		if (SHOW(cuMemAllocHost_v2, one_in(10) ? NULL : &p, one_in(10) ? 0 : 65536) == CUDA_SUCCESS)
			pinned[i] = p;
		show_handle((uintptr_t)p);
		break;
	case 1:
		p = one_in(6) ? pageable : pinned[i];
		if (SHOW(cuMemFreeHost, p) == CUDA_SUCCESS)
			pinned[i] = NULL;
		break;
	case 2:
		SHOW(cuMemHostGetFlags, &flags, one_in(3) ? pageable : pinned[i]);
		show_number(flags);
		break;
	case 3:
		SHOW(cuMemHostRegister_v2, one_in(8) ? NULL : pageable, one_in(8) ? 0 : 4096u << below(6),
		     one_in(8) ? 0xff : 0);
		break;
	default:
		SHOW(cuMemHostUnregister, one_in(8) ? NULL : pageable);
	}
}

static void settle(CUstream s)
{
	SHOW(cuStreamSynchronize, s);
}

static void call_copy(void)
{
	size_t bytes = a_size();
	void *host = host_memory(bytes);
	CUdeviceptr p = a_pointer(), from = a_pointer();
	CUstream s = a_stream();

	if (bytes > HOST_BYTES && bytes < SIZE_MAX / 4)
		bytes = HOST_BYTES; /* larger than any buffer is an error; larger than the host buffer alone would crash */
	if (host)
		random_fill(&rng, host, bytes < 4096 ? bytes : 4096);
	switch (below(10)) {
	case 0:
		SHOW(cuMemcpyHtoD_v2, p, host, bytes);
		settle(NULL);
		break;
	case 1:
	case 2:
		SHOW(cuMemcpyHtoDAsync_v2, p, host, bytes, s);
		settle(s);
		break;
	case 3:
	case 4:
		if (SHOW(cuMemcpyDtoH_v2, host, p, bytes) == CUDA_SUCCESS && host)
			show_data(host, bytes);
		break;
	case 5:
	case 6:
		SHOW(cuMemcpyDtoHAsync_v2, host, p, bytes, s);
		settle(s);
		if (host)
			show_data(host, bytes < 4096 ? bytes : 4096);
		break;
	case 7:
		SHOW(cuMemcpyDtoDAsync_v2, p, from, bytes, s);
		settle(s);
		break;
	case 8:
		SHOW(cuMemcpy, a_real_pointer(), one_in(2) ? a_real_pointer() : (CUdeviceptr)(uintptr_t)host, bytes);
		settle(NULL);
		break;
	default:
		SHOW(cuMemcpyAsync, a_real_pointer(), one_in(2) ? a_real_pointer() : (CUdeviceptr)(uintptr_t)host,
		     bytes, s);
		settle(s);
	}
}

static void call_set(void)
{
	CUdeviceptr p = a_pointer();
	CUstream s = a_stream();

	switch (below(4)) {
	case 0:
		SHOW(cuMemsetD8_v2, p, (unsigned char)below(256), a_size());
		settle(NULL);
		break;
	case 1:
		SHOW(cuMemsetD32_v2, p, below(1u << 30), a_size());
		settle(NULL);
		break;
	case 2:
		SHOW(cuMemsetD16Async, p, (unsigned short)below(1 << 16), a_size(), s);
		settle(s);
		break;
	default:
		SHOW(cuMemsetD8Async, p, (unsigned char)below(256), a_size(), s);
		settle(s);
	}
}

static void call_synchronize(void)
{
	SHOW(cuCtxSynchronize, );
}

/* Both ways to a function must lead to the same one. */
static void call_lookup(void)
{
	static __typeof__(cuGetProcAddress_v2) *get;
	static const char *const names[] = {
		"cuLaunchKernel", "cuMemAlloc", "cuMemAlloc_v2", "cuNoSuchThing", "", NULL
	};
	CUdriverProcAddressQueryResult status = (CUdriverProcAddressQueryResult)99;
	const char *name = names[below(6)];
	void *function = (void *)UNTOUCHED;
	int version = one_in(4) ? (int)below(99999) : 12000;
	CUresult result;

	if (!get)
		*(void **)&get = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuGetProcAddress_v2");
	result = get(name, one_in(10) ? NULL : &function, version, one_in(4) ? below(5) : 0, &status);
	show("cuGetProcAddress_v2", result);
	show_handle((uintptr_t)function);
	show_number(status);
}

static const struct kind {
	unsigned weight;
	void (*call)(void);
} kinds[] = {
	{ 1, call_init },          { 4, call_device },      { 1, call_error_name }, { 3, call_context_make },
	{ 1, call_context_end },   { 8, call_context },     { 8, call_module },     { 20, call_launch },
	{ 3, call_host_function }, { 2, call_function },    { 12, call_stream },    { 14, call_event },
	{ 12, call_memory },       { 4, call_pinned },      { 12, call_copy },      { 5, call_set },
	{ 2, call_lookup },        { 2, call_synchronize },
};

static void call_any(void)
{
	unsigned total = 0, at;

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		total += kinds[i].weight;
	at = below(total);
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (at < kinds[i].weight) {
			kinds[i].call();
			return;
		}
		at -= kinds[i].weight;
	}
}

static void start_well(void)
{
	CUcontext context = NULL;

	CU(cuInit, 0);
	CU(cuDevicePrimaryCtxRetain, &context, 0);
	CU(cuCtxSetCurrent, context);
	pool_add(&contexts, (uintptr_t)context);
}

int main(int argc, char **argv)
{
	void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	unsigned calls = argc > 2 ? (unsigned)atoi(argv[2]) : 10000;

	if (!handle || argc < 2) {
		fprintf(stderr, "random_calls SEED [CALLS], with a libcuda.so.1\n");
		return 2;
	}
	driver_from_dlsym(handle);
	rng = random_from(strtoull(argv[1], NULL, 10));
	while (call_number < 60) /* before cuInit, and soon after it */
		call_any();
	start_well();
	while (call_number < calls)
		call_any();
	putchar('\n');
	return 0;
}
