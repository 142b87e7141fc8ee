/* SPDX-License-Identifier: BSD-2-Clause */
/* A libcuda.so.1 that does nothing: every call returns success at once, so that what a recorder adds is all there is to see. It
 * has the calls of calls.def, and what a recorder asks about a context, a stream or a device; everything else is missing. */
#include "idle_driver.h"

#include <string.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

/* no_icf: functions of one address would be one call. */
#define CALL(symbol, parameters, body)                     \
	__attribute__((no_icf)) CUresult symbol parameters \
	{                                                  \
		body;                                      \
		return CUDA_SUCCESS;                       \
	}
#define BENCH(symbol, calls, parameters, ...) CALL(symbol, parameters, (void)0)
#include "calls.def"
#undef BENCH

CALL(cuInit, (unsigned flags), (void)0)
CALL(cuCtxGetCurrent, (CUcontext * context), *context = ANY)
CALL(cuCtxSetCurrent, (CUcontext context), (void)0)
CALL(cuCtxGetDevice, (CUdevice * device), *device = 0)
CALL(cuDeviceGetName, (char *name, int size, CUdevice device), strncpy(name, "idle", (size_t)size))
CALL(cuDeviceGetUuid_v2, (CUuuid * uuid, CUdevice device), memset(uuid, 1, sizeof(*uuid)))
CALL(cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device), *bytes = 1 << 30)
CALL(cuStreamGetCtx, (CUstream stream, CUcontext *context), *context = ANY)
CALL(cuStreamGetFlags, (CUstream stream, unsigned *flags), *flags = CU_STREAM_NON_BLOCKING)
CALL(cuStreamGetPriority, (CUstream stream, int *priority), *priority = 0)
CALL(cuStreamDestroy_v2, (CUstream stream), (void)0)
CALL(cuFuncGetName, (const char **name, CUfunction f), *name = "kernel")
CALL(cuPointerGetAttribute, (void *data, CUpointer_attribute attribute, CUdeviceptr pointer),
     *(CUmemorytype *)data = CU_MEMORYTYPE_HOST)
CALL(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode), (void)0)
CALL(cuEventCreate, (CUevent * event, unsigned flags), *event = ANY)
CALL(cuEventElapsedTime, (float *ms, CUevent start, CUevent end), *ms = 0)

#define BENCH(symbol, ...) (void *)symbol,
extern void *const idle_calls[];
void *const idle_calls[] = {
#include "calls.def"
};
