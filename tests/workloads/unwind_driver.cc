// SPDX-License-Identifier: BSD-2-Clause
// A libcuda.so.1 that does nothing but ask, in each call, whether the caller wants out of it: driver_leave may throw, jump, or end the
// thread. It has what unwind.cc calls and what a recorder asks.
#include <cstddef>

extern "C" {
void (*driver_leave)(const char *symbol);

static void *const any = reinterpret_cast<void *>(0x10000);

#define CALL(symbol, parameters, body)         \
	int symbol parameters                  \
	{                                      \
		if (driver_leave)              \
			driver_leave(#symbol); \
		body;                          \
		return 0;                      \
	}
CALL(cuInit, (unsigned), )
CALL(cuCtxGetCurrent, (void **context), *context = any)
CALL(cuCtxGetDevice, (int *device), *device = 0)
CALL(cuCtxSetCurrent, (void *), )
CALL(cuCtxDestroy_v2, (void *), )
CALL(cuCtxSynchronize, (), )
CALL(cuStreamGetCtx, (void *, void **context), *context = any)
CALL(cuStreamCreate, (void **stream, unsigned), *stream = any)
CALL(cuStreamDestroy_v2, (void *), )
CALL(cuStreamQuery, (void *), )
CALL(cuStreamSynchronize, (void *), )
CALL(cuStreamBeginCapture_v2, (void *, int), )
CALL(cuStreamEndCapture, (void *, void **graph), *graph = any)
CALL(cuEventCreate, (void **event, unsigned), *event = any)
CALL(cuEventRecord, (void *, void *), )
CALL(cuEventQuery, (void *), )
CALL(cuEventElapsedTime, (float *ms, void *, void *), *ms = 0)
CALL(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **), )
CALL(cuThreadExchangeStreamCaptureMode, (int *), )
}
