# SPDX-License-Identifier: BSD-2-Clause
"""As much of the driver API through ctypes as the check needs."""

import ctypes
from ctypes import byref, c_char_p, c_float, c_int, c_uint, c_uint64, c_void_p

SUCCESS, NOT_READY = 0, 600


class DriverError(Exception):
    pass


class Driver:
    """libcuda.so.1, initialised; with a context on device 0 after open_context()."""

    def __init__(self, init=True):
        self.lib = ctypes.CDLL("libcuda.so.1")
        if init:
            self.call("cuInit", c_uint(0))

    def call(self, name, *args):
        rc = getattr(self.lib, name)(*args)
        if rc != SUCCESS:
            raise DriverError(f"{name} returned {rc}")

    def address(self, name):
        """What dlsym says, or None."""
        try:
            return ctypes.cast(getattr(self.lib, name), c_void_p).value
        except AttributeError:
            return None

    def proc_address(self, name, version, flags):
        """What cuGetProcAddress says, or None."""
        pointer, status = c_void_p(), c_int()
        rc = self.lib.cuGetProcAddress_v2(c_char_p(name.encode()), byref(pointer), c_int(version), c_uint64(flags), byref(status))
        return pointer.value if rc == SUCCESS else None

    def open_context(self):
        device, context = c_int(), c_void_p()
        self.call("cuDeviceGet", byref(device), c_int(0))
        self.call("cuDevicePrimaryCtxRetain", byref(context), device)
        self.call("cuCtxSetCurrent", context)
        return context

    def version(self):
        value = c_int()
        self.call("cuDriverGetVersion", byref(value))
        return value.value

    def device_name(self):
        device, name = c_int(), ctypes.create_string_buffer(256)
        self.call("cuDeviceGet", byref(device), c_int(0))
        self.call("cuDeviceGetName", name, c_int(256), device)
        return name.value.decode()

    def device_count(self):
        value = c_int()
        self.call("cuDeviceGetCount", byref(value))
        return value.value

    def stream(self):
        value = c_void_p()
        self.call("cuStreamCreate", byref(value), c_uint(1))  # non-blocking
        return value

    def event(self):
        value = c_void_p()
        self.call("cuEventCreate", byref(value), c_uint(0))  # with timing
        return value

    def elapsed_ms(self, begin, end):
        value = c_float()
        self.call("cuEventElapsedTime", byref(value), begin, end)
        return value.value
