# SPDX-License-Identifier: BSD-2-Clause
"""Segments made ready in advance (shim/stock.h): what is in stock when the program dies is no damage. Their thread is in
test_own_threads.py."""

import signal
import sys

CALLS = 30000  # seven segments of 4095: the stock's thread starts towards the end of the first
PREFIX = "import ctypes, os, signal, sys, time\n"

WORK = PREFIX + f"""
lib = ctypes.CDLL("libcuda.so.1")
context, memory = ctypes.c_void_p(), ctypes.c_uint64()
assert lib.cuInit(0) == 0 and lib.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert lib.cuCtxSetCurrent(context) == 0 and lib.cuMemAlloc_v2(ctypes.byref(memory), 4096) == 0
memset = lib.cuMemsetD8Async
memset.argtypes = ctypes.c_uint64, ctypes.c_ubyte, ctypes.c_size_t, ctypes.c_void_p
def work(n=1000):
    for _ in range(n):
        memset(memory, 0, 16, None)
for _ in range({CALLS // 1000}):
    work()
    time.sleep(0.005)  # the helper looks, the stock is filled up
"""

KILLED = WORK + """
print("ready", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_is_in_stock_at_a_kill_is_no_damage(recorder):
    run = recorder.run([sys.executable, "-c", KILLED], env={"SIMGPU_LOG": None})
    assert run.status == -signal.SIGKILL and run.stdout == "ready\n"
    report = run.report()
    assert report["calls"]["cuMemsetD8Async"] == CALLS
    assert report["losses"]["records_dropped"] == 0
