# SPDX-License-Identifier: BSD-2-Clause
"""stacks_listed.py: submits without giving the interpreter's lock up, while a thread asks the loader for its list with a function of Python's, as
threadpoolctl does: that one has the loader's lock whenever it waits for the interpreter's. Standard library only."""

import ctypes
import signal
import threading
import time

CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
LAUNCHES = 100


class Lister(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.libc, self.seen, self.enough = ctypes.CDLL(None), 0, False

    def run(self):
        while not self.enough:
            self.libc.dl_iterate_phdr(CALLBACK(self.count), None)

    def count(self, info, size, data):
        self.seen += 1
        return 0


def driver():
    """Its functions are called with the interpreter's lock held."""
    cuda = ctypes.PyDLL("libcuda.so.1")
    device, context, module, kernel = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    for result in (cuda.cuInit(0), cuda.cuDeviceGet(ctypes.byref(device), 0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device),
                   cuda.cuCtxSetCurrent(context), cuda.cuModuleLoadData(ctypes.byref(module), b"any"),
                   cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"work__20us")):
        assert result == 0
    return cuda, kernel


def main():
    signal.alarm(60)
    cuda, kernel = driver()
    assert cuda.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, None, None, None) == 0
    lister = Lister()
    lister.start()
    for _ in range(LAUNCHES):
        time.sleep(0.001)  # after a silence each of them is told of
        assert cuda.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, None, None, None) == 0
    lister.enough = True
    lister.join()
    assert cuda.cuCtxSynchronize() == 0
    print(lister.seen > LAUNCHES)


if __name__ == "__main__":
    main()
