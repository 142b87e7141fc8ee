# SPDX-License-Identifier: BSD-2-Clause
"""stacks_python.py: submits, sleeps and computes in places that a test knows by the comments at their lines: `# NAME`. Standard library only."""

import ctypes
import threading
import time


class Driver:
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        device, module = ctypes.c_int(), ctypes.c_void_p()
        self.context, self.kernel = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.enter()
        self.call("cuModuleLoadData", ctypes.byref(module), b"any")
        self.call("cuModuleGetFunction", ctypes.byref(self.kernel), module, b"work__20us")

    def call(self, name, *args):
        result = getattr(self.cuda, name)(*args)  # CALL
        assert result == 0, (name, result)

    def enter(self):
        self.call("cuCtxSetCurrent", self.context)

    def launch(self):
        time.sleep(0.001)  # after a silence each of them is told of
        self.call("cuLaunchKernel", self.kernel, 1, 1, 1, 32, 1, 1, 0, None, None, None)  # LAUNCH


def sleeps():
    time.sleep(0.06)  # SLEEPS


def computes(seconds):
    end, total = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        total += sum(i * i for i in range(100))
    return total


def generator(driver):
    for i in range(2):
        driver.launch()  # GENERATOR
        yield i


def through_c(driver):
    """One call of the evaluation function within another, with C between."""
    return sorted([2, 1], key=lambda x: driver.launch() or x)  # LAMBDA


def recursive(driver, n):
    if n:
        recursive(driver, n - 1)  # DEEPER
    else:
        driver.launch()  # DEEPEST


def ünïcode_名(driver):
    driver.launch()  # UNICODE


def in_a_thread(driver):
    driver.enter()
    for _ in range(10):
        driver.launch()  # THREAD


def main():
    driver = Driver()
    driver.launch()  # FIRST
    sleeps()  # ASLEEP
    driver.launch()  # AFTER_SLEEP
    computes(0.06)  # COMPUTING
    driver.launch()  # AFTER_COMPUTING
    list(generator(driver))  # LIST
    through_c(driver)  # SORTED
    recursive(driver, 60)  # RECURSE
    ünïcode_名(driver)  # CALL_UNICODE
    thread = threading.Thread(target=in_a_thread, args=(driver,))
    thread.start()
    thread.join()
    driver.call("cuCtxSynchronize")


if __name__ == "__main__":
    main()  # MAIN
