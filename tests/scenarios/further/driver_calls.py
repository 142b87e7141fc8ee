# SPDX-License-Identifier: BSD-2-Clause
"""The driver calls that the programs in Python need, by ctypes: one stream of device 0."""

import ctypes
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p


GLUE = {"also": ["sync-bubble", "launch-bound"]}  # what Python does between two calls: some us on the CPU


class Device:
    """truth: of the thread that has the device. A call that waits, allocates or loads is what the device is idle for until it returns; what
    comes then is the program's."""

    def __init__(self):
        self.truth = None
        self.lib = ctypes.CDLL("libcuda.so.1")
        device, context = c_int(), c_void_p()
        self.call("cuInit", c_uint(0))
        self.call("cuDeviceGet", byref(device), c_int(0))
        self.call("cuDevicePrimaryCtxRetain", byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.stream = c_void_p()
        self.call("cuStreamCreate", byref(self.stream), c_uint(1))
        self.number = device
        self.launch_kernel = self.lib.cuLaunchKernel
        self.launch_kernel.argtypes = [c_void_p] + 7 * [c_uint] + [c_void_p] * 3
        self.scalar = ctypes.create_string_buffer(4)

    def during(self, cause, name, *args):
        if self.truth:
            self.truth.phase(cause)
        self.call(name, *args)
        if self.truth:
            self.truth.phase("host-compute", **GLUE)

    def call(self, name, *args):
        result = getattr(self.lib, name)(*args)
        if result != 0:
            raise RuntimeError(f"{name} returned {result}")

    def load(self, *names):
        """A kernel's name says how long it takes: "gemm__300us"."""
        module, functions = c_void_p(), []
        self.during("module-load", "cuModuleLoadData", byref(module), c_char_p(b"kernels"))
        for name in names:
            functions.append(c_void_p())
            self.during("module-load", "cuModuleGetFunction", byref(functions[-1]), module, c_char_p(name.encode()))
        return functions

    def launch(self, function):
        if self.launch_kernel(function, 64, 1, 1, 128, 1, 1, 0, self.stream, None, None) != 0:
            raise RuntimeError("cuLaunchKernel failed")

    def alloc(self, size):
        pointer = c_uint64()
        self.during("allocator", "cuMemAlloc_v2", byref(pointer), c_size_t(size))
        return pointer

    def free(self, pointer):
        self.during("allocator", "cuMemFree_v2", pointer)

    def to_device(self, pointer, data, size):
        self.call("cuMemcpyHtoDAsync_v2", pointer, data, c_size_t(size), self.stream)

    def to_host(self, buffer, pointer, size):
        """Blocks: the memory is pageable."""
        self.during("sync-bubble", "cuMemcpyDtoHAsync_v2", buffer, pointer, c_size_t(size), self.stream)

    def item(self, pointer):
        self.to_host(self.scalar, pointer, 4)
        return self.scalar.raw[0]

    def synchronize(self):
        self.during("sync-bubble", "cuStreamSynchronize", self.stream)

    def close(self):
        self.call("cuStreamDestroy_v2", self.stream)
        self.call("cuDevicePrimaryCtxRelease_v2", self.number)
