# SPDX-License-Identifier: BSD-2-Clause
"""few_calls.c in Python: runs with nothing but the standard library, on a Python of 2019."""

import ctypes

cuda = ctypes.CDLL("libcuda.so.1")
context, stream, pointer = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
cuda.cuMemsetD8Async.argtypes = [ctypes.c_uint64, ctypes.c_ubyte, ctypes.c_size_t, ctypes.c_void_p]
cuda.cuMemFree_v2.argtypes = [ctypes.c_uint64]
said = [
    cuda.cuInit(0),
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
    cuda.cuCtxSetCurrent(context),
    cuda.cuStreamCreate(ctypes.byref(stream), 1),
    cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(1 << 20)),
    sum(cuda.cuMemsetD8Async(pointer.value, 7, 4096, stream) != 0 for _ in range(1000)),
    cuda.cuStreamSynchronize(stream),
    cuda.cuMemFree_v2(pointer.value),
]
print(*said)
