/* SPDX-License-Identifier: BSD-2-Clause */
/* A driver's client that needs as little as there is: no thread of its own and, unless it is compiled with LATE (which finds the driver
 * by dlopen), no dlopen either. So on an old glibc the shim is loaded without libpthread, or without libdl, and has to do with what
 * the driver brings later. Prints what the driver said of each step. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CALLS(X)                                                                      \
	X(cuInit, (unsigned flags))                                                   \
	X(cuDevicePrimaryCtxRetain, (void **context, int device))                     \
	X(cuCtxSetCurrent, (void *context))                                           \
	X(cuMemAlloc_v2, (uint64_t * p, size_t bytes))                                \
	X(cuStreamCreate, (void **stream, unsigned flags))                            \
	X(cuMemsetD8Async, (uint64_t p, unsigned char value, size_t n, void *stream)) \
	X(cuStreamSynchronize, (void *stream))                                        \
	X(cuMemFree_v2, (uint64_t p))

#ifdef LATE
#include <dlfcn.h>
#define POINTER(name, params) static int(*name) params;
CALLS(POINTER)

static int find_all(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

#define FIND(name, params) *(void **)&name = driver ? dlsym(driver, #name) : NULL;
	CALLS(FIND)
	return driver && cuMemFree_v2;
}
#else
#define PROTOTYPE(name, params) int name params;
CALLS(PROTOTYPE)

static int find_all(void)
{
	return 1;
}
#endif

int main(void)
{
	void *context, *stream;
	uint64_t p = 0;
	int failed = 0;

	if (!find_all())
		return 2;
	printf("%d", cuInit(0));
	printf(" %d", cuDevicePrimaryCtxRetain(&context, 0));
	printf(" %d", cuCtxSetCurrent(context));
	printf(" %d", cuStreamCreate(&stream, 1));
	printf(" %d", cuMemAlloc_v2(&p, 1 << 20));
	for (int i = 0; i < 1000; i++)
		failed += cuMemsetD8Async(p, 7, 4096, stream) != 0;
	printf(" %d", failed);
	printf(" %d", cuStreamSynchronize(stream));
	printf(" %d\n", cuMemFree_v2(p));
	return 0;
}
