# SPDX-License-Identifier: BSD-2-Clause
"""Driver calls through NVIDIA's cuda-bindings: each is printed with its result code, and one that should succeed and does not ends
the program. What a call returns is printed by whoever knows that it is the same in every run (addresses are not)."""

import ctypes
import sys
import zlib

from cuda.bindings import driver

BLOCK = (32, 1, 1)
kept_functions = []


def call(name, *args):
    """What the call returns: nothing, one value or several."""
    code, values = attempt(name, *args)
    if code != driver.CUresult.CUDA_SUCCESS:
        sys.exit(f"{name} returned {code.name}")
    return values[0] if len(values) == 1 else values


def refused(name, expected, *args):
    """A call that has to fail in a certain way."""
    code, _ = attempt(name, *args)
    if code != getattr(driver.CUresult, expected):
        sys.exit(f"{name} returned {code.name}, not {expected}")


def attempt(name, *args):
    code, *values = getattr(driver, name)(*args)
    print(f"{name}: {code.name}", flush=True)
    return code, values


def ptx(names):
    """A module with these kernels; each does nothing (on the simulated driver a name says how long it takes)."""
    kernels = "".join(f".visible .entry {name}()\n{{\n    ret;\n}}\n" for name in names)
    return f".version 7.0\n.target sm_70\n.address_size 64\n{kernels}\0".encode()


def launch(function, stream, blocks=1):
    call("cuLaunchKernel", function, blocks, 1, 1, *BLOCK, 0, stream, 0, 0)


def read(pointer, size):
    """A checksum of device memory; waits for the device."""
    data = bytearray(size)
    call("cuMemcpyDtoH", data, pointer, size)
    return f"{zlib.crc32(data):08x}"


def pattern(size, seed):
    """Bytes that repeat, but not at a power of two."""
    return (bytes((seed + i * 7) & 255 for i in range(251)) * (size // 251 + 1))[:size]


def of_bytes(data):
    return f"{zlib.crc32(data):08x}"


def host_function(work):
    """What cuLaunchHostFunc takes. It stays callable to the end: the driver does not own it."""
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: work())
    kept_functions.append(function)
    return driver.CUhostFn(_ptr=ctypes.addressof(function))


class Device:
    """Device 0's primary context, current, with kernels of a few durations."""

    KERNELS = ("short__50us", "middle__400us", "long__2000us")

    def __init__(self, ordinal=0):
        self.device = call("cuDeviceGet", ordinal)
        self.context = call("cuDevicePrimaryCtxRetain", self.device)
        call("cuCtxSetCurrent", self.context)
        self.module = call("cuModuleLoadData", ptx(self.KERNELS))
        self.short, self.middle, self.long = (call("cuModuleGetFunction", self.module, name.encode()) for name in self.KERNELS)

    def make_current(self):
        call("cuCtxSetCurrent", self.context)

    def close(self):
        self.make_current()
        call("cuCtxSynchronize")
        call("cuModuleUnload", self.module)
        call("cuDevicePrimaryCtxRelease", self.device)
